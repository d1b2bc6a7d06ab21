-- SPDX-License-Identifier: MIT
-- channel: what is said about a whole channel. N is 0.
--
-- Own arguments  K, then K times: c op n argument..
--   pause why user host          no delivery is handed out or granted; with a user it is audited. ok 1: it was open, 0: not
--   resume why user host
--   lift why                     resume, if it is paused for this reason; one request goes first (ramp)
--   block until why              until then nothing is granted, afterwards one request first (ramp)
--   fail | recover               consecutive transport failures, counted | forgotten
--   walk_begin name ttl_ms       the account's walk lease; again by its holder: prolonged
--   walk_end name next_due looks gives it back and says when the account is walked next
--   leap until                   the server's clock leapt: before `until` no absence and no replay in a window counts
-- Answers, one per op: ok [value] | busy holder | error words
--
-- Invariant: a channel's member of the agenda exists exactly while deliveries wait and it is not paused; a walk lease has
-- an end and is given back by its holder only.

local refusal = check_keys({'agenda', 'counts', 'epoch', 'audit'})
if refusal then return refusal end

local function audit(ch, act, why, user, host)
    if user == '' then return end
    redis.call('XADD', global.audit, 'MAXLEN', '~', text(KEEP_AUDIT), '*', 'delivery', ch.name, 'act', act, 'user', user,
        'host', host, 'why', why, 'from', ch.paused and 'paused' or 'open', 'to', act == 'pause' and 'paused' or 'open')
end

local CLOCK_SLACK_MS = 5 -- between the lease's end and the member's time, which were rounded each for itself

local ops = {}

function ops.pause(ch, why, user, host)
    audit(ch, 'pause', why, user, host)
    local was_open = not ch.paused
    if not was_open and user == '' then return {'ok', '0'} end -- a program does not take a person's reason away
    if was_open then redis.call('HSET', ch.channel, 'paused_at', text(now)) end
    redis.call('HSET', ch.channel, 'paused', why ~= '' and why or 'paused')
    ch.paused = why
    return {'ok', was_open and '1' or '0'}
end

function ops.resume(ch, why, user, host)
    audit(ch, 'resume', why, user, host)
    redis.call('HDEL', ch.channel, 'paused', 'paused_at', 'failures')
    ch.paused = false
    return {'ok'}
end

-- What a pause waited for may have happened: one request goes first. A pause that was set for another reason stays.
function ops.lift(ch, why)
    if ch.paused ~= why then return {'ok'} end
    ch.ramp, ch.ramp_changed = 1, true
    return ops.resume(ch, '', '', '')
end

function ops.block(ch, till, why)
    local at = number_of(till)
    if not at then return {'error', 'arguments: block needs a time'} end
    if at > ch.blocked_until then
        ch.blocked_until, ch.ramp, ch.ramp_changed = at, 1, true
        redis.call('HSET', ch.channel, 'blocked_until', text(at), 'blocked_why', why)
    end
    return {'ok', text(ch.blocked_until)}
end

function ops.fail(ch)
    local failures = number_of(redis.call('HGET', ch.channel, 'failures') or '0') or 0
    redis.call('HSET', ch.channel, 'failures', text(failures + 1))
    return {'ok', text(failures + 1)}
end

function ops.recover(ch)
    redis.call('HDEL', ch.channel, 'failures')
    return {'ok'}
end

local function walk_member(ch)
    return 'walk:' .. ch.name, tonumber(redis.call('ZSCORE', global.agenda, 'walk:' .. ch.name) or '')
end

-- A walk puts the member to the end of its lease. Where it stands earlier, a delivery became uncertain since: it may have
-- missed the walk, and is not put off.
local function has_come_earlier(ch, due)
    return due < now + redis.call('PTTL', ch.walk) - CLOCK_SLACK_MS
end

function ops.walk_begin(ch, name, ttl)
    local ms, holder = number_of(ttl) or 0, redis.call('GET', ch.walk)
    if redis.call('PTTL', ch.walk) == -1 then holder = false end -- without an end it is nobody's: somebody's hand
    if ms <= 0 then return {'error', 'arguments: a walk lease must have an end'} end
    if holder and holder ~= name then return {'busy', holder} end
    local member, due = walk_member(ch)
    if due and not (holder and has_come_earlier(ch, due)) then schedule(member, now + ms) end
    redis.call('SET', ch.walk, name, 'PX', text(ms))
    return {'ok'}
end

function ops.walk_end(ch, name, next_due, looks)
    local holder, uncertain = redis.call('GET', ch.walk), redis.call('ZCARD', ch.uncertain)
    if holder and holder ~= name then return {'busy', holder} end
    local member, due = walk_member(ch)
    local wanted = number_of(next_due) or now
    if due and (due <= now or (holder and has_come_earlier(ch, due))) then
        wanted = math.min(wanted, math.max(due, now + FULL_WAIT_MS))
    end
    redis.call('DEL', ch.walk)
    schedule(member, uncertain > 0 and wanted)
    if (number_of(looks) or 0) > 0 then
        redis.call('HSET', ch.channel, 'looks', looks)
    else
        redis.call('HDEL', ch.channel, 'looks')
    end
    return {'ok'}
end

function ops.leap(_, till)
    for _, name in ipairs({'leap_until', 'no_absence_before'}) do
        local known = number_of(redis.call('HGET', global.epoch, name) or '0') or 0
        redis.call('HSET', global.epoch, name, text(math.max(known, number_of(till) or 0)))
    end
    return {'ok'}
end

local function run(ch, op, arguments)
    if not ch then return {'error', 'arguments: no such channel'} end
    load_channel(ch)
    local bad = ch.bad or (not ops[op] and 'arguments: unknown op')
    if bad then return {'error', bad} end
    touch(ch)
    return ops[op](ch, arguments[1] or '', arguments[2] or '', arguments[3] or '')
end

local reply = {text(now)}
for _ = 1, next_number() do
    local ch, op, arguments = channels[next_number()], next_arg(), {}
    for i = 1, next_number() do arguments[i] = next_arg() end
    local ok, answer = pcall(run, ch, op, arguments)
    reply[#reply + 1] = ok and answer or {'error', words(answer)}
end
finish()
return reply

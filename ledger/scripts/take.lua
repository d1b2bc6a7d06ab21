-- SPDX-License-Identifier: MIT
-- take: hands what is due to one worker and to nobody else.
--
-- Own arguments  per channel: room harmless spacing_ms burst
--                room: slots the worker has for the channel's waiting list; -1: it does not know the channel
-- Block          member score
--                member: "agenda" or "waiting", where the delivery was seen; score: the due time that was seen with it
-- Answers        work member field value ... | moved due | uncertain | removed | held reason | error words
--                fields: content approved_at gen content_hash not_before not_after dated attempt,
--                and in doubt: in_doubt frozen key body_hash
--
-- Every channel that the call names gets its place on the agenda anew. Work that was handed out comes back in 30 s if no
-- claim is answered meanwhile.
--
-- Invariant: a member that somebody else took has another score and is not handed out again; no member that was named
-- here stays due. A claimed row without its lease becomes uncertain, never sendable.

local TAKEN_MS = 30000
local UNREADABLE_MS = 3600000
local UNKNOWN_MS = 30000
local POISON = 5 -- handed out so often without an answer to a claim

local refusal = check_keys({'agenda', 'journal', 'outcomes', 'counts', 'channels'})
if refusal then return refusal end

local function read_take()
    return {member = next_arg(), score = next_number()}
end

-- How many of its waiting list the channel may send now. Nothing is reserved: claims decide again.
local function allowance(ch)
    if ch.paused or now < ch.blocked_until then return 0 end
    local may = math.max(ch.room, 0)
    if ch.ramp > 0 then may = math.min(may, ch.ramp - ch.claimed_count) end
    if ch.spacing > 0 then
        local ahead = now - math.max(ch.next_at, now - (ch.burst - 1) * ch.spacing)
        may = math.min(may, ahead < 0 and 0 or math.floor(ahead / ch.spacing) + 1)
    end
    return may
end

-- A channel that may not send now, for another reason than its pace, is offered again a little later.
local function hand_out(ch, number)
    ch.allowance = ch.allowance - number
    if ch.allowance <= 0 and now >= ch.next_at then
        ch.not_before = now + (ch.room < 0 and UNKNOWN_MS or FULL_WAIT_MS)
    end
end

for _, ch in ipairs(channels) do
    ch.room, ch.harmless = next_number(), next_arg() == '1'
    ch.spacing, ch.burst = next_number(), math.max(next_number(), 1)
    load_channel(ch)
    if ch.bad then
        schedule('channel:' .. ch.name, now + UNREADABLE_MS)
    else
        ch.allowance = allowance(ch)
        hand_out(ch, 0)
        touch(ch)
    end
end

-- Where the member stands now, if it is still the one that was seen; else the answer.
local function check_member(d, t)
    local key = t.member == 'waiting' and d.ch.waiting or global.agenda
    local name = t.member == 'waiting' and d.name or 'delivery:' .. d.name
    local score = tonumber(redis.call('ZSCORE', key, name) or '')
    if not score then return {'removed'} end
    if call.agenda['delivery:' .. d.name] ~= nil then return {'moved', text(now + TAKEN_MS)} end
    if score ~= t.score or score > now then return {'moved', text(score)} end
    return nil
end

local function lease_gone(d)
    local set = {}
    if not d.ch.harmless then
        set = {'in_doubt', doubt_with(d.in_doubt, attempt_entry(number(d, 'attempt'), d.fields.token or ''))}
    end
    set_row(d, {state = 'uncertain', reason = 'lease_lost', place = 'walk', due = now, set = set})
    return {'uncertain'}
end

-- The lease is the row's own and ends. One without an end (somebody's hand) counts until the attempt cannot commit.
local function take_claimed(d)
    local left = lease_token(d) == d.fields.token and redis.call('PTTL', d.lease_key) or 0
    if left < 0 then left = number(d, 'commit_by') - now end
    if left <= 0 then return lease_gone(d) end
    schedule('delivery:' .. d.name, now + left)
    return {'moved', text(now + left)}
end

-- What was approved before the ledger was set back may be out already. Nobody may have claimed anything since, so INFO is
-- asked which server this is; claim.lua is told.
local function may_be_forgotten(d)
    local known = redis.pcall('HMGET', global.epoch, 'run_id', 'first_run_id', 'rewound_at')
    local info = redis.pcall('INFO', 'server')
    local run_id = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
    local another = (known[1] or known[2] or run_id) ~= run_id
    local clear_since = math.max(number(d, 'approved_at'), number(d, 'cleared_at'))
    return not d.ch.harmless and (another or clear_since < (number_of(known[3]) or 0))
end

local function hold_poison(d)
    local in_doubt = may_be_forgotten(d) and doubt_with(d.in_doubt, 'rewound') or d.in_doubt
    if in_doubt ~= '' then
        set_row(d, {state = 'uncertain', reason = 'poison_in_doubt', place = 'walk', due = now,
            set = {'taken', '', 'in_doubt', in_doubt}})
        return {'uncertain'}
    end
    set_row(d, {state = 'held', reason = 'poison', place = '-', set = {'taken', ''}})
    return {'held', 'poison'}
end

local function work(d, t, content, frozen)
    local answer = {'work', t.member, 'content', content or '', 'content_hash', d.fields.content or ''}
    local function put(name, value)
        answer[#answer + 1] = name
        answer[#answer + 1] = value
    end
    for _, name in ipairs({'approved_at', 'gen', 'not_before', 'not_after', 'dated', 'attempt'}) do
        put(name, text(number(d, name)))
    end
    if d.in_doubt == '' then return answer end
    put('in_doubt', d.in_doubt)
    if not frozen then return answer end
    put('frozen', frozen)
    put('key', find_field(d, 'key') or '')
    put('body_hash', d.fields.body_hash or '')
    return answer
end

local function take_approved(d, t)
    local ch = d.ch
    if ch.room < 0 and t.member == 'agenda' then schedule('delivery:' .. d.name, now + UNKNOWN_MS) end
    if ch.room < 0 then return {'moved', text(now + UNKNOWN_MS)} end
    if t.member == 'waiting' and ch.allowance <= 0 then return {'moved', text(now + FULL_WAIT_MS)} end
    if number(d, 'taken') >= POISON then return hold_poison(d) end
    local content, frozen = unpack(redis.call('HMGET', d.request, 'content', 'frozen'))
    if not content and not frozen then error({err = 'request: the content is gone'}) end
    if t.member == 'waiting' then hand_out(ch, 1) end
    set_row(d, {state = 'approved', reason = d.fields.reason, place = 'agenda', due = now + TAKEN_MS,
        set = {'taken', text(number(d, 'taken') + 1)}})
    return work(d, t, content, frozen)
end

local function take(d, t)
    local answer = check_member(d, t)
    if answer then return answer end
    if d.state == 'approved' then return take_approved(d, t) end
    if t.member == 'waiting' then d.ch.waiting_count = d.ch.waiting_count - redis.call('ZREM', d.ch.waiting, d.name) end
    if d.state == 'claimed' then return take_claimed(d) end
    schedule('delivery:' .. d.name, nil)
    return d.state == 'uncertain' and {'uncertain'} or {'removed'}
end

-- What cannot be read must not block the head of the agenda.
local function put_off(d, t)
    if t.member == 'waiting' then
        redis.call('ZADD', d.ch.waiting, 'XX', text(now + UNREADABLE_MS), d.name)
    else
        schedule('delivery:' .. d.name, now + UNREADABLE_MS)
    end
end

return each_delivery(read_take, take, nil, put_off)

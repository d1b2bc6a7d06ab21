-- SPDX-License-Identifier: MIT
-- row: what stands in front of every script. How a call is laid out, how a row is read, and the one function that sets a
-- state together with its agenda entry, waiting list, counter, journal and outcome entry, lease and long values.
--
-- KEYS  8 globals: agenda journal outcomes counts channels queue epoch audit
--       per channel 5: waiting uncertain channel posts walk
--       per delivery 5: row request lease, and row and request of the delivery that must come first
-- ARGV  C N outcomes_max rejected_keep_ms, C channel names, the script's own arguments, one block per delivery
--       (block: number of its channel, its name, and what the script says)
-- Reply {now_ms, answer, ...}, one flat array per delivery. A delivery that cannot be worked answers {"error", words}.
--
-- Lua has no rollback. So everything that could refuse a write is looked at first (types of all keys, readable fields),
-- one delivery's trouble does not leave its answer, and what belongs to the whole call (agenda, counters,
-- acknowledgements, channels' own entries) is collected and written once, at the end, whatever happened.
-- Only redis.*, KEYS, ARGV and plain Lua 5.1 are used, so that the scripts also run in a bare interpreter.
--
-- A script's header may say "-- flags: F" (put into its #! line) and "-- with: FILE.." (put between row.lua and it).

local KEEP_AUDIT = 100000 -- entries
local POSTS_MAX = 50000   -- external ids kept per channel
local RAMP_OPEN = 64      -- a ramp that has grown to this limits nothing any more
local FULL_WAIT_MS = 1000 -- a channel that may not send now is offered again after this, or when something settles

local TYPES = {agenda = 'zset', journal = 'stream', outcomes = 'stream', counts = 'hash', channels = 'set',
    queue = 'stream', epoch = 'hash', audit = 'stream', waiting = 'zset', uncertain = 'zset', channel = 'hash',
    posts = 'hash', walk = 'string', request = 'hash'}
local GLOBALS = {'agenda', 'journal', 'outcomes', 'counts', 'channels', 'queue', 'epoch', 'audit'}
local STATES = {approved = true, claimed = true, published = true, rejected = true, uncertain = true, held = true}
local OUTCOMES = {published = true, rejected = true, held = true}
local NUMBERS = {'since', 'rev', 'approved_at', 'not_before', 'not_after', 'dated', 'gen', 'attempt', 'tries',
    'claimed_at', 'first_send', 'commit_by', 'misses', 'missed_at', 'cleared_at', 'taken', 'turn'}
-- What may be longer than the 64 bytes that Redis keeps in its compact encoding stands in request: then.
local LONG = {'ext_id', 'url', 'duplicate', 'key'}
local IS_LONG = {ext_id = true, url = true, duplicate = true, key = true}
-- What late reports and a retry need stays, and the date by which the item would be held back once the row is archived; the
-- rest of a settled row goes.
local DROPPED = {
    rejected = {'worker', 'claimed_at', 'misses', 'missed_at', 'taken', 'waived', 'turn'},
    published = {'worker', 'claimed_at', 'misses', 'missed_at', 'taken', 'waived', 'turn', 'first_send', 'commit_by',
        'cleared_at', 'body_hash', 'tries', 'not_before', 'not_after'}}

-- ---- small things

local function text(number)
    return string.format('%.0f', number)
end

local function key_type(key)
    local answer = redis.call('TYPE', key)
    return type(answer) == 'table' and answer.ok or answer
end

-- The words of an error, from redis.pcall's table, from a raised error, or from a string.
local function words(fault)
    return tostring(type(fault) == 'table' and fault.err or fault)
end

-- A number as we write it, or nil: at most 15 digits, which a double holds exactly.
local function number_of(value)
    if value and #value <= 15 and string.find(value, '^%-?%d+$') then return tonumber(value) end
    return nil
end

local function pairs_of(flat)
    local map = {}
    for i = 1, #flat, 2 do map[flat[i]] = flat[i + 1] end
    return map
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- ---- the layout of a call

local position = 0
local function next_arg()
    position = position + 1
    return ARGV[position] or ''
end

local function next_number()
    return number_of(next_arg()) or 0
end

local channel_count, delivery_count = next_number(), next_number()
local outcomes_max, rejected_keep_ms = next_number(), next_number()

local global = {}
for i, name in ipairs(GLOBALS) do global[name] = KEYS[i] end

-- What the whole call will write at its end.
local call = {agenda = {}, order = {}, counts = {}, acks = {}, known = {}, touched = {}}

local channels = {}
for i = 1, channel_count do
    local base = #GLOBALS + 5 * (i - 1)
    channels[i] = {name = next_arg(), waiting = KEYS[base + 1], uncertain = KEYS[base + 2], channel = KEYS[base + 3],
        posts = KEYS[base + 4], walk = KEYS[base + 5]}
end

local function wrong_type(kind, key)
    local found = key_type(key)
    if found ~= 'none' and found ~= TYPES[kind] then
        return kind .. ': the key is a ' .. found .. ', a ' .. TYPES[kind] .. ' belongs there'
    end
    return nil
end

-- A global key of the wrong type is no delivery's fault: the answer for the whole call is an error. One of a channel stops
-- those of the channel.
local function check_keys(needed)
    for _, name in ipairs(needed) do
        local bad = wrong_type(name, global[name])
        if bad then return {err = 'WRONGTYPE ' .. bad} end
    end
    for _, ch in ipairs(channels) do
        for _, kind in ipairs({'waiting', 'uncertain', 'channel', 'posts', 'walk'}) do
            ch.bad = ch.bad or wrong_type(kind, ch[kind])
        end
    end
end

-- ---- facts of a channel, read once per call

local function load_channel(ch)
    if ch.loaded or ch.bad then return end
    ch.loaded = true
    local got = redis.call('HMGET', ch.channel, 'next_at', 'blocked_until', 'ramp', 'turn_at', 'paused')
    for i, name in ipairs({'next_at', 'blocked_until', 'ramp', 'turn_at'}) do
        ch[name] = number_of(got[i] or '0')
        if not ch[name] then ch.bad = 'channel: ' .. name .. ' is no number' end
    end
    ch.paused = got[5] or false
    ch.waiting_count = redis.call('ZCARD', ch.waiting)
    ch.claimed_count = number_of(redis.call('HGET', global.counts, ch.name .. ' claimed') or '0') or 0
end

local function touch(ch)
    if not call.touched[ch] then
        call.touched[ch] = true
        call.touched[#call.touched + 1] = ch
    end
end

-- ---- rows

local function find_field(d, name)
    if d.fields[name] then return d.fields[name] end
    return IS_LONG[name] and redis.call('HGET', d.request, name) or nil
end

local function read_fields(d, flat)
    d.fields = pairs_of(flat)
    d.state = d.fields.state or 'none'
    if #flat > 0 and not STATES[d.state] then return 'row: unknown state "' .. string.sub(d.state, 1, 40) .. '"' end
    d.n = {}
    for _, name in ipairs(NUMBERS) do
        local value = d.fields[name]
        d.n[name] = value and number_of(value) or 0
        if value and not number_of(value) then return 'row: ' .. name .. ' is no number' end
    end
    d.in_doubt = d.fields.in_doubt or ''
    return nil
end

-- Reads one delivery; returns what is wrong with it, or nil. Nothing is written before this has returned nil.
local function load_delivery(d)
    if not d.ch then return 'arguments: no such channel' end
    load_channel(d.ch)
    if d.ch.bad then return d.ch.bad end
    local lease, flat, bad = redis.pcall('GET', d.lease_key), redis.pcall('HGETALL', d.row), wrong_type('request', d.request)
    if bad then return bad end
    if type(lease) == 'table' then return 'lease: ' .. words(lease) end
    if flat.err then return 'row: ' .. words(flat) end
    d.lease = lease or nil
    return read_fields(d, flat)
end

local function next_delivery(index)
    local base = #GLOBALS + 5 * channel_count + 5 * (index - 1)
    local d = {row = KEYS[base + 1], request = KEYS[base + 2], lease_key = KEYS[base + 3], after_row = KEYS[base + 4],
        after_request = KEYS[base + 5]}
    d.ch = channels[next_number()]
    d.name = next_arg()
    return d
end

-- <worker> <attempt> <token>
local function lease_holder(d)
    return d.lease and string.match(d.lease, '^%S+') or ''
end

local function lease_token(d)
    return d.lease and string.match(d.lease, '^%S+ %S+ (%S+)$') or nil
end

local function doubt_with(list, entry)
    if string.find(' ' .. list .. ' ', ' ' .. entry .. ' ', 1, true) then return list end
    return list == '' and entry or list .. ' ' .. entry
end

local function attempt_entry(attempt, token)
    return text(attempt) .. ':' .. string.sub(token, 1, 8)
end

-- ---- what is collected

local function schedule(member, due)
    if call.agenda[member] == nil then call.order[#call.order + 1] = member end
    call.agenda[member] = due or false
end

local function count(ch, state, by)
    if state == 'none' then return end
    local field = ch.name .. ' ' .. state
    if not call.counts[field] then call.counts[#call.counts + 1] = field end
    call.counts[field] = (call.counts[field] or 0) + by
    if state == 'claimed' then ch.claimed_count = ch.claimed_count + by end
end

local function acknowledge(entry)
    if entry ~= '' then call.acks[#call.acks + 1] = entry end
end

-- ---- the one function that sets a state

-- Values that are too long for the row go to request:, under the same name. What is left is for the row.
local function split_long(d, changes)
    local short, set, drop = {}, {}, {}
    for name, value in pairs(changes) do
        short[name] = value
        if IS_LONG[name] and #value > 64 then
            set[#set + 1] = name
            set[#set + 1] = value
            short[name] = ''
        elseif IS_LONG[name] and d.state ~= 'none' and not d.fields[name] then
            drop[#drop + 1] = name
        end
    end
    if #drop > 0 then redis.call('HDEL', d.request, unpack(drop)) end
    if #set > 0 then redis.call('HSET', d.request, unpack(set)) end
    return short, #set > 0
end

-- Writes the fields that differ.
local function write_fields(d, changes)
    local set, drop = {}, {}
    local short, changed = split_long(d, changes)
    for name, value in pairs(short) do
        if value == '' and d.fields[name] then
            drop[#drop + 1] = name
        elseif value ~= '' and d.fields[name] ~= value then
            set[#set + 1] = name
            set[#set + 1] = value
        end
        d.fields[name] = value ~= '' and value or nil
    end
    if #set + #drop == 0 and not changed then return end
    d.n.rev = d.n.rev + 1
    d.fields.rev = text(d.n.rev)
    redis.call('HSET', d.row, 'rev', d.fields.rev, unpack(set))
    if #drop > 0 then redis.call('HDEL', d.row, unpack(drop)) end
end

-- content, frozen, prepared, detail: '' removes one.
local function write_long(d, long)
    local set, drop = {}, {}
    for name, value in pairs(long) do
        if value == '' then drop[#drop + 1] = name else set[#set + 1] = name; set[#set + 1] = value end
    end
    if #drop > 0 then redis.call('HDEL', d.request, unpack(drop)) end
    if #set > 0 then redis.call('HSET', d.request, unpack(set)) end
end

-- A published row needs no content any more. A rejected one keeps it for a retry, until its time is over; not where an
-- id stands there that the row is too small for.
local function keep_request(d, state)
    if d.state == 'rejected' and state ~= 'rejected' then redis.call('PERSIST', d.request) end
    if state == 'published' then redis.call('HDEL', d.request, 'content', 'frozen', 'prepared') end
    if state ~= 'rejected' or d.state == 'rejected' or rejected_keep_ms <= 0 then return end
    for _, value in ipairs(redis.call('HMGET', d.request, unpack(LONG))) do
        if value then return end
    end
    redis.call('PEXPIRE', d.request, text(rejected_keep_ms))
end

-- One entry from the step that makes a delivery uncertain to the step that ends it.
local function keep_journal(d, state, reason, changes)
    local id = d.fields.journal
    if state == 'uncertain' and not id then
        changes.journal = redis.call('XADD', global.journal, '*', 'delivery', d.name, 'attempt',
            changes.attempt or d.fields.attempt or '0', 'reason', reason, 'since', changes.since or d.fields.since or '0')
    elseif state ~= 'uncertain' and id then
        redis.pcall('XACK', global.journal, 'reconcilers', id)
        redis.pcall('XDEL', global.journal, id)
        changes.journal = ''
    end
end

-- The channel's set of uncertain deliveries, and when its account is to be walked.
local function keep_uncertain(d, state, to, due)
    local ch, was = d.ch, d.state == 'uncertain'
    if state == 'uncertain' then
        if not was then redis.call('ZADD', ch.uncertain, text(now), d.name) end
        if to.place == 'walk' or not was then ch.walk_due = math.min(ch.walk_due or due, due) end
    elseif was then
        redis.call('ZREM', ch.uncertain, d.name)
        ch.uncertain_left = true
    end
end

-- Where a delivery stands that is not settled: on the agenda or in the waiting list; uncertain ones in their set only.
-- nil: where it stood before.
local function place_of(d, state, to)
    if state == 'claimed' then return to.lease_end and 'agenda' end
    if state ~= 'approved' then return '-' end
    if to.place == 'waiting' then return 'waiting' end
    if to.place ~= 'agenda' and d.state == 'approved' then return nil end
    return 'agenda'
end

local function keep_place(d, state, to)
    local ch, due = d.ch, to.lease_end or to.due or 0
    if due <= 0 then due = now end
    keep_uncertain(d, state, to, due)
    local place = place_of(d, state, to)
    if not place then return end
    schedule('delivery:' .. d.name, place == 'agenda' and due)
    if place == 'waiting' then
        ch.waiting_count = ch.waiting_count + redis.call('ZADD', ch.waiting, text(due), d.name)
    elseif d.state == 'approved' then
        ch.waiting_count = ch.waiting_count - redis.call('ZREM', ch.waiting, d.name)
    end
end

-- Who owns an external id. The oldest are not known, so one at random makes room.
local function keep_post(d, id)
    if redis.call('HSETNX', d.ch.posts, id, d.name) == 0 or redis.call('HLEN', d.ch.posts) <= POSTS_MAX then return end
    local other = redis.call('HRANDFIELD', d.ch.posts)
    if other ~= id then redis.call('HDEL', d.ch.posts, other) end
end

local function tell_outcome(d, state, old)
    if not OUTCOMES[state] or old == state then return end
    redis.call('XADD', global.outcomes, 'MAXLEN', '~', text(math.max(outcomes_max, 1)), '*', 'delivery', d.name,
        'state', state, 'reason', d.fields.reason or '', 'source', d.fields.source or '',
        'ext_id', find_field(d, 'ext_id') or '', 'url', find_field(d, 'url') or '', 'attempt', d.fields.attempt or '0')
end

-- After a block a channel starts with one request in flight and doubles with each success. What was claimed before the block
-- proves nothing about the time after it.
local function grow_ramp(ch, claimed_at)
    if ch.ramp <= 0 or claimed_at < ch.blocked_until then return end
    ch.ramp = ch.ramp * 2 < RAMP_OPEN and ch.ramp * 2 or 0
    ch.ramp_changed = true
end

-- to: {state, reason, place = '-' | 'agenda' | 'waiting' | 'walk', due, set = {field = value}, long = {field = value},
-- lease_end}. An empty value removes a field. rev counts up if, and only if, the row is changed.
local function set_row(d, to)
    local old, state, changes, claimed_at = d.state, to.state, to.set or {}, d.n.claimed_at
    changes.state, changes.reason = state, to.reason
    if old ~= state then changes.since = text(now) end
    for _, name in ipairs(DROPPED[state] or {}) do changes[name] = '' end
    keep_journal(d, state, to.reason, changes)
    keep_place(d, state, to)
    write_fields(d, changes)
    if to.long then write_long(d, to.long) end
    keep_request(d, state)
    if old ~= state then
        count(d.ch, old, -1)
        count(d.ch, state, 1)
        if old == 'none' then call.known[d.ch.name] = true end
        if old == 'claimed' and state == 'published' then grow_ramp(d.ch, claimed_at) end
    end
    for _, name in ipairs({'ext_id', 'duplicate'}) do
        if changes[name] and changes[name] ~= '' then keep_post(d, changes[name]) end
    end
    tell_outcome(d, state, old)
    d.state = state
    touch(d.ch)
end

-- ---- the end of a call

-- A channel stands on the agenda exactly while deliveries wait for it and it is not paused.
local function place_channel(ch)
    local member = 'channel:' .. ch.name
    local first = ch.waiting_count > 0 and not ch.paused and redis.call('ZRANGE', ch.waiting, 0, 0, 'WITHSCORES')
    if not first or not first[2] then return schedule(member, nil) end
    schedule(member, math.max(tonumber(first[2]), ch.next_at, ch.blocked_until, ch.not_before or 0))
end

-- The account is walked while one of its deliveries is uncertain, as early as one of them wants it.
local function place_walk(ch)
    if not ch.walk_due and not ch.uncertain_left then return end
    local member = 'walk:' .. ch.name
    if redis.call('ZCARD', ch.uncertain) == 0 then return schedule(member, nil) end
    local current = tonumber(redis.call('ZSCORE', global.agenda, member) or '')
    if not current or (ch.walk_due or current) < current then schedule(member, ch.walk_due or now) end
end

local function write_channel(ch)
    load_channel(ch)
    if ch.bad then return end
    if ch.next_at_changed then redis.call('HSET', ch.channel, 'next_at', text(ch.next_at)) end
    if ch.turn_at_changed then redis.call('HSET', ch.channel, 'turn_at', text(ch.turn_at)) end
    if ch.ramp_changed and ch.ramp > 0 then redis.call('HSET', ch.channel, 'ramp', text(ch.ramp)) end
    if ch.ramp_changed and ch.ramp <= 0 then redis.call('HDEL', ch.channel, 'ramp') end
    place_channel(ch)
    place_walk(ch)
end

local function write_agenda()
    local add, drop = {}, {}
    for _, member in ipairs(call.order) do
        local due = call.agenda[member]
        if due then add[#add + 1] = text(due); add[#add + 1] = member else drop[#drop + 1] = member end
    end
    if #add > 0 then redis.call('ZADD', global.agenda, unpack(add)) end
    if #drop > 0 then redis.call('ZREM', global.agenda, unpack(drop)) end
end

local function finish()
    for _, ch in ipairs(call.touched) do write_channel(ch) end
    write_agenda()
    for _, field in ipairs(call.counts) do
        if call.counts[field] ~= 0 then redis.call('HINCRBY', global.counts, field, text(call.counts[field])) end
    end
    for name in pairs(call.known) do redis.call('SADD', global.channels, name) end
    if #call.acks > 0 then
        redis.pcall('XACK', global.queue, 'workers', unpack(call.acks))
        redis.pcall('XDEL', global.queue, unpack(call.acks))
    end
end

-- Works all deliveries: read() takes a block from ARGV, work(d, block) answers. The trouble of one stays with it;
-- put_off(d, block), if there is one, is told of it.
local function each_delivery(read, work, put_off)
    local reply = {text(now)}
    for i = 1, delivery_count do
        local d = next_delivery(i)
        local block = read()
        local bad, ok, answer = load_delivery(d), false, nil
        if not bad then ok, answer = pcall(work, d, block) end
        if not ok and put_off then pcall(put_off, d, block) end
        reply[#reply + 1] = ok and answer or {'error', words(bad or answer)}
    end
    finish()
    return reply
end

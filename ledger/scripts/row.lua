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
-- Lua has no rollback. So everything that could refuse a write is looked at first (types of the keys that are needed,
-- readable fields; of request: the first write is the look), one delivery's trouble does not leave its answer, and what
-- belongs to the whole call (agenda, counters, acknowledgements, leases that are given back, channels' own entries) is
-- collected and written once, at the end, whatever happened.
--
-- What costs in a script is every command and every text made of a number or read as one. So a fact is asked for when it
-- is needed and then kept, and a number is read and printed once per call.
-- Only redis.*, KEYS, ARGV and plain Lua 5.1 are used, so that the scripts also run in a bare interpreter.
--
-- A script's header may say "-- flags: F" (put into its #! line) and "-- with: FILE.." (put between row.lua and it).

local KEEP_AUDIT = 100000 -- entries
local POSTS_MAX = 50000   -- external ids kept per channel
local RAMP_OPEN = 64      -- a ramp that has grown to this limits nothing any more
local FULL_WAIT_MS = 1000 -- a channel that may not send now is offered again after this, or when something settles

local TYPES = {agenda = 'zset', journal = 'stream', outcomes = 'stream', counts = 'hash', channels = 'set',
    queue = 'stream', epoch = 'hash', audit = 'stream', waiting = 'zset', uncertain = 'zset', channel = 'hash',
    posts = 'hash', walk = 'string'}
local GLOBALS = {'agenda', 'journal', 'outcomes', 'counts', 'channels', 'queue', 'epoch', 'audit'}
local STATES = {approved = true, claimed = true, published = true, rejected = true, uncertain = true, held = true}
local OUTCOMES = {published = true, rejected = true, held = true}
local NUMBERS = {since = 0, rev = 0, approved_at = 0, not_before = 0, not_after = 0, dated = 0, gen = 0, attempt = 0,
    tries = 0, claimed_at = 0, first_send = 0, commit_by = 0, misses = 0, missed_at = 0, cleared_at = 0, taken = 0, turn = 0}
local ABSENT = {__index = NUMBERS} -- an absent number counts as 0
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

local texts, numbers = {}, {}

local function text(number)
    local known = texts[number]
    if not known then
        known = string.format('%.0f', number)
        texts[number] = known
    end
    return known
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
    if not value then return nil end
    local known = numbers[value]
    if known == nil then
        known = #value <= 15 and string.find(value, '^%-?%d+$') and tonumber(value) or false
        numbers[value] = known
    end
    return known or nil
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
local call = {agenda = {}, order = {}, counts = {}, acks = {}, known = {}, leases = {}, touched = {}}

local channels = {}
for i = 1, channel_count do
    local base = #GLOBALS + 5 * (i - 1)
    channels[i] = {name = next_arg(), waiting = KEYS[base + 1], uncertain = KEYS[base + 2], channel = KEYS[base + 3],
        posts = KEYS[base + 4], walk = KEYS[base + 5], checked = {}}
end

local function wrong_type(kind, key)
    local found = key_type(key)
    if found ~= 'none' and found ~= TYPES[kind] then
        return kind .. ': the key is a ' .. found .. ', a ' .. TYPES[kind] .. ' belongs there'
    end
    return nil
end

-- A global key of the wrong type is no delivery's fault: the answer for the whole call is an error.
local function check_keys(needed)
    for _, name in ipairs(needed) do
        local bad = wrong_type(name, global[name])
        if bad then return {err = 'WRONGTYPE ' .. bad} end
    end
end

-- A key of a channel that is needed by this delivery and not by all; of another type, it stops those that need it.
local function need(ch, kind)
    if ch.checked[kind] == nil then ch.checked[kind] = wrong_type(kind, ch[kind]) or false end
    if ch.checked[kind] then error({err = ch.checked[kind]}) end
    return ch[kind]
end

-- ---- facts of a channel, read once per call

local function load_channel(ch)
    if ch.loaded or ch.bad then return end
    ch.loaded = true
    local got = redis.pcall('HMGET', ch.channel, 'next_at', 'blocked_until', 'ramp', 'turn_at', 'paused')
    local waiting_count = redis.pcall('ZCARD', ch.waiting)
    ch.bad = got.err and wrong_type('channel', ch.channel) or type(waiting_count) == 'table' and wrong_type('waiting', ch.waiting)
    if ch.bad then return end
    for i, name in ipairs({'next_at', 'blocked_until', 'ramp', 'turn_at'}) do
        ch[name] = number_of(got[i] or '0')
        if not ch[name] then ch.bad = 'channel: ' .. name .. ' is no number' end
    end
    ch.paused = got[5] or false
    ch.waiting_count = waiting_count
    ch.claimed_count = ch.ramp > 0 and number_of(redis.call('HGET', global.counts, ch.name .. ' claimed')) or 0
end

local function touch(ch)
    if not call.touched[ch] then
        call.touched[ch] = true
        call.touched[#call.touched + 1] = ch
    end
end

-- ---- rows

-- The long values that stand in request: for the row; a delivery that has no row has none.
local function long_values(d)
    if not d.long then
        local got = d.state ~= 'none' and redis.call('HMGET', d.request, unpack(LONG)) or {}
        d.long = {}
        for i, name in ipairs(LONG) do d.long[name] = got[i] or nil end
    end
    return d.long
end

local function find_field(d, name)
    return d.fields[name] or (IS_LONG[name] and long_values(d)[name]) or nil
end

local function read_fields(d, flat)
    d.fields, d.n = {}, setmetatable({}, ABSENT)
    for i = 1, #flat, 2 do
        local name, value = flat[i], flat[i + 1]
        d.fields[name] = value
        if NUMBERS[name] then
            d.n[name] = number_of(value)
            if not number_of(value) then return 'row: ' .. name .. ' is no number' end
        end
    end
    d.state, d.in_doubt = d.fields.state or 'none', d.fields.in_doubt or ''
    if #flat > 0 and not STATES[d.state] then return 'row: unknown state "' .. string.sub(d.state, 1, 40) .. '"' end
    return nil
end

-- Reads one delivery; returns what is wrong with it, or nil. Nothing is written before this has returned nil.
local function load_delivery(d)
    if not d.ch then return 'arguments: no such channel' end
    load_channel(d.ch)
    if d.ch.bad then return d.ch.bad end
    local flat = redis.pcall('HGETALL', d.row)
    if flat.err then return 'row: ' .. words(flat) end
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

-- <worker> <attempt> <token>, or false
local function lease_of(d)
    if d.lease == nil then d.lease = redis.call('GET', d.lease_key) end
    return d.lease
end

local function lease_holder(d)
    return lease_of(d) and string.match(d.lease, '^%S+') or ''
end

local function lease_token(d)
    return lease_of(d) and string.match(d.lease, '^%S+ %S+ (%S+)$') or nil
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

local function know(ch)
    if ch.known then return end
    ch.known = true
    call.known[#call.known + 1] = ch.name
end

local function give_back_lease(d)
    call.leases[#call.leases + 1] = d.lease_key
end

-- ---- the one function that sets a state

-- content, frozen, prepared, detail, and of LONG what is too long for the row, goes to request: ('' removes one). It is
-- written first: if the key is of another type, nothing else has been written. True where it changed what the row says.
local function write_request(d, set, long)
    local args, drop, changed = {}, {}, false
    for _, name in ipairs(LONG) do
        local value = set[name]
        if value and #value > 64 then
            set[name], long[name], changed = '', value, true
        elseif value and long_values(d)[name] then
            long[name] = ''
        end
        if long[name] then long_values(d)[name] = long[name] ~= '' and long[name] or nil end
    end
    for name, value in pairs(long) do
        if value == '' then drop[#drop + 1] = name else args[#args + 1] = name; args[#args + 1] = value end
    end
    if #drop > 0 then redis.call('HDEL', d.request, unpack(drop)) end
    if #args > 0 then redis.call('HSET', d.request, unpack(args)) end
    return changed
end

-- Writes the fields that differ.
local function write_fields(d, changes, changed)
    local args, drop, fields = {'rev', ''}, {}, d.fields
    for name, value in pairs(changes) do
        local known = fields[name]
        if value == '' then
            if known then drop[#drop + 1] = name end
            fields[name] = nil
        elseif known ~= value then
            args[#args + 1] = name
            args[#args + 1] = value
            fields[name] = value
        end
    end
    if #args + #drop == 2 and not changed then return end
    d.n.rev = d.n.rev + 1
    fields.rev = text(d.n.rev)
    args[2] = fields.rev
    redis.call('HSET', d.row, unpack(args))
    if #drop > 0 then redis.call('HDEL', d.row, unpack(drop)) end
end

-- A rejected row keeps its request for a retry, until its time is over; not where an id stands there that the row is too
-- small for.
local function keep_request(d, state)
    if d.state == 'rejected' and state ~= 'rejected' then redis.call('PERSIST', d.request) end
    if state ~= 'rejected' or d.state == 'rejected' or rejected_keep_ms <= 0 then return end
    if next(long_values(d)) == nil then redis.call('PEXPIRE', d.request, text(rejected_keep_ms)) end
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
    if id == '' or redis.call('HSETNX', d.ch.posts, id, d.name) == 0 then return end
    if redis.call('HLEN', d.ch.posts) <= POSTS_MAX then return end
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

-- What the writes will need that could be of another type.
local function look_first(d, state, has_id)
    if OUTCOMES[state] then long_values(d) end
    if state == 'uncertain' or d.state == 'uncertain' then need(d.ch, 'uncertain') end
    if has_id then need(d.ch, 'posts') end
end

-- to: {state, reason, place = '-' | 'agenda' | 'waiting' | 'walk', due, set = {field = value}, long = {field = value},
-- lease_end}. An empty value removes a field. rev counts up if, and only if, the row is changed.
local function set_row(d, to)
    local old, state, claimed_at = d.state, to.state, d.n.claimed_at
    local changes, long, dropped = to.set or {}, to.long or {}, DROPPED[state] or {}
    local ext_id, duplicate = changes.ext_id or '', changes.duplicate or ''
    look_first(d, state, ext_id .. duplicate ~= '')
    changes.state, changes.reason = state, to.reason
    if old ~= state then changes.since = text(now) end
    for i = 1, #dropped do changes[dropped[i]] = '' end
    if state == 'published' then long.content, long.frozen, long.prepared = '', '', '' end
    local changed = write_request(d, changes, long)
    keep_journal(d, state, to.reason, changes)
    keep_place(d, state, to)
    write_fields(d, changes, changed)
    keep_request(d, state)
    if old ~= state then
        count(d.ch, old, -1)
        count(d.ch, state, 1)
        if old == 'none' then know(d.ch) end
        if old == 'claimed' and state == 'published' then grow_ramp(d.ch, claimed_at) end
    end
    keep_post(d, ext_id)
    keep_post(d, duplicate)
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
    if #call.known > 0 then redis.call('SADD', global.channels, unpack(call.known)) end
    if #call.leases > 0 then redis.call('DEL', unpack(call.leases)) end
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

-- SPDX-License-Identifier: MIT
-- row: how a row is read, and the one function that sets a state together with its agenda entry, waiting list, counter,
-- journal and outcome entry and long values. Stands behind call.lua, in front of every script that works rows.

local POSTS_MAX = 50000   -- external ids kept per channel
local RAMP_OPEN = 64      -- a ramp that has grown to this limits nothing any more

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
local DROPPED = {approved = {}, claimed = {}, uncertain = {}, held = {},
    rejected = {'worker', 'claimed_at', 'misses', 'missed_at', 'taken', 'waived', 'turn'},
    published = {'worker', 'claimed_at', 'misses', 'missed_at', 'taken', 'waived', 'turn', 'first_send', 'commit_by',
        'cleared_at', 'body_hash', 'tries', 'not_before', 'not_after'}}

-- ---- rows

-- The long values that stand in request: for the row; a delivery that has no row has none.
local function long_values(d)
    if not d.long then
        local got = d.state ~= 'none' and redis.call('HMGET', d.request, 'detail', unpack(LONG)) or {}
        d.long, d.has_detail = {}, got[1]
        for i = 1, #LONG do
            if got[i + 1] then d.long[LONG[i]] = got[i + 1] end
        end
    end
    return d.long
end

local function find_field(d, name)
    return d.fields[name] or (IS_LONG[name] and long_values(d)[name]) or nil
end

local function read_fields(d, flat)
    for i = 1, #flat, 2 do
        local name, value = flat[i], flat[i + 1]
        d.fields[name] = value
        if NUMBERS[name] then
            local number = number_of(value)
            if not number then return 'row: ' .. name .. ' is no number' end
            d.n[name] = number
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

local function next_delivery()
    return {row = next_key(), request = next_key(), lease_key = next_key(), ch = channels[next_number()], name = next_arg(),
        state = 'none', in_doubt = '', fields = {}, n = setmetatable({}, ABSENT)}
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

-- ---- the one function that sets a state

-- Of LONG, what is too long for the row is for request: and the rest is not. True where that changed what the row says.
local function split_long(d, set, long)
    local changed = false
    for i = 1, #LONG do
        local name, value = LONG[i], set[LONG[i]]
        if value and #value > 64 then
            set[name], long[name], changed = '', value, true
        elseif value and long_values(d)[name] then
            long[name] = ''
        end
        if long[name] then long_values(d)[name] = long[name] ~= '' and long[name] or nil end
    end
    return changed
end

-- content, frozen, prepared, detail and long values; '' removes one. Written before anything else: if the key is of another
-- type, nothing has changed. A published row needs nothing that could be sent; where that is all, the key goes.
local function write_request(d, state, long)
    local args, drop = {}, {}
    if state == 'published' then long.content, long.frozen, long.prepared = '', '', '' end
    for name, value in pairs(long) do
        if value == '' then drop[#drop + 1] = name else args[#args + 1] = name; args[#args + 1] = value end
    end
    if #args > 0 then redis.call('HSET', d.request, unpack(args)) end
    local is_done = state == 'published' and d.state ~= 'none' and #args == 0
    if is_done and not d.has_detail and next(long_values(d)) == nil then
        delete(d.request)
    elseif #drop > 0 then
        redis.call('HDEL', d.request, unpack(drop))
    end
end

-- Writes the fields that differ, and takes out what this state does not keep.
local function write_fields(d, changes, dropped, changed)
    local args, drop, fields, is_new = {'rev', ''}, {}, d.fields, d.state == 'none'
    for i = 1, #dropped do
        local name = dropped[i]
        if changes[name] or fields[name] then changes[name] = '' end
    end
    for name, value in pairs(changes) do
        local known = fields[name]
        if value == '' then
            if known then
                drop[#drop + 1] = name
                fields[name] = nil
            end
            changes[name] = nil
        elseif known ~= value then
            args[#args + 1] = name
            args[#args + 1] = value
            if not is_new then fields[name] = value end
        end
    end
    if is_new then fields, d.fields = changes, changes end
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
    local changes, long = to.set or {}, to.long or {}
    local ext_id, duplicate = changes.ext_id or '', changes.duplicate or ''
    look_first(d, state, ext_id .. duplicate ~= '')
    changes.state, changes.reason = state, to.reason
    if old ~= state then changes.since = text(now) end
    local changed = split_long(d, changes, long)
    write_request(d, state, long)
    keep_journal(d, state, to.reason, changes)
    keep_place(d, state, to)
    write_fields(d, changes, DROPPED[state], changed)
    keep_request(d, state)
    if old ~= state then
        count(d.ch, old, -1)
        count(d.ch, state, 1)
        d.ch.is_new = d.ch.is_new or old == 'none'
        if old == 'claimed' and state == 'published' then grow_ramp(d.ch, claimed_at) end
    end
    keep_post(d, ext_id)
    keep_post(d, duplicate)
    tell_outcome(d, state, old)
    d.state = state
    touch(d.ch)
end

-- ---- all deliveries of a call

-- Works all deliveries: read(d) takes a block from ARGV, work(d, block) answers. The trouble of one stays with it;
-- put_off(d, block), if there is one, is told of it.
local function each_delivery(read, work, put_off)
    local reply = {text(now)}
    for _ = 1, delivery_count do
        local d = next_delivery()
        local block = read(d)
        local bad, ok, answer = load_delivery(d), false, nil
        if not bad then ok, answer = pcall(work, d, block) end
        if not ok and put_off then pcall(put_off, d, block) end
        reply[#reply + 1] = ok and answer or {'error', words(bad or answer)}
    end
    finish()
    return reply
end

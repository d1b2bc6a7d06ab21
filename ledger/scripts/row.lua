-- SPDX-License-Identifier: MIT
-- row: how a row is read, and the one function that sets a state together with its agenda entry, waiting list, counter,
-- journal and outcome entry and long values. Stands behind call.lua, in front of every script that works rows.

local POSTS_MAX = 50000   -- external ids kept per channel
local RAMP_OPEN = 64      -- a ramp that has grown to this limits nothing any more

local STATES = {approved = true, claimed = true, published = true, rejected = true, uncertain = true, held = true}
local OUTCOMES = {published = true, rejected = true, held = true}
local NUMBERS = {since = true, rev = true, approved_at = true, not_before = true, not_after = true, dated = true, gen = true,
    attempt = true, tries = true, claimed_at = true, first_send = true, commit_by = true, misses = true, missed_at = true,
    cleared_at = true, taken = true, turn = true}
-- What may be longer than the 64 bytes that Redis keeps in its compact encoding stands in request: then.
local LONG = {'ext_id', 'url', 'duplicate', 'key'}
local IS_LONG = {ext_id = true, url = true, duplicate = true, key = true}
local IS_SENT = {content = true, frozen = true, prepared = true} -- a published row needs nothing that could be sent
-- What late reports and a retry need stays, and the date by which the item would be held back once the row is archived; the
-- rest of a settled row goes.
local DROPPED = {rejected = {'worker', 'claimed_at', 'misses', 'missed_at', 'taken', 'waived', 'turn'},
    published = {'worker', 'claimed_at', 'misses', 'missed_at', 'taken', 'waived', 'turn', 'first_send', 'commit_by',
        'cleared_at', 'body_hash', 'tries', 'not_before', 'not_after'}}
local IS_DROPPED = {rejected = {}, published = {}}
for state, names in pairs(DROPPED) do
    for _, name in ipairs(names) do IS_DROPPED[state][name] = true end
end
-- What a claim that makes a row may have put into it and a published row does not keep.
local OF_CLAIM = {'worker', 'claimed_at', 'first_send', 'commit_by', 'tries', 'body_hash', 'not_before', 'not_after'}
local NONE = {} -- never written
local outcomes_limit = text(math.max(outcomes_max, 1))

-- ---- rows

-- The long values that stand in request: for the row; a delivery that has no row has none.
local function long_values(d)
    if d.long then return d.long end
    d.long = {}
    if d.state == 'none' then return d.long end
    local got = redis.call('HMGET', d.request, 'detail', unpack(LONG))
    d.has_detail = got[1]
    for i = 1, #LONG do
        if got[i + 1] then d.long[LONG[i]] = got[i + 1] end
    end
    return d.long
end

local function find_field(d, name)
    return d.fields[name] or (IS_LONG[name] and long_values(d)[name]) or nil
end

-- A number of the row as it was read; an absent one counts as 0.
local function number(d, name)
    return numbers[d.fields[name]] or 0
end

-- A table that is made with the names of a claimed row has room for them, and need not grow six times.
local function room_for_fields()
    return {state = nil, reason = nil, since = nil, rev = nil, content = nil, approved_at = nil, attempt = nil, tries = nil,
        token = nil, worker = nil, claimed_at = nil, commit_by = nil, first_send = nil, key = nil, body_hash = nil, dated = nil}
end

local function read_fields(d, flat)
    local fields = room_for_fields()
    for i = 1, #flat, 2 do
        local name, value = flat[i], flat[i + 1]
        fields[name] = value
        if NUMBERS[name] and not numbers[value] and not number_of(value) then return 'row: ' .. name .. ' is no number' end
    end
    d.fields, d.state, d.in_doubt, d.rev = fields, fields.state or 'none', fields.in_doubt or '', numbers[fields.rev] or 0
    if not STATES[d.state] then return 'row: unknown state "' .. string.sub(d.state, 1, 40) .. '"' end
    return nil
end

-- Reads one delivery; returns what is wrong with it, or nil. Nothing is written before this has returned nil.
local function load_delivery(d)
    if not d.ch then return 'arguments: no such channel' end
    load_channel(d.ch)
    if d.ch.bad then return d.ch.bad end
    local flat = redis.pcall('HGETALL', d.row)
    if flat.err then return 'row: ' .. words(flat) end
    return #flat > 0 and read_fields(d, flat) or nil
end

-- fields is the row as it was read, and is left so; state and rev are what it has become.
local function next_delivery()
    local key, arg = key_position, position
    key_position, position = key + 3, arg + 2
    return {row = KEYS[key + 1], request = KEYS[key + 2], lease_key = KEYS[key + 3], ch = channels[number_of(ARGV[arg + 1])],
        name = ARGV[arg + 2] or '', state = 'none', in_doubt = '', rev = 0, fields = NONE}
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

-- ---- lists of fields: name, value, name, value, ..; each name once

local function add(list, name, value)
    local count = #list
    list[count + 1], list[count + 2] = name, value
end

-- ---- the one function that sets a state

-- What goes into a hash and what goes out of it. The lists are used again and again, so they need not grow for each delivery;
-- the counts say how much of them is meant.
local puts, drops, put_count, drop_count = {}, {}, 0, 0

local function put(name, value)
    puts[put_count + 1], puts[put_count + 2] = name, value
    put_count = put_count + 2
end

local function drop(name)
    drop_count = drop_count + 1
    drops[drop_count] = name
end

local function write_hash(key)
    if put_count > 0 then redis.call('HSET', key, unpack(puts, 1, put_count)) end
    if drop_count > 0 then redis.call('HDEL', key, unpack(drops, 1, drop_count)) end
    put_count, drop_count = 0, 0
end

-- Of LONG, what is too long for the row is for request: and the rest is not. True where that changed what the row says.
local function split_long(d, to)
    local changed, set = false, to.set
    for i = 1, #set, 2 do
        local name, value = set[i], set[i + 1]
        if IS_LONG[name] then
            local known = long_values(d)
            if #value > 64 or known[name] then
                to.long = to.long or {}
                to.long[name] = #value > 64 and value or ''
                known[name] = #value > 64 and value or nil
            end
            if #value > 64 then set[i + 1], changed = '', true end
        end
    end
    return changed
end

local function leaves_request_empty(d, state)
    return state == 'published' and d.state ~= 'none' and next(long_values(d)) == nil and not d.has_detail
end

-- content, frozen, prepared, detail and long values; '' removes one. Written before anything else: if the key is of another
-- type, nothing has changed. Where what is published leaves nothing, the key goes.
local function write_request(d, state, long)
    local is_published = state == 'published'
    if not long and not is_published then return end
    put_count, drop_count = 0, 0
    for name, value in pairs(long or NONE) do
        if value == '' then drop(name) elseif not (is_published and IS_SENT[name]) then put(name, value) end
    end
    if put_count == 0 and leaves_request_empty(d, state) then return delete(d.request) end
    if is_published then
        for name in pairs(IS_SENT) do drop(name) end
    end
    write_hash(d.request)
end

local function change_field(fields, name, value)
    local known = fields[name]
    if value == '' then
        if known then drop(name) end
    elseif value ~= known then
        put(name, value)
    end
end

-- Writes the fields that differ, and takes out what this state does not keep. The place of rev is kept for it.
local function write_changes(d, to, changed)
    local fields, state, set = d.fields, to.state, to.set
    local dropped, is_dropped = DROPPED[state] or NONE, IS_DROPPED[state] or NONE
    put_count, drop_count = 2, 0
    if d.state ~= state then
        put('state', state)
        change_field(fields, 'since', now_text)
    end
    if to.reason then change_field(fields, 'reason', to.reason) end
    for i = 1, #set, 2 do
        local name = set[i]
        if not is_dropped[name] then change_field(fields, name, set[i + 1]) end
    end
    for i = 1, #dropped do
        if fields[dropped[i]] then drop(dropped[i]) end
    end
    if put_count + drop_count == 2 and not changed then return end
    d.rev = d.rev + 1
    puts[1], puts[2] = 'rev', text(d.rev)
    write_hash(d.row)
end

-- Where nothing is known of the row's fields that could be the same, all are written as they are given.
local function write_fields(d, to, changed)
    if not to.as_is or d.state ~= 'none' and not d.is_as_claimed then return write_changes(d, to, changed) end
    d.rev = d.rev + 1
    redis.call('HSET', d.row, 'rev', text(d.rev), 'state', to.state, 'since', now_text, 'reason', to.reason, unpack(to.set))
    if d.is_as_claimed then redis.call('HDEL', d.row, unpack(OF_CLAIM)) end
end

-- A rejected row keeps its request for a retry, until its time is over; not where an id stands there that the row is too
-- small for.
local function keep_request(d, state)
    if d.state == 'rejected' and state ~= 'rejected' then redis.call('PERSIST', d.request) end
    if state ~= 'rejected' or d.state == 'rejected' or rejected_keep_ms <= 0 then return end
    if next(long_values(d)) == nil then redis.call('PEXPIRE', d.request, text(rejected_keep_ms)) end
end

-- One entry from the step that makes a delivery uncertain to the step that ends it.
local function keep_journal(d, to)
    local id, set, state = d.fields.journal, to.set, to.state
    if state == 'uncertain' and not id then
        local since = d.state ~= state and now_text or d.fields.since or '0'
        add(set, 'journal', redis.call('XADD', global.journal, '*', 'delivery', d.name, 'attempt',
            pairs_of(set).attempt or d.fields.attempt or '0', 'reason', to.reason, 'since', since))
    elseif state ~= 'uncertain' and id then
        redis.pcall('XACK', global.journal, 'reconcilers', id)
        redis.pcall('XDEL', global.journal, id)
        add(set, 'journal', '')
    end
end

-- The channel's set of uncertain deliveries, and when its account is to be walked.
local function keep_uncertain(d, state, to, due)
    local ch, was = d.ch, d.state == 'uncertain'
    if state == 'uncertain' then
        if not was then redis.call('ZADD', ch.uncertain, now_text, d.name) end
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
    if state == 'uncertain' or d.state == 'uncertain' then keep_uncertain(d, state, to, due) end
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

local function tell_outcome(d, to)
    local said, fields = to.said or pairs_of(to.set), d.fields
    -- What the row says after the change. said may have what is too long for the row.
    local function value_of(name)
        local value = said[name] or fields[name]
        return value or IS_LONG[name] and long_values(d)[name] or ''
    end
    local attempt = said.attempt or fields.attempt or ''
    redis.call('XADD', global.outcomes, 'MAXLEN', '~', outcomes_limit, '*', 'delivery', d.name, 'state', to.state,
        'reason', to.reason or fields.reason or '', 'source', value_of('source'), 'ext_id', value_of('ext_id'),
        'url', value_of('url'), 'attempt', attempt ~= '' and attempt or '0')
end

-- After a block a channel starts with one request in flight and doubles with each success. What was claimed before the block
-- proves nothing about the time after it.
local function grow_ramp(ch, claimed_at)
    if ch.ramp <= 0 or claimed_at < ch.blocked_until then return end
    ch.ramp = ch.ramp * 2 < RAMP_OPEN and ch.ramp * 2 or 0
    ch.ramp_changed = true
end

local function keep_counts(d, old, state)
    local ch = d.ch
    count(ch, old, -1)
    count(ch, state, 1)
    if old == 'none' then ch.is_new = true end
    if old == 'claimed' and state == 'published' then grow_ramp(ch, number(d, 'claimed_at')) end
end

-- What the writes will need that could be of another type.
local function look_first(d, state, has_id)
    if OUTCOMES[state] then long_values(d) end
    if state == 'uncertain' or d.state == 'uncertain' then need(d.ch, 'uncertain') end
    if has_id then need(d.ch, 'posts') end
end

-- to: {state, reason, place = '-' | 'agenda' | 'waiting' | 'walk', due, lease_end, set = {name, value, ..}, long = {name =
-- value}, said = what set says, by name, where a decision can say anything, as_is}. An empty value removes a field. as_is: all of set and reason is to be written as it is, none of it is empty
-- or too long. rev counts up if, and only if, the row is changed. set and long are used up.
local function set_row(d, to)
    local old, state, said, changed = d.state, to.state, to.said or NONE, false
    local ext_id, duplicate = said.ext_id or '', said.duplicate or ''
    to.set = to.set or {}
    look_first(d, state, ext_id ~= '' or duplicate ~= '')
    if not to.as_is then changed = split_long(d, to) end
    write_request(d, state, to.long)
    if state == 'uncertain' or d.fields.journal then keep_journal(d, to) end
    keep_place(d, state, to)
    write_fields(d, to, changed)
    if state == 'rejected' or old == 'rejected' then keep_request(d, state) end
    if old ~= state then keep_counts(d, old, state) end
    keep_post(d, ext_id)
    keep_post(d, duplicate)
    if old ~= state and OUTCOMES[state] then tell_outcome(d, to) end
    d.state = state
    touch(d.ch)
end

-- ---- all deliveries of a call

-- Works all deliveries: read(d) takes a block from ARGV, work(d, block) answers. The trouble of one stays with it;
-- load_short(d, block), if there is one, may know what load_delivery would have to ask for; put_off(d, block), if there is one, is
-- told of trouble.
local function each_delivery(read, work, load_short, put_off)
    local reply = {now_text}
    for i = 1, delivery_count do
        local d = next_delivery()
        local block = read(d)
        local bad, ok, answer = not (load_short and load_short(d, block)) and load_delivery(d), false, nil
        if not bad then ok, answer = pcall(work, d, block) end
        if not ok and put_off then pcall(put_off, d, block) end
        reply[i + 1] = ok and answer or {'error', words(bad or answer)}
    end
    finish()
    return reply
end

-- SPDX-License-Identifier: MIT
-- call: what stands in front of every script that works rows, and row.lua behind it. How a call is laid out, what is known of its channels,
-- and what belongs to it as a whole.
--
-- KEYS  8 globals: agenda journal outcomes counts channels queue epoch audit
--       per channel 5: waiting uncertain channel posts walk
--       per delivery 3: row request lease; and where a claim names one that must come first, 2 more: its row and request
-- ARGV  C N outcomes_max rejected_keep_ms, C channel names, the script's own arguments, one block per delivery
--       (block: number of its channel, its name, and what the script says)
-- Reply {now_ms, answer, ...}, one flat array per delivery. A delivery that cannot be worked answers {"error", words}.
--
-- Lua has no rollback. So everything that could refuse a write is looked at first (types of the keys that are needed,
-- readable fields; of request: the first write is the look), one delivery's trouble does not leave its answer, and what
-- belongs to the whole call (agenda, counters, acknowledgements, keys that go, channels' own entries) is collected and
-- written once, at the end, whatever happened.
--
-- Commands and numbers are what a script costs. A fact is asked for when it is needed; a number is read and printed once.
-- Only redis.*, KEYS, ARGV and plain Lua 5.1 are used, so that the scripts also run in a bare interpreter.
--
-- A script's header may say "-- flags: F" (put into its #! line) and "-- with: FILE.." (put between row.lua and it), or "-- with:
-- nothing": then neither this file nor row.lua stands in front of it.

local KEEP_AUDIT = 100000 -- entries
local FULL_WAIT_MS = 1000 -- a channel that may not send now is offered again after this, or when something settles

local TYPES = {agenda = 'zset', journal = 'stream', outcomes = 'stream', counts = 'hash', channels = 'set',
    queue = 'stream', epoch = 'hash', audit = 'stream', waiting = 'zset', uncertain = 'zset', channel = 'hash',
    posts = 'hash', walk = 'string'}
local GLOBALS = {'agenda', 'journal', 'outcomes', 'counts', 'channels', 'queue', 'epoch', 'audit'}

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
local now_text = text(now)

-- ---- the layout of a call

local key_position, position = 0, 0

local function next_key()
    key_position = key_position + 1
    return KEYS[key_position]
end

local function next_arg()
    position = position + 1
    return ARGV[position] or ''
end

local function next_args(wanted)
    position = position + wanted
    return unpack(ARGV, position - wanted + 1, position)
end

local function next_number()
    return number_of(next_arg()) or 0
end

local channel_count, delivery_count = next_number(), next_number()
local outcomes_max, rejected_keep_ms = next_number(), next_number()

local global = {}
for _, name in ipairs(GLOBALS) do global[name] = next_key() end

-- What the whole call will write at its end.
local call = {agenda = {}, order = {}, acks = {}, deletes = {}, touched = {}}

local channels = {}
for i = 1, channel_count do
    channels[i] = {name = next_arg(), waiting = next_key(), uncertain = next_key(), channel = next_key(),
        posts = next_key(), walk = next_key(), checked = {}, counts = {}}
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
    if ch.is_touched then return end
    ch.is_touched = true
    call.touched[#call.touched + 1] = ch
end

-- ---- what is collected

local function schedule(member, due)
    if call.agenda[member] == nil then call.order[#call.order + 1] = member end
    call.agenda[member] = due or false
end

local function count(ch, state, by)
    if state == 'none' then return end
    ch.counts[state] = (ch.counts[state] or 0) + by
    if state == 'claimed' then ch.claimed_count = ch.claimed_count + by end
end

local function acknowledge(entry)
    if entry ~= '' then call.acks[#call.acks + 1] = entry end
end

local function delete(key)
    call.deletes[#call.deletes + 1] = key
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
    local known = {}
    for _, ch in ipairs(call.touched) do
        write_channel(ch)
        if ch.is_new then known[#known + 1] = ch.name end
    end
    write_agenda()
    for _, ch in ipairs(channels) do
        for state, by in pairs(ch.counts) do
            if by ~= 0 then redis.call('HINCRBY', global.counts, ch.name .. ' ' .. state, text(by)) end
        end
    end
    if #known > 0 then redis.call('SADD', global.channels, unpack(known)) end
    if #call.deletes > 0 then redis.call('DEL', unpack(call.deletes)) end
    if #call.acks > 0 then
        redis.pcall('XACK', global.queue, 'workers', unpack(call.acks))
        redis.pcall('XDEL', global.queue, unpack(call.acks))
    end
end

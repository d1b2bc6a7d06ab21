-- SPDX-License-Identifier: MIT
-- with: nothing
-- place: what is not settled is put where somebody comes to look, due now: a delivery that stands on no list, and a channel, or
-- the walk of its account, that the agenda does not name while a delivery stands in its list. A machine that fails while Redis
-- writes can bring back such halves of what a script wrote, whose last writes are those to the agenda. States, leases and doubts
-- are not touched; what has a place keeps it; a key of another type is left alone.
--
-- KEYS[1] agenda, then per delivery 4: row waiting uncertain channel. ARGV: per delivery 2: its name, its channel.
-- Reply: for how many of the deliveries something was put.

local agenda, placed, clock = KEYS[1], 0, redis.call('TIME')
local now = clock[1] .. string.format('%03d', math.floor(tonumber(clock[2]) / 1000))

-- 1: it was not there, 0: it was; anything else is an error.
local function put(key, member)
    return redis.pcall('ZADD', key, 'NX', now, member)
end

local function put_uncertain(uncertain, name, channel)
    local listed = put(uncertain, name)
    return type(listed) == 'number' and listed + put(agenda, 'walk:' .. channel) > 0
end

local function put_channel(facts, channel)
    return redis.pcall('HEXISTS', facts, 'paused') == 0 and put(agenda, 'channel:' .. channel) == 1
end

for i = 1, #ARGV / 2 do
    local name, channel = ARGV[2 * i - 1], ARGV[2 * i]
    local row, waiting, uncertain, facts = unpack(KEYS, 4 * i - 2, 4 * i + 1)
    local state, done = redis.pcall('HGET', row, 'state'), false
    local waits = state == 'approved' and redis.pcall('ZSCORE', waiting, name)
    if state == 'uncertain' then
        done = put_uncertain(uncertain, name, channel)
    elseif type(waits) == 'string' then
        done = put_channel(facts, channel)
    elseif state == 'claimed' or (state == 'approved' and not waits) then
        done = put(agenda, 'delivery:' .. name) == 1
    end
    if done then placed = placed + 1 end
end
return placed

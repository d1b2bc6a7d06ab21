-- SPDX-License-Identifier: MIT
-- with: nothing
-- place: deliveries that are not settled and stand on no list are put on the agenda, due now: take, claim and reconciler decide
-- about them as always. A machine that fails while Redis writes can bring back such halves of what a script wrote. States, leases
-- and doubts are not touched; what has a place keeps it.
--
-- KEYS[1] agenda, then per delivery 3: row waiting uncertain. ARGV: per delivery 2: its name, its channel.
-- Reply: how many were put there.

local agenda, placed, clock = KEYS[1], 0, redis.call('TIME')
local now = clock[1] .. string.format('%03d', math.floor(tonumber(clock[2]) / 1000))

local function stands_in(key, member)
    local score = redis.pcall('ZSCORE', key, member)
    return score and true or false -- a key of another type is an error, and nothing is done
end

for i = 1, #ARGV / 2 do
    local name, channel = ARGV[2 * i - 1], ARGV[2 * i]
    local row, waiting, uncertain = KEYS[3 * i - 1], KEYS[3 * i], KEYS[3 * i + 1]
    local state = redis.pcall('HGET', row, 'state')
    if state == 'uncertain' and not stands_in(uncertain, name) then
        redis.call('ZADD', uncertain, now, name)
        redis.call('ZADD', agenda, 'NX', now, 'walk:' .. channel)
        placed = placed + 1
    elseif (state == 'claimed' or (state == 'approved' and not stands_in(waiting, name)))
            and not stands_in(agenda, 'delivery:' .. name) then
        redis.call('ZADD', agenda, now, 'delivery:' .. name)
        placed = placed + 1
    end
end
return placed

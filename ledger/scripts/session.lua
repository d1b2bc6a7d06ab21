-- SPDX-License-Identifier: MIT
-- with: nothing
-- flags: allow-oom
-- session: the session that the fleet has with an account, and who renews it.
--
-- KEYS  session:<channel>, a hash: sealed (opaque here), rev (counts its changes), begun (the mark of whoever began a refresh
--       with it of which nobody has said how it ended), not_before and failures (of logins)
--       login:<channel>, a string with an end: the token of whoever logs in or refreshes now
-- ARGV  op token argument..
--   look
--   lock ttl_ms                         answered `busy` while somebody else has it
--   begin mark                          a refresh goes out now; `lost` if the lock is not ours any more
--   store rev sealed                    in place of the one with this rev, else `stale`; the lock is given back
--   fail until_ms failures spent        no login before; `spent` 1: nobody knows how the refresh ended; gives the lock back
--   release
-- Reply  now_ms answer rev sealed begun not_before failures lock_left_ms
--
-- Invariant: a session is only ever replaced by somebody who has seen it. The lock saves logins; it is not what keeps two
-- of them apart.

local session, login = KEYS[1], KEYS[2]
local op, token = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function text(number) return string.format('%.0f', number) end

local function release()
    if redis.call('GET', login) == token then redis.call('DEL', login) end
end

-- What no store has written counts as none: else whoever holds a new session would find it outdated for ever.
local function revision()
    local rev = redis.call('HGET', session, 'rev') or ''
    return rev:find('^[1-9]%d*$') and #rev <= 15 and rev or '0'
end

-- Who has the lock, but for us. One without an end is nobody's: each of ours has one.
local function holder()
    local name = redis.call('GET', login)
    return name and name ~= token and redis.call('PTTL', login) > -1
end

local ops = {}

function ops.look() return 'ok' end

function ops.lock()
    if holder() then return 'busy' end
    redis.call('SET', login, token, 'PX', ARGV[3])
    return 'ok'
end

function ops.begin()
    if redis.call('GET', login) ~= token then return 'lost' end
    redis.call('HSET', session, 'begun', ARGV[3])
    return 'ok'
end

function ops.store()
    if revision() ~= ARGV[3] then
        release()
        return 'stale'
    end
    redis.call('HDEL', session, 'begun', 'not_before', 'failures')
    redis.call('HSET', session, 'rev', text(tonumber(ARGV[3]) + 1), 'sealed', ARGV[4])
    release()
    return 'ok'
end

function ops.fail()
    if redis.call('GET', login) ~= token then return 'lost' end
    redis.call('HSET', session, 'not_before', ARGV[3], 'failures', ARGV[4])
    if ARGV[5] ~= '1' then redis.call('HDEL', session, 'begun') end
    release()
    return 'ok'
end

function ops.release()
    release()
    return 'ok'
end

if not ops[op] then return {err = 'ERR no such op'} end
local answer = ops[op]()
local known = redis.call('HMGET', session, 'sealed', 'begun', 'not_before', 'failures')
local left = holder() and math.max(redis.call('PTTL', login), 1) or 0
return {text(now), answer, revision(), known[1] or '', known[2] or '', known[3] or '0', known[4] or '0', text(left)}

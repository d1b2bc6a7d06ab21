-- SPDX-License-Identifier: MIT
-- with: nothing
-- leave: a consumer goes out of its group, if and only if nothing is pending for it: deleting a consumer deletes its
-- pending entries for good, and between a check and a deletion it could have read one more. What is pending it has read and
-- never claimed; that is made to look old, so that the next consumer that looks takes it over at once.
--
-- KEYS[1] stream. ARGV: group, consumer. Reply: 1 gone (or never there), 0 it has pending entries and stays.

local AGE_MS, AT_ONCE = 86400000, 1000

local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', AT_ONCE, ARGV[2])
if pending.err then return 1 end
if #pending > 0 then
    for _, entry in ipairs(pending) do
        redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, entry[1], 'IDLE', AGE_MS, 'JUSTID')
    end
    return 0
end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1

-- SPDX-License-Identifier: MIT
-- with: nothing
-- tidy: consumers of workers that were killed never leave by themselves, and every start has a new name. Those that were
-- idle for so long, and for which nothing is pending, go; deleting one with pending entries would lose these for good, so both
-- are looked at and done in one step. Before 7.2 Redis calls a reader idle that waits and gets nothing: it goes, too, and is a
-- consumer again with the next entry.
--
-- KEYS[1] stream. ARGV: group, idle ms. Reply: how many went, AT_ONCE at most.

local AT_ONCE = 1000

local consumers, gone = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1]), 0
if consumers.err then return 0 end
for _, flat in ipairs(consumers) do
    local one = {}
    for i = 1, #flat, 2 do one[flat[i]] = flat[i + 1] end
    if one.pending == 0 and one.idle >= tonumber(ARGV[2]) and gone < AT_ONCE then
        redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], one.name)
        gone = gone + 1
    end
end
return gone

-- SPDX-License-Identifier: MIT
-- flags: allow-oom
-- archive: settled rows that stand in a file by now leave the ledger.
--
-- Own arguments  user host why note (empty: this call leaves no trace in the audit stream, an earlier one of the run did)
-- Block          rev: of the row that stands in the file
-- Answers        ok · gone (there is no such row) · changed state (not that row any more, not settled, or leased)
--
-- Invariant: a row goes only as it was written down, together with its long values and its count. Who owns an external id
-- stays known (posts): no other delivery may adopt it.

local refusal = check_keys({'agenda', 'counts', 'channels', 'audit'})
if refusal then return refusal end
local user, host, why, note = next_arg(), next_arg(), next_arg(), next_arg()
if note ~= '' then
    redis.call('XADD', global.audit, 'MAXLEN', '~', text(KEEP_AUDIT), '*', 'delivery', '', 'act', 'archive', 'user', user,
        'host', host, 'why', why, 'from', note, 'to', '')
end

return each_delivery(next_number, function(d, rev)
    if d.state == 'none' then return {'gone'} end
    local settled = d.state == 'published' or d.state == 'rejected'
    if not settled or d.rev ~= rev or lease_of(d) then return {'changed', d.state} end
    redis.call('HLEN', d.request) -- of another type, it is not ours to delete
    redis.call('DEL', d.row, d.request)
    count(d.ch, d.state, -1)
    return {'ok'}
end)

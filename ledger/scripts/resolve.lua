-- SPDX-License-Identifier: MIT
-- flags: allow-oom
-- with: decision.lua epoch.lua
-- resolve: what the reconciler found goes into the row.
--
-- Own arguments  run_id environment longest_window
-- Block          decision (decision.lua), then searched_from searched_attempt lag_ms
--                searched_from 0: the decision rests on no absence
-- Answers        as settle, and early until | environment theirs
--
-- Invariant: an absence counts only if the search began after the last moment at which the row's newest attempt could
-- commit and become visible, and after what a restart of this Redis may have made it forget. Both are looked at here,
-- where they cannot change meanwhile.

local HANDED_BACK = '1' -- a turn that has passed: the claim gives it one

local refusal = check_keys({'agenda', 'journal', 'outcomes', 'counts', 'channels', 'epoch'})
if refusal then return refusal end
local run_id, environment, longest_window = next_arg(), next_arg(), next_number()
local foreign = enter_epoch(run_id, environment, longest_window, true)

local function read_resolve()
    local block = next_decision()
    block.searched_from, block.searched_attempt, block.lag = next_number(), next_number(), next_number()
    return block
end

return each_delivery(read_resolve, function(d, block)
    if foreign then return foreign end
    if block.said.cleared_at and block.searched_from <= 0 then
        return {'error', 'decision: a doubt is cleared by a search only'}
    end
    if block.searched_from > 0 then
        if block.searched_attempt ~= number(d, 'attempt') then return stale(d) end
        local settled = math.max(number(d, 'commit_by') + block.lag, epoch.no_absence_before)
        if block.searched_from < settled then return {'early', text(settled)} end
    end
    if block.state == 'approved' and d.state == 'uncertain' then add(block.set, 'turn', HANDED_BACK) end
    return apply_decision(d, block)
end)

-- SPDX-License-Identifier: MIT
-- flags: allow-oom
-- with: decision.lua
-- operate: what a person decided goes into the row, and who it was into the audit stream.
--
-- Own arguments  act user host why
-- Block          decision (decision.lua)
-- Answers        as settle
--
-- Invariant: what is applied is audited, in the same step; what is not applied leaves no trace.

local refusal = check_keys({'agenda', 'journal', 'outcomes', 'counts', 'channels', 'audit'})
if refusal then return refusal end
local act, user, host, why = next_arg(), next_arg(), next_arg(), next_arg()

return each_delivery(next_decision, function(d, block)
    local from = d.state
    local answer = apply_decision(d, block)
    if answer[1] == 'ok' then
        redis.call('XADD', global.audit, 'MAXLEN', '~', text(KEEP_AUDIT), '*', 'delivery', d.name, 'act', act,
            'user', user, 'host', host, 'why', why, 'from', from, 'to', d.state)
    end
    return answer
end)

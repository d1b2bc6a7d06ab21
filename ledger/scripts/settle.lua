-- SPDX-License-Identifier: MIT
-- flags: allow-oom
-- with: decision.lua
-- settle: what a worker knows of an attempt goes into the row.
--
-- Block    decision (decision.lua)
-- Answers  ok rev | stale field value ... | foreign delivery | no_content | error words
--
-- Invariant: a decision is applied to the row that it was made for, or not at all; then the answer has the row, and the
-- worker decides again. It frees more memory than it takes, so a full server does not stop it.

local refusal = check_keys({'agenda', 'journal', 'outcomes', 'counts', 'channels'})
if refusal then return refusal end

return each_delivery(next_decision, apply_decision, load_as_claimed)

-- SPDX-License-Identifier: MIT
-- decision: what settle, resolve and operate apply. The program has decided; the row must still be the one that it
-- decided about. No script of its own: stands between row.lua and those three.

local function next_map()
    local map = {}
    for _ = 1, next_number() do
        local name = next_arg()
        map[name] = next_arg()
    end
    return map
end

-- expect_state expect_attempt expect_rev expect_since, state reason place due, token, commit_cap, n field value.., m long value..
local function next_decision()
    local expect_state, expect_attempt, expect_rev, expect_since, state, reason, place, due, token, commit_cap = next_args(10)
    return {expect_state = expect_state, expect_attempt = number_of(expect_attempt) or 0,
        expect_rev = number_of(expect_rev) or 0, expect_since = number_of(expect_since) or 0, state = state, reason = reason,
        place = place, due = number_of(due) or 0, token = token, commit_cap = number_of(commit_cap) or 0, set = next_map(),
        long = next_map()}
end

-- The row as it is, for a program that knew another one.
local function stale(d)
    local answer = {'stale'}
    local flat = d.state ~= 'none' and redis.call('HGETALL', d.row) or {}
    for _, part in ipairs(flat) do answer[#answer + 1] = part end
    for name, value in pairs(long_values(d)) do answer[#answer + 1] = name; answer[#answer + 1] = value end
    return answer
end

-- A row that was rejected long ago, or that is made from a report alone, has nothing left that could be sent.
local function lacks_content(d, block)
    if block.state ~= 'approved' or (d.state ~= 'rejected' and d.state ~= 'none') then return false end
    return (block.long.content or '') == '' and redis.call('HEXISTS', d.request, 'content') == 0
end

-- Why the decision cannot be applied, as an answer; nil if it can.
local function refuse_decision(d, block)
    -- A ledger that was set back counts attempts and revisions anew: only the time tells such a row from the one before.
    local same = d.state == block.expect_state and d.n.attempt == block.expect_attempt and d.n.rev == block.expect_rev
    if not same or d.n.since ~= block.expect_since then return stale(d) end
    if not STATES[block.state] or (block.state == 'claimed' and d.state ~= 'claimed') then
        return {'error', 'decision: "' .. string.sub(block.state, 1, 40) .. '" is no state that a decision can set'}
    end
    local id = block.set.ext_id or ''
    local owner = id ~= '' and redis.call('HGET', d.ch.posts, id)
    if owner and owner ~= d.name then return {'foreign', owner} end
    return lacks_content(d, block) and {'no_content'} or nil
end

-- From claimed, the attempt's own report brings the last moment at which it can commit forward; any other report is of an
-- attempt that may commit later than what the row knows.
local function cap_commit(d, block)
    if block.commit_cap <= 0 then return end
    local cap, known = now + block.commit_cap, d.n.commit_by
    local least = d.state == 'claimed' and known > 0
    block.set.commit_by = text(least and math.min(known, cap) or math.max(known, cap))
end

local function apply_decision(d, block)
    local refusal = refuse_decision(d, block)
    if refusal then return refusal end
    cap_commit(d, block)
    if block.set.cleared_at == 'now' then block.set.cleared_at = text(now) end
    local is_holder = block.token ~= '' and lease_token(d) == block.token
    set_row(d, block)
    if is_holder then delete(d.lease_key) end
    return {'ok', text(d.n.rev)}
end

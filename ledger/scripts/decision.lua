-- SPDX-License-Identifier: MIT
-- decision: what settle, resolve and operate apply. The program has decided; the row must still be the one that it
-- decided about. No script of its own: stands between row.lua and those three.

-- expect_state expect_attempt expect_rev expect_since, state reason place due, token, commit_cap, n field value.., m long value..
local function next_decision()
    local at = position
    local last = at + 11 + 2 * (number_of(ARGV[at + 11]) or 0)
    local long_count = number_of(ARGV[last + 1]) or 0
    position = last + 1 + 2 * long_count
    local set = {unpack(ARGV, at + 12, last)}
    return {expect_state = ARGV[at + 1], expect_attempt = ARGV[at + 2], expect_rev = ARGV[at + 3], expect_since = ARGV[at + 4],
        state = ARGV[at + 5], reason = ARGV[at + 6], place = ARGV[at + 7], due = number_of(ARGV[at + 8]) or 0,
        token = ARGV[at + 9], commit_cap = number_of(ARGV[at + 10]) or 0, set = set, said = pairs_of(set),
        long = long_count > 0 and pairs_of({unpack(ARGV, last + 2, position)}) or nil}
end

-- Nothing but values that a row of this state keeps, as they are.
local function is_plain(block)
    local set, is_dropped = block.set, IS_DROPPED[block.state] or NONE
    for i = 1, #set, 2 do
        local value = set[i + 1]
        if value == '' or #value > 64 or is_dropped[set[i]] then return false end
    end
    return not block.long and block.commit_cap <= 0
end

-- The common end: what a claim made a row for is published, and nothing happened in between. Of such a row less is asked for and
-- less written (is_as_claimed): nothing stands in request: but content and frozen, and in the row what the claim put there. True
-- where it is one; else nothing is known.
local function load_as_claimed(d, block)
    local ch = d.ch
    if block.state ~= 'published' or block.expect_rev ~= '1' or not ch or not is_plain(block) then return false end
    load_channel(ch)
    if ch.bad or ch.ramp > 0 then return false end
    local known = redis.pcall('HMGET', d.row, 'state', 'rev', 'attempt', 'since', 'token', 'body_hash')
    local same = known[1] == block.expect_state and known[2] == '1' and known[3] == block.expect_attempt
        and known[4] == block.expect_since and known[5] == block.token and known[6]
    if not same or known[1] ~= 'claimed' or redis.pcall('HLEN', d.request) ~= 2 then return false end
    d.state, d.rev, d.long, d.fields = 'claimed', 1, NONE, {attempt = known[3], since = known[4]}
    d.is_as_claimed, block.as_is = true, true
    return true
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
    return (not block.long or (block.long.content or '') == '') and redis.call('HEXISTS', d.request, 'content') == 0
end

-- Is it the row that the decision was made for? A ledger that was set back counts attempts and revisions anew: only the time
-- tells such a row from the one before.
local function is_expected(d, block)
    local same = d.state == block.expect_state and number(d, 'attempt') == (number_of(block.expect_attempt) or 0)
    return same and d.rev == (number_of(block.expect_rev) or 0) and number(d, 'since') == (number_of(block.expect_since) or 0)
end

-- Why the decision cannot be applied, as an answer; nil if it can.
local function refuse_decision(d, block)
    if not d.is_as_claimed and not is_expected(d, block) then return stale(d) end
    if not STATES[block.state] or (block.state == 'claimed' and d.state ~= 'claimed') then
        return {'error', 'decision: "' .. string.sub(block.state, 1, 40) .. '" is no state that a decision can set'}
    end
    local id = block.said.ext_id or ''
    local owner = id ~= '' and redis.call('HGET', d.ch.posts, id)
    if owner and owner ~= d.name then return {'foreign', owner} end
    return lacks_content(d, block) and {'no_content'} or nil
end

-- From claimed, the attempt's own report brings the last moment at which it can commit forward; any other report is of an
-- attempt that may commit later than what the row knows.
local function cap_commit(d, block)
    if block.commit_cap <= 0 then return end
    local cap, known = now + block.commit_cap, number(d, 'commit_by')
    local least = d.state == 'claimed' and known > 0
    add(block.set, 'commit_by', text(least and math.min(known, cap) or math.max(known, cap)))
end

local function replace(list, name, value)
    for i = 1, #list, 2 do
        if list[i] == name then list[i + 1] = value end
    end
end

local function apply_decision(d, block)
    local refusal = refuse_decision(d, block)
    if refusal then return refusal end
    cap_commit(d, block)
    if block.said.cleared_at == 'now' then replace(block.set, 'cleared_at', now_text) end
    local is_holder = block.token ~= '' and lease_token(d) == block.token
    set_row(d, block)
    if is_holder then delete(d.lease_key) end
    return {'ok', text(d.rev)}
end

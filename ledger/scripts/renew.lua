-- SPDX-License-Identifier: MIT
-- renew: prolongs a lease while prepare steps run; never once the write request has started.
--
-- Block    token lease_ms late_commit_ms margin_ms window_ms
-- Answers  ok until rev commit_by | lost holder | error words
--
-- Invariant: only the attempt that the row and the lease both name is prolonged, and commit_by moves with it. In doubt,
-- the lease is not prolonged past what the platform's key window allows: "ok" then names the end that it has.

local refusal = check_keys({'agenda', 'counts'})
if refusal then return refusal end

local function read_renew()
    return {token = next_arg(), lease_ms = next_number(), late_commit = next_number(), margin = next_number(),
        window = next_number()}
end

local function may_prolong(d, r)
    if d.in_doubt == '' or r.window == -1 then return true end
    return r.window > 0 and now + r.lease_ms + r.late_commit + r.margin <= number(d, 'first_send') + r.window
end

local function ok(d, lease_end, commit_by)
    return {'ok', text(lease_end), text(d.rev), commit_by}
end

return each_delivery(read_renew, function(d, r)
    if d.state ~= 'claimed' or d.fields.token ~= r.token or lease_token(d) ~= r.token then
        return {'lost', lease_holder(d)}
    end
    if r.lease_ms <= 0 then return {'error', 'arguments: a lease must have an end'} end
    if not may_prolong(d, r) then
        return ok(d, now + math.max(redis.call('PTTL', d.lease_key), 0), d.fields.commit_by or '0')
    end
    local lease_end = now + r.lease_ms
    local commit_by = text(math.max(number(d, 'commit_by'), lease_end + r.late_commit))
    redis.call('PEXPIRE', d.lease_key, text(r.lease_ms))
    set_row(d, {state = 'claimed', reason = d.fields.reason, place = 'agenda', lease_end = lease_end,
        set = {'commit_by', commit_by}})
    return ok(d, lease_end, commit_by)
end)

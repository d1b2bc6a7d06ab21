-- SPDX-License-Identifier: MIT
-- with: epoch.lua
-- claim: the one step after which a write request may be sent.
--
-- Own arguments  run_id worker expires_at environment longest_window, and the policy of each channel: harmless window_ms
--                lease_ms late_commit_ms margin_ms max_attempts max_age_ms spacing_ms burst turn_ms
-- Block          entry token content_hash approved_at key body_hash frozen n, then n times name value: what is neither 0 nor empty
--                of gen not_before not_after dated after after_id content hold_back
--                after, after_id: the delivery that must come first, and the id of it that the request was rendered with
--                hold_back: empty, "channel_full" or "unknown_channel"
-- Answers        granted attempt commit_by lease_end doubt rev tries since [key body_hash frozen prepared after_id after_url]
--                in doubt: send these bytes, no others
--                already state since | conflict state since their_hash | busy holder until | wait reason due
--                uncertain reason | held reason | rerender approved_at gen [after_id after_url] | late | no_content
--                environment theirs | error words
--                All but the last five acknowledge and delete the entry.
--
-- Invariant: "granted" is answered only together with the row that says so, or again for the token that the row was
-- claimed with. A row in doubt is granted only while an identical replay is allowed at this moment, or once where an
-- operator let it through. Whatever else is answered leaves the delivery on the agenda, in its channel's waiting list, in
-- the journal, held or settled.

local SCHEDULE = {'approved_at', 'not_before', 'not_after', 'dated'}
local TEXTS = {after = true, after_id = true, content = true, hold_back = true}
local LATER_FIELDS = {'gen', 'not_before', 'not_after', 'dated'}
local PREDECESSOR_WAIT_MS, PREDECESSOR_SOON_MS = 10000, 1000
local BUSY_WAIT_MS = 60000
local AT_ONCE = 16 -- entries of the stream
local TURN_SLACK_MS = 5000 -- who comes so late for its turn still has it: a round and a busy machine take their time

local refusal = check_keys({'agenda', 'journal', 'outcomes', 'counts', 'channels', 'queue', 'epoch'})
if refusal then return refusal end
local run_id, worker, expires_at = next_arg(), next_arg(), next_number()
local environment, longest_window = next_arg(), next_number()
local late = now > expires_at
local foreign = enter_epoch(run_id, environment, longest_window, not late)

for _, ch in ipairs(channels) do
    local harmless, window, lease_ms, late_commit, margin, max_attempts, max_age, spacing, burst, turn_ms = next_args(10)
    ch.claims = {__index = {harmless = harmless == '1', window = number_of(window) or 0, lease_ms = number_of(lease_ms) or 0,
        late_commit = number_of(late_commit) or 0, margin = number_of(margin) or 0, max_attempts = number_of(max_attempts) or 0,
        max_age = number_of(max_age) or 0, spacing = number_of(spacing) or 0, burst = math.max(number_of(burst) or 0, 1),
        turn_ms = number_of(turn_ms) or 0, gen = 0, not_before = 0, not_after = 0, dated = 0, after = '', after_id = '',
        content = '', hold_back = ''}}
end

-- A claim has its channel's policy, too. What is said by name is the exception; a claim for which nothing is said so is plain.
local function read_claim(d)
    local at = position
    local said = number_of(ARGV[at + 8]) or 0
    local approved_at = ARGV[at + 4]
    local c = setmetatable({entry = ARGV[at + 1], token = ARGV[at + 2], content_hash = ARGV[at + 3],
        approved_at = number_of(approved_at) or 0, key = ARGV[at + 5], body_hash = ARGV[at + 6], frozen = ARGV[at + 7],
        is_plain = said == 0}, d.ch and d.ch.claims)
    position = at + 8 + 2 * said
    for i = at + 9, position, 2 do c[ARGV[i]] = TEXTS[ARGV[i]] and ARGV[i + 1] or number_of(ARGV[i + 1]) or 0 end
    if c.after ~= '' and said > 0 then d.after_row, d.after_request = next_key(), next_key() end
    return c
end

-- Whether Redis has nothing at all of the deliveries of this call, neither row nor request nor lease: then none of them need be
-- asked for. A second claim of a delivery asks for what the first one made.
local is_all_new, seen = KEYS[key_position + 1] and redis.call('EXISTS', unpack(KEYS, key_position + 1)) == 0, {}

local function load_new(d)
    if not is_all_new or seen[d.row] or not d.ch then return false end
    seen[d.row] = true
    load_channel(d.ch)
    d.is_unheard_of = not d.ch.bad
    return d.is_unheard_of
end

-- ---- what every answer has in common

-- Sets a state, and the fields whose names and values are given. The answer to a claim also ends the count of takes without
-- one. A row that this claim makes says what it was made for.
local function change(d, c, to, ...)
    local is_new, fields = d.state == 'none', d.fields
    to.set = {'content', fields.content or c.content_hash,
        'approved_at', is_new and c.approved_at ~= 0 and text(c.approved_at) or fields.approved_at or '', ...}
    if number(d, 'taken') ~= 0 then add(to.set, 'taken', '') end
    for i = 1, is_new and not c.is_plain and #LATER_FIELDS or 0 do
        local name = LATER_FIELDS[i]
        if c[name] ~= 0 then add(to.set, name, text(c[name])) end
    end
    if c.keep_content then
        to.long = to.long or {}
        to.long.content = c.keep_content
    end
    set_row(d, to)
    acknowledge(c.entry)
end

local function wait(d, c, reason, place, due, tell, ...)
    change(d, c, {state = 'approved', reason = reason, place = place, due = due}, ...)
    return {'wait', reason, text(tell or due)}
end

-- In the waiting list a delivery keeps the place that its age gives it, however often it comes back.
local function wait_for_channel(d, c, reason, tell)
    return wait(d, c, reason, 'waiting', math.min(now, math.max(c.approved_at, c.not_before, 1)), tell)
end

local function uncertain(d, c, reason, ...)
    change(d, c, {state = 'uncertain', reason = reason, place = 'walk', due = now}, ...)
    return {'uncertain', reason}
end

-- An operator's word is for one claim. What was said before the ledger was set back may have been used since.
local function waived(d)
    return d.fields.waived == '1' and number(d, 'since') >= epoch.rewound_at
end

-- What was approved before the ledger was set back may have been sent by an attempt that it has forgotten.
local function may_be_forgotten(d, c)
    return not c.harmless and c.approved_at < epoch.rewound_at and number(d, 'cleared_at') < epoch.rewound_at
end

local function doubt_forgotten(d, c)
    return uncertain(d, c, 'ledger_rewound', 'in_doubt', doubt_with(d.in_doubt, 'rewound'), 'key', find_field(d, 'key') or c.key,
        'waived', '')
end

-- Somebody must still look for a delivery in doubt; one that is not can be held.
local function hold(d, c, reason, reason_in_doubt)
    if d.in_doubt ~= '' then return uncertain(d, c, reason_in_doubt) end
    if may_be_forgotten(d, c) and not waived(d) then return doubt_forgotten(d, c) end
    change(d, c, {state = 'held', reason = reason, place = '-'})
    return {'held', reason}
end

-- What the delivery that must come first is known by on the platform.
local function predecessor_field(d, name)
    if not d.after_row then return '' end
    for _, key in ipairs({d.after_row, d.after_request}) do
        local value = redis.pcall('HGET', key, name)
        if type(value) == 'string' then return value end
    end
    return ''
end

-- ---- the conditions, in their order; each answers, or returns nil and the next one is asked

local function granted(d, claim, lease_end, since, frozen)
    local answer = {'granted', claim.attempt, claim.commit_by, lease_end, claim.in_doubt, text(d.rev), claim.tries, since}
    if frozen then
        answer[9], answer[10], answer[11] = find_field(d, 'key') or '', d.fields.body_hash or '', frozen
        answer[12] = redis.call('HGET', d.request, 'prepared') or ''
        answer[13], answer[14] = predecessor_field(d, 'ext_id'), predecessor_field(d, 'url')
    end
    return answer
end

local function check_repeat(d, c)
    if d.state == 'none' or d.fields.token ~= c.token then return nil end
    acknowledge(c.entry)
    if d.state ~= 'claimed' then return {'already', d.state, text(number(d, 'since'))} end
    local claim = {attempt = text(number(d, 'attempt')), commit_by = text(number(d, 'commit_by')),
        tries = text(number(d, 'tries')), in_doubt = d.in_doubt}
    return granted(d, claim, text(number(d, 'commit_by') - c.late_commit), d.fields.since or '0',
        d.in_doubt ~= '' and redis.call('HGET', d.request, 'frozen') or nil)
end

local function check_late()
    return late and {'late'} or nil
end

local function check_state(d, c)
    if d.state == 'none' then return nil end
    local conflict = (d.fields.content or c.content_hash) ~= c.content_hash
    if not conflict and d.state == 'approved' then return nil end
    acknowledge(c.entry)
    if conflict then return {'conflict', d.state, text(number(d, 'since')), d.fields.content} end
    if d.state ~= 'claimed' then return {'already', d.state, text(number(d, 'since'))} end
    local left = lease_of(d) and redis.call('PTTL', d.lease_key) or 0
    return {'busy', lease_holder(d), text(now + math.max(left, 0))}
end

-- Items of the stream, by entry. Those of a call stand one after the other in most cases, so some are read at a time; what came
-- between them is somebody else's and is not read too much of.
local items = {}

local function read_items(from, to, number)
    local found = redis.pcall('XRANGE', global.queue, from, to, 'COUNT', number)
    for i = 1, found.err and 0 or #found do
        local entry, fields = found[i][1], found[i][2]
        items[entry] = fields[3] == 'item' and fields[4] or pairs_of(fields).item
    end
end

local function item_of(entry)
    if not items[entry] then read_items(entry, '+', AT_ONCE) end
    return items[entry]
end

-- The content must outlive the stream entry. It is copied inside Redis, so it crosses the wire once.
local function check_content(d, c)
    c.frozen_before = d.in_doubt ~= '' and redis.call('HGET', d.request, 'frozen') or nil
    if c.frozen_before or not d.is_unheard_of and redis.call('HEXISTS', d.request, 'content') == 1 then return nil end
    c.keep_content = c.content ~= '' and c.content or (c.entry ~= '' and item_of(c.entry)) or nil
    return not c.keep_content and {'no_content'} or nil
end

local function check_known(d, c)
    if c.hold_back ~= 'unknown_channel' then return nil end
    return wait_for_channel(d, c, 'unknown_channel', now + BUSY_WAIT_MS)
end

-- Rendered for another time of approval or key generation than the row's. A frozen request of the row is not rendered.
local function check_rendering(d, c)
    if d.state == 'none' or c.frozen_before then return nil end
    local approved_at, gen = number(d, 'approved_at'), number(d, 'gen')
    if approved_at == c.approved_at and gen == c.gen then return nil end
    return {'rerender', text(approved_at), text(gen)}
end

-- From here on the row's own schedule counts, where there is a row.
local function check_age(d, c)
    if d.state ~= 'none' then
        for _, name in ipairs(SCHEDULE) do c[name] = number(d, name) end
    end
    if c.not_after > 0 and now > c.not_after then return hold(d, c, 'expired', 'expired_in_doubt') end
    if c.max_age > 0 and c.dated > 0 and now - c.dated > c.max_age then
        return hold(d, c, 'backfill', 'expired_in_doubt')
    end
    return nil
end

local function check_budget(d, c)
    if number(d, 'tries') < c.max_attempts or d.fields.waived == '1' then return nil end
    return hold(d, c, 'spent', 'spent_in_doubt')
end

-- Would the newest possible commit of an attempt that starts now still be inside a window that began then?
local function window_holds(c, began)
    if c.window == -1 then return true end
    return c.window > 0 and began > 0 and now + c.lease_ms + c.late_commit + c.margin <= began + c.window
end

-- An attempt that was forgotten may still be executing: the same request goes out again only after it can have committed.
local function check_epoch(d, c)
    if c.harmless then return nil end
    if now < epoch.doubt_until then return wait(d, c, 'ledger_rewound', 'agenda', epoch.doubt_until) end
    if not may_be_forgotten(d, c) then return nil end
    local is_doubted = doubt_with(d.in_doubt, 'rewound') == d.in_doubt
    if not window_holds(c, c.approved_at) and not waived(d) and not is_doubted then return doubt_forgotten(d, c) end
    local forgotten_commit_by = epoch.rewound_at + c.lease_ms + c.late_commit
    if now < forgotten_commit_by then return wait(d, c, 'ledger_rewound', 'agenda', forgotten_commit_by) end
    return nil
end

local function replay_allowed(d, c)
    if not window_holds(c, number(d, 'first_send')) then return false end
    if c.window > 0 and now < epoch.leap_until then return false end
    return not find_field(d, 'ext_id')
end

-- In doubt, and repeats do harm: an identical replay, or an operator's word, after the last attempt can have committed.
local function check_doubt(d, c)
    if c.harmless or d.in_doubt == '' then return nil end
    local replay = replay_allowed(d, c)
    if not replay and not waived(d) then return uncertain(d, c, 'window_closed', 'waived', '') end
    local commit_by = number(d, 'commit_by')
    local due = replay and commit_by or math.max(commit_by, epoch.no_absence_before)
    if now < due then return wait(d, c, d.fields.reason, 'agenda', due) end
    return nil
end

local function check_schedule(d, c)
    if c.not_before <= now then return nil end
    return wait(d, c, 'scheduled', 'agenda', c.not_before)
end

local function waits_itself(d)
    return d.state == 'approved' and redis.call('ZSCORE', d.ch.waiting, d.name) and 1 or 0
end

local function check_channel(d, c)
    local ch = d.ch
    if ch.paused then return wait_for_channel(d, c, 'paused', 0) end
    if now < ch.blocked_until then return wait_for_channel(d, c, 'blocked', ch.blocked_until) end
    if ch.ramp > 0 and ch.claimed_count >= ch.ramp then return wait_for_channel(d, c, 'ramp', now + FULL_WAIT_MS) end
    if c.entry ~= '' and ch.waiting_count > waits_itself(d) then
        return wait_for_channel(d, c, 'queued', math.max(now, ch.next_at))
    end
    if c.spacing > 0 and now < ch.next_at then return wait_for_channel(d, c, 'paced', ch.next_at) end
    if c.hold_back ~= '' then return wait_for_channel(d, c, 'channel_full', now + FULL_WAIT_MS) end
    return nil
end

-- What was handed back after doubt (`turn` is set) goes out one by one: an outage may have handed back hundreds, and their
-- readers are people. Each gets a turn when it would be sent; who misses it, for there was no worker, gets another one.
local function check_turn(d, c)
    local turn, every = number(d, 'turn'), math.max(c.turn_ms, c.spacing)
    if turn == 0 or c.turn_ms <= 0 then return nil end
    if now < turn then return wait(d, c, d.fields.reason, 'agenda', turn) end
    if now < turn + math.max(every, TURN_SLACK_MS) then return nil end
    local free = math.max(now, d.ch.turn_at)
    d.ch.turn_at, d.ch.turn_at_changed = free + every, true
    if free <= now then return nil end
    return wait(d, c, d.fields.reason, 'agenda', free, nil, 'turn', text(free))
end

-- Soon after something is to happen to the one that must come first, where that is known: a worker has it, or it is due.
local function predecessor_due(d, c, state)
    local taken = state == 'approved' and redis.call('HEXISTS', d.after_row, 'taken') == 1
    if state == 'claimed' or taken then return now + PREDECESSOR_SOON_MS end
    local member = 'delivery:' .. c.after
    local score = state == 'approved' and (call.agenda[member] or redis.call('ZSCORE', global.agenda, member))
    local due = score and tonumber(score) or now + PREDECESSOR_WAIT_MS
    return math.max(now, math.min(due, now + PREDECESSOR_WAIT_MS - PREDECESSOR_SOON_MS)) + PREDECESSOR_SOON_MS
end

-- A frozen request was made when the one before it was published.
local function check_predecessor(d, c)
    if c.after == '' or c.frozen_before then return nil end
    local state = redis.pcall('HGET', d.after_row, 'state')
    if state == 'rejected' or state == 'held' then return hold(d, c, 'predecessor', 'not_sent_in_doubt') end
    if state ~= 'published' then return wait(d, c, 'predecessor', 'agenda', predecessor_due(d, c, state)) end
    local id = predecessor_field(d, 'ext_id')
    if id == c.after_id then return nil end
    return {'rerender', text(c.approved_at), text(c.gen), id, predecessor_field(d, 'url')}
end

-- A lease that no row speaks of: somebody's hand, or the rest of an attempt that was published meanwhile.
local function wait_for_lease(d, c)
    local left = lease_of(d) and redis.call('PTTL', d.lease_key) or 0
    local due = now + (left > 0 and left or BUSY_WAIT_MS)
    change(d, c, {state = 'approved', reason = d.fields.reason or 'new', place = 'agenda', due = due})
    return {'busy', lease_holder(d), text(due)}
end

-- next_at is the next free time: GCRA's theoretical arrival time less what a burst may be early.
local function pass_pace(ch, c)
    if c.spacing <= 0 then return end
    local slack = (c.burst - 1) * c.spacing
    ch.next_at = math.max(now, ch.next_at + slack) + c.spacing - slack
    ch.next_at_changed = true
end

-- A new row, of whose claim nothing more is said and nothing can have been forgotten: all that it will say is known.
local function is_first(d, c)
    return d.state == 'none' and c.is_plain and c.approved_at > 0 and c.approved_at >= epoch.rewound_at and c.key ~= ''
        and #c.key <= 64 and c.body_hash ~= ''
end

local function write_first(d, c, to)
    to.as_is, to.long = true, {content = c.keep_content, frozen = c.frozen}
    to.set = {'content', c.content_hash, 'approved_at', text(c.approved_at), 'attempt', to.attempt, 'tries', to.tries,
        'token', c.token, 'worker', worker, 'claimed_at', now_text, 'first_send', now_text, 'commit_by', to.commit_by,
        'key', c.key, 'body_hash', c.body_hash}
    set_row(d, to)
    acknowledge(c.entry)
end

local function write_later(d, c, to)
    local first_send, forgotten = d.fields.first_send, may_be_forgotten(d, c)
    if forgotten then to.in_doubt = doubt_with(to.in_doubt, 'rewound') end
    if number(d, 'first_send') == 0 then first_send = text(forgotten and c.approved_at > 0 and c.approved_at or now) end
    local key, body_hash, long = c.key, c.body_hash, {frozen = c.frozen, prepared = d.state ~= 'none' and '' or nil}
    if c.frozen_before then key, body_hash, long = find_field(d, 'key') or '', d.fields.body_hash or '', nil end
    to.long = long
    change(d, c, to, 'attempt', to.attempt, 'tries', to.tries, 'token', c.token, 'worker', worker, 'claimed_at', now_text,
        'commit_by', to.commit_by, 'first_send', first_send, 'in_doubt', to.in_doubt, 'key', key, 'body_hash', body_hash,
        'misses', '', 'missed_at', '', 'waived', '', 'turn', '')
end

local function grant(d, c)
    if c.lease_ms <= 0 then return {'error', 'arguments: a lease must have an end'} end
    local attempt, tries = text(number(d, 'attempt') + 1), text(number(d, 'tries') + 1)
    local lease, lease_end = worker .. ' ' .. attempt .. ' ' .. c.token, now + c.lease_ms
    if not redis.call('SET', d.lease_key, lease, 'NX', 'PX', text(c.lease_ms)) then return wait_for_lease(d, c) end
    pass_pace(d.ch, c)
    local to = {state = 'claimed', reason = 'sending', place = 'agenda', lease_end = lease_end, attempt = attempt,
        tries = tries, commit_by = text(lease_end + c.late_commit), in_doubt = d.in_doubt}
    if is_first(d, c) then write_first(d, c, to) else write_later(d, c, to) end
    return granted(d, to, text(lease_end), now_text, c.frozen_before)
end

local CHECKS = {check_repeat, check_late, check_state, check_content, check_known, check_rendering, check_age,
    check_budget, check_epoch, check_doubt, check_schedule, check_channel, check_predecessor, check_turn}
-- What a row that is new, and of whose claim nothing more is said, can fail.
local PLAIN_CHECKS = {check_late, check_content, check_budget, check_epoch, check_channel}

return each_delivery(read_claim, function(d, c)
    if foreign then return foreign end
    local checks = d.state == 'none' and c.is_plain and PLAIN_CHECKS or CHECKS
    for i = 1, #checks do
        local answer = checks[i](d, c)
        if answer then return answer end
    end
    return grant(d, c)
end, load_new)

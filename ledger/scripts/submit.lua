-- SPDX-License-Identifier: MIT
-- submit: a delivery begins to exist. Row and stream entry are written in one step; after that a lost stream loses
-- nothing, because the agenda brings the delivery too.
--
-- Own arguments  queue_max (0: any length)
-- Block          content_hash content hold not_before not_after dated
--                content: the item as it was given, which goes into the stream entry and into request:
-- Answers        new entry_id | same state since | conflict state since their_hash | full length | error words
--                entry_id is empty where nobody need read it now: held for an approval, or scheduled for later
--
-- Invariant: a name has one content for ever; the same again changes nothing.

local UNREAD_MS = 60000 -- core/delivery.c says the same: if nobody has read the entry by then, the agenda brings it

local refusal = check_keys({'agenda', 'journal', 'outcomes', 'counts', 'channels', 'queue', 'epoch'})
if refusal then return refusal end
local queue_max = next_number()

local function read_submit()
    return {content_hash = next_arg(), content = next_arg(), hold = next_arg() == '1', not_before = next_number(),
        not_after = next_number(), dated = next_number()}
end

local function born(s, approved_at)
    local set = {'content', s.content_hash, 'approved_at', approved_at}
    for _, name in ipairs({'not_before', 'not_after', 'dated'}) do
        if s[name] ~= 0 then add(set, name, text(s[name])) end
    end
    return set
end

return each_delivery(read_submit, function(d, s)
    if d.state ~= 'none' then
        local content = d.fields.content or s.content_hash -- cancelled before anybody had seen its content
        if content == s.content_hash then return {'same', d.state, text(number(d, 'since'))} end
        return {'conflict', d.state, text(number(d, 'since')), content}
    end
    local later = s.not_before > now
    local to = {state = 'approved', reason = later and 'scheduled' or 'new', place = 'agenda',
        due = later and s.not_before or now + UNREAD_MS, long = {content = s.content}}
    if s.hold then to.state, to.reason, to.place = 'held', 'approval', '-' end
    local entry, approved_at = '', text(now)
    if not s.hold and not later then
        local length = queue_max > 0 and redis.call('XLEN', global.queue) or -1
        if length >= queue_max and queue_max > 0 then return {'full', text(length)} end
        entry = redis.call('XADD', global.queue, '*', 'channel', d.ch.name, 'item', s.content)
        approved_at = string.match(entry, '^%d+')
    end
    to.set = born(s, approved_at)
    set_row(d, to)
    redis.call('HSETNX', global.epoch, 'born_at', text(now)) -- epoch.lua: how old the data is, before anybody claims
    return {'new', entry}
end)

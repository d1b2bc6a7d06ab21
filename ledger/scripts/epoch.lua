-- SPDX-License-Identifier: MIT
-- epoch: whose Redis this is, and whether it may have forgotten something. No script of its own: stands between row.lua
-- and those that look at it.

local epoch = {}

local function read_epoch()
    local fields = pairs_of(redis.call('HGETALL', global.epoch))
    epoch.environment, epoch.run_id = fields.environment, fields.run_id
    for _, name in ipairs({'server_ms', 'rewound_at', 'no_absence_before', 'doubt_until', 'leap_until'}) do
        epoch[name] = number_of(fields[name]) or 0
    end
end

-- Another run id than the fleet last saw: a restart, a failover or a restored backup, which may have lost what was
-- answered before. A clock that went back makes every window look longer than it is.
local function note_epoch(run_id, environment, longest_window)
    local set = {}
    local function put(name, value)
        epoch[name] = value
        set[#set + 1] = name
        set[#set + 1] = type(value) == 'number' and text(value) or value
    end
    if not epoch.environment then put('environment', environment) end
    if epoch.run_id and epoch.run_id ~= run_id then
        put('rewound_at', now)
        put('doubt_until', now + 10000)
        put('no_absence_before', math.max(epoch.no_absence_before, now + longest_window))
    end
    if now + 30000 < epoch.server_ms then
        put('leap_until', epoch.server_ms + longest_window)
        put('no_absence_before', math.max(epoch.no_absence_before, epoch.leap_until))
    end
    if epoch.run_id ~= run_id then put('run_id', run_id) end
    if math.abs(now - epoch.server_ms) >= 1000 then put('server_ms', now) end
    if #set > 0 then redis.call('HSET', global.epoch, unpack(set)) end
end

-- Reads the epoch; the answer for the whole call if this Redis belongs to another environment.
local function enter_epoch(run_id, environment, longest_window, may_write)
    read_epoch()
    if epoch.environment and epoch.environment ~= environment then return {'environment', epoch.environment} end
    if may_write and run_id ~= '' then note_epoch(run_id, environment, longest_window) end
    return nil
end

-- SPDX-License-Identifier: MIT
-- epoch: whose Redis this is, and whether it may have forgotten something. No script of its own: stands between row.lua
-- and those that look at it.

local epoch = {}

local function read_epoch()
    local fields = pairs_of(redis.call('HGETALL', global.epoch))
    epoch.environment, epoch.run_id = fields.environment, fields.run_id
    epoch.first_run_id = fields.first_run_id -- of the first heartbeat: claims may have been made there and never told here
    for _, name in ipairs({'server_ms', 'rewound_at', 'no_absence_before', 'doubt_until', 'leap_until', 'born_at'}) do
        epoch[name] = number_of(fields[name]) or 0
    end
end

-- When this server was started; INFO counts whole seconds.
local function server_started_at()
    local info = redis.pcall('INFO', 'server')
    local uptime_s = type(info) == 'string' and number_of(string.match(info, 'uptime_in_seconds:(%d+)'))
    return uptime_s and now - (uptime_s + 1) * 1000 or 0
end

-- A queue or a first submission that is older than the server, and no claim ever: data that outlived a restart without
-- saying whether somebody worked on it before. The time of that restart, or nil.
local function restart_without_epoch()
    local first = redis.pcall('XRANGE', global.queue, '-', '+', 'COUNT', 1)[1]
    local oldest = type(first) == 'table' and number_of(string.match(first[1], '^%d+'))
    if epoch.born_at > 0 then oldest = math.min(oldest or epoch.born_at, epoch.born_at) end
    local started_at = oldest and server_started_at()
    return started_at and oldest < started_at and started_at or nil
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
    local known = epoch.run_id or epoch.first_run_id
    if known and known ~= run_id then
        put('rewound_at', now)
        put('doubt_until', now + 10000)
        put('no_absence_before', math.max(epoch.no_absence_before, now + longest_window))
    end
    local restarted_at = not epoch.run_id and (not known or known == run_id) and restart_without_epoch()
    if restarted_at then
        put('rewound_at', restarted_at)
        put('no_absence_before', math.max(epoch.no_absence_before, restarted_at + longest_window))
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

/* SPDX-License-Identifier: MIT */
/*
 * The machine that the processes run on: clocks, randomness, the log, signals, crash points, the configuration.
 *
 * The linker puts these functions in place of those of runtime/ and platforms/ (--wrap); the rest of both is real.
 * Configuration and channels are read once, by the real code, and shared by all processes of all worlds: nothing writes
 * to them.
 */
#include <stdio.h>
#include <string.h>

#include "platforms/fleet.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/crash.h"
#include "runtime/log.h"
#include "runtime/random.h"
#include "runtime/signals.h"
#include "tests/sim/sim.h"

/* ---- clocks and randomness ---- */

int64_t __wrap_clock_boottime_ms(void);
int64_t __wrap_clock_boottime_ms(void)
{
    int64_t offset_us = sim.current != NULL ? sim.current->boot_offset_us : 0;
    return (sim.now_us - sim.began_us + offset_us) / SIM_MS;
}

int64_t __wrap_clock_wall_ms(void);
int64_t __wrap_clock_wall_ms(void)
{
    return sim.now_us / SIM_MS;
}

uint32_t __wrap_random_below(uint32_t bound);
uint32_t __wrap_random_below(uint32_t bound)
{
    return bound > 1 ? (uint32_t)(sim_random() % bound) : 0;
}

void __wrap_random_hex(char *out, size_t size);
void __wrap_random_hex(char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i + 1 < size; i++)
        out[i] = digits[sim_random() & 15];
    if (size > 0) out[size - 1] = '\0';
}

/* ---- the log: lines of the story ---- */

static void tell(const char *event, const struct log_field *fields)
{
    char line[800];
    size_t len = (size_t)snprintf(line, sizeof line, "%s", event);
    for (; fields->key != NULL && len < sizeof line; fields++) {
        if (fields->kind == LOG_FIELD_INTEGER)
            len += (size_t)snprintf(line + len, sizeof line - len, " %s=%lld", fields->key, (long long)fields->integer);
        else if (fields->text != NULL)
            len += (size_t)snprintf(line + len, sizeof line - len, " %s=\"%.120s\"", fields->key, fields->text);
    }
    sim_story_line("%s: %s", sim.current != NULL ? sim.current->name : "-", line);
}

void __wrap_log_fields(enum log_level level, const char *event, const struct log_field *fields);
void __wrap_log_fields(enum log_level level, const char *event, const struct log_field *fields)
{
    bool dead = sim.current != NULL && sim.current->dead;
    if (sim.story && !dead && level >= LOG_LEVEL_INFO) tell(event, fields);
}

void __wrap_log_fields_limited(enum log_level level, const char *event, const struct log_field *fields);
void __wrap_log_fields_limited(enum log_level level, const char *event, const struct log_field *fields)
{
    __wrap_log_fields(level, event, fields);
}

void __wrap_log_limited_flush(int64_t now_boot_ms);
void __wrap_log_limited_flush(int64_t now_boot_ms)
{
    (void)now_boot_ms;
}

void __wrap_log_configure(enum log_level level, enum log_format format);
void __wrap_log_configure(enum log_level level, enum log_format format)
{
    (void)level;
    (void)format;
}

/* ---- ends of processes ---- */

void __wrap_crash_point(const char *point);
void __wrap_crash_point(const char *point)
{
    (void)sim_action(point);
}

bool __wrap_crash_configure(const char *environment, const char *const *points, struct errbuf *err);
bool __wrap_crash_configure(const char *environment, const char *const *points, struct errbuf *err)
{
    (void)environment;
    (void)points;
    (void)err;
    return true;
}

int __wrap_signals_open(void);
int __wrap_signals_open(void)
{
    return -1;
}

void __wrap_signals_close(int fd);
void __wrap_signals_close(int fd)
{
    (void)fd;
}

enum signals_event __wrap_signals_read(int fd);
enum signals_event __wrap_signals_read(int fd)
{
    (void)fd;
    if (sim.current->signals == 0) return SIGNALS_NONE;
    sim.current->signals--;
    return SIGNALS_STOP;
}

void __wrap_secret_protect_process(void);
void __wrap_secret_protect_process(void)
{
}

/* ---- the configuration ---- */

static struct config *config;
static struct fleet fleet;

bool __real_config_load(const char *path, struct config **out, struct errbuf *err);
bool __wrap_config_load(const char *path, struct config **out, struct errbuf *err);
bool __wrap_config_load(const char *path, struct config **out, struct errbuf *err)
{
    (void)path;
    (void)err;
    *out = config;
    return true;
}

void __real_config_free(struct config **own_config);
void __wrap_config_free(struct config **own_config);
void __wrap_config_free(struct config **own_config)
{
    *own_config = NULL;
}

bool __real_fleet_load(const struct config *from, struct fleet *out, struct errbuf *err);
bool __wrap_fleet_load(const struct config *from, struct fleet *out, struct errbuf *err);
bool __wrap_fleet_load(const struct config *from, struct fleet *out, struct errbuf *err)
{
    (void)from;
    (void)err;
    *out = fleet;
    return true;
}

void __real_fleet_fini(struct fleet *own_fleet);
void __wrap_fleet_fini(struct fleet *own_fleet);
void __wrap_fleet_fini(struct fleet *own_fleet)
{
    memset(own_fleet, 0, sizeof *own_fleet);
}

bool sim_machine_open(const char *config_path, struct errbuf *err)
{
    return __real_config_load(config_path, &config, err) && __real_fleet_load(config, &fleet, err);
}

void sim_machine_close(void)
{
    __real_fleet_fini(&fleet);
    __real_config_free(&config);
}

const struct config *sim_machine_config(void)
{
    return config;
}

const struct fleet *sim_machine_fleet(void)
{
    return &fleet;
}

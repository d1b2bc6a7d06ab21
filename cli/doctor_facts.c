/* SPDX-License-Identifier: MIT */
#include "cli/doctor_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/chains.h"
#include "cli/notes.h"
#include "ledger/setup.h"
#include "ledger/spool_file.h"
#include "runtime/file.h"

/* How long a person waits for the look through the ledger at most. */
#define SURVEY_BUDGET_MS 10000
#define LEASE_DEFAULT_MS 60000

void doctor_list_add(struct errbuf *list, const char *format, ...)
{
    size_t used = strlen(list->text), room = sizeof(list->text) - used;
    va_list values;
    if (used > 0 && room > 2) {
        memcpy(list->text + used, ", ", 3);
        used += 2;
        room -= 2;
    }
    va_start(values, format);
    vsnprintf(list->text + used, room, format, values);
    va_end(values);
}

/* ---- secrets: whether they are there and who may read them, never what they are */

static void look_at_file(const struct cli *cli, const char *whose, const char *path, struct checks_local *out)
{
    struct stat info;
    char *seen = cli->config->path ? file_path_beside(cli->config->path, path) : NULL;
    const char *at = seen ? seen : path;
    if (stat(at, &info) != 0 || access(at, R_OK) != 0)
        doctor_list_add(&out->unreadable, "%s (%.100s: %s)", whose, path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        doctor_list_add(&out->unreadable, "%s (%.100s is no file)", whose, path);
    else if (info.st_size == 0)
        doctor_list_add(&out->unreadable, "%s (%.100s is empty)", whose, path);
    else if (info.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
        doctor_list_add(&out->exposed, "%s (%.100s, mode %04o)", whose, path, (unsigned)info.st_mode & 07777);
    free(seen);
}

static void look_at_source(const struct cli *cli, const char *whose, const json_t *source, struct checks_local *out)
{
    const char *variable = json_string_value(json_object_get(source, "env"));
    const char *path = json_string_value(json_object_get(source, "file"));
    const char *value = variable ? getenv(variable) : NULL;
    if (path)
        look_at_file(cli, whose, path, out);
    else if (variable && (!value || !*value))
        doctor_list_add(&out->unreadable, "%s (%.100s is not set)", whose, variable);
}

static void look_at_credentials(const struct cli *cli, struct checks_local *out)
{
    const char *channel, *name;
    json_t *config, *source;
    json_object_foreach(cli->config->channels, channel, config)
    {
        const json_t *only = json_object_get(config, "credential");
        if (only) look_at_source(cli, channel, only, out);
        json_object_foreach(json_object_get(config, "credentials"), name, source)
        {
            char whose[160];
            snprintf(whose, sizeof(whose), "%s %.60s", channel, name);
            look_at_source(cli, whose, source, out);
        }
    }
    if (cli->config->redis_password_file[0]) look_at_file(cli, "Redis", cli->config->redis_password_file, out);
}

/* ---- the rest of this machine */

static void look_at_channels(const struct cli *cli, struct checks_local *out)
{
    out->channels = channel_set_count(cli->fleet.channels);
    for (size_t i = 0; i < out->channels; i++) {
        struct channel *channel = channel_set_at(cli->fleet.channels, i);
        struct errbuf err = {""};
        bool compile = channel_compiles(channel, DESCRIPTOR_WRITE, &err);
        if (compile && channel->policy.can_read) compile = channel_compiles(channel, DESCRIPTOR_READ, &err);
        if (!compile) doctor_list_add(&out->uncompiled, "%s: %.200s", channel->name, err.text);
        if (channel->descriptor->unverified) doctor_list_add(&out->unverified, "%s", channel->name);
        if (names_partition(channel->name, (unsigned)cli->config->partitions) != (unsigned)cli->config->partition)
            doctor_list_add(&out->elsewhere, "%s", channel->name);
    }
}

/* A file whose lock is free was left. */
static void look_at_spool_file(const char *folder, const char *name, struct checks_local *out)
{
    struct spool_file *file = NULL;
    struct errbuf err;
    if (spool_name_is_aside(name)) doctor_list_add(&out->spool_aside, "%s", name);
    if (spool_name_is_aside(name) || spool_file_take(folder, name, &file, &err) != SPOOL_FILE_TAKEN) return;
    spool_file_leave(&file);
    out->spool_left++;
}

static void look_at_spool(const struct config *config, struct checks_local *out)
{
    struct stat info;
    struct spool_names names;
    const char *folder = config->worker_spool_dir;
    if (!folder[0]) return;
    if (stat(folder, &info) != 0 || access(folder, R_OK | W_OK | X_OK) != 0)
        errbuf_set(&out->spool_error, "%.200s: %s", folder, strerror(errno));
    else if (!S_ISDIR(info.st_mode))
        errbuf_set(&out->spool_error, "%.200s is no folder", folder);
    if (out->spool_error.text[0] || !spool_names(folder, &names, &out->spool_error)) return;
    for (size_t i = 0; i < names.count; i++)
        look_at_spool_file(folder, names.name[i], out);
    spool_names_fini(&names);
}

void doctor_facts_local(struct cli *cli, struct checks_local *out)
{
    /* Those that the HTTP library obeys. */
    static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                          "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++) {
        const char *value = getenv(proxies[i]);
        if (value && *value) doctor_list_add(&out->proxies, "%s", proxies[i]);
    }
    look_at_credentials(cli, out);
    look_at_channels(cli, out);
    look_at_spool(cli->config, out);
}

/* ---- Redis */

static int64_t longest_lease_ms(const struct cli *cli)
{
    int64_t longest_ms = LEASE_DEFAULT_MS;
    for (size_t i = 0; i < channel_set_count(cli->fleet.channels); i++) {
        const struct channel *channel = channel_set_at(cli->fleet.channels, i);
        if (channel->policy.lease_ms > longest_ms) longest_ms = channel->policy.lease_ms;
    }
    return longest_ms;
}

static bool read_processes(struct cli *cli, struct checks_facts *out)
{
    struct notes_processes processes = {0};
    if (!notes_processes(cli, &processes)) return false;
    for (size_t i = 0; i < processes.count; i++) {
        out->workers += strcmp(processes.list[i].role, "worker") == 0;
        out->reconcilers += strcmp(processes.list[i].role, "reconciler") == 0;
    }
    out->processes_complete = processes.complete;
    notes_processes_fini(&processes);
    return true;
}

bool doctor_facts_redis(struct cli *cli, bool watch, struct checks_facts *out)
{
    const int64_t limit_ms = cli_limit_ms(cli);
    const struct survey_bounds bounds = {.longest_lease_ms = longest_lease_ms(cli),
                                         .budget_ms = SURVEY_BUDGET_MS,
                                         .keys_max = SURVEY_KEYS_MAX,
                                         .limit_ms = limit_ms,
                                         .watch = watch};
    out->has_server = health_read(&cli->ledger, cli->link, &out->health, limit_ms, &cli->err);
    /* Of what changes, the survey last: the repair of counts follows it on the same connection. */
    out->has_ledger = out->has_server && reads_overview(&cli->ledger, cli->link, &out->overview, limit_ms, &cli->err) &&
                      read_processes(cli, out) &&
                      survey_read(&cli->ledger, cli->link, &bounds, out->overview.now_ms, &out->survey, &cli->err) &&
                      chains_read(cli, &out->survey.behind, out->overview.now_ms, &out->chains);
    out->run_id = link_run_id(cli->link);
    return out->has_ledger;
}

/* SPDX-License-Identifier: MIT */
/* The checks of the server: what Redis is, how it keeps data, and what we may do there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/checks.h"

#define VERSION_LEAST   7  /* of Redis: script flags, listpacks, ACL DRYRUN */
#define MEMORY_RISK     90 /* per cent of maxmemory */
#define MEMORY_NOTE     75
#define CLOCK_NOTE_MS   1000
#define CLOCK_RISK_MS   10000 /* a channel's margin_s, against the platform's key window */
#define ROW_VALUE_BYTES 64    /* the longest value of a row */
#define ROW_FIELDS      40    /* a row has fewer */
#define MIB             (INT64_C(1) << 20)

void check_version(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    const char *server = h->server[0] ? h->server : "Redis";
    if (strtol(h->version, NULL, 10) >= VERSION_LEAST)
        finding_set(finding, SEVERITY_OK, "", "", "%s, which speaks Redis %s", server, h->version);
    else
        finding_set(finding, SEVERITY_UNSAFE,
                    "Scripts are refused or mean something else: nothing is claimed, and what was sent cannot be "
                    "recorded.",
                    "Run Redis 7.0 or later, or Valkey.", "%s, which speaks Redis %s", server,
                    h->version[0] ? h->version : "of a version it does not name");
}

void check_role(const struct checks_facts *facts, struct finding *finding)
{
    if (strcmp(facts->health.role, "master") == 0)
        finding_set(finding, SEVERITY_OK, "", "", "this server is the master");
    else
        finding_set(finding, SEVERITY_UNSAFE, "What is read there may be old, and nothing can be written.",
                    "Give redis.url the address of the master.", "this server is a %s", facts->health.role);
}

void check_eviction(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    if (strcmp(h->policy, "noeviction") == 0 && h->evicted > 0)
        finding_set(finding, SEVERITY_NOTE,
                    "What was evicted may have been leases or rows; a delivery without a row may be posted again.",
                    "Compare with your feeds (landfall audit) before you submit old items again.",
                    "maxmemory-policy is noeviction now, but %" PRId64 " keys were evicted since the server started",
                    h->evicted);
    else if (strcmp(h->policy, "noeviction") == 0)
        finding_set(finding, SEVERITY_OK, "", "", "maxmemory-policy is noeviction, and nothing was evicted");
    else
        finding_set(finding, SEVERITY_UNSAFE,
                    "A full server deletes leases and rows: a delivery is claimed twice, or posted again as if it had "
                    "never been.",
                    "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf; caches belong in another "
                    "server.",
                    "maxmemory-policy is %s (%" PRId64 " keys evicted since the server started)",
                    h->policy[0] ? h->policy : "not said by INFO", h->evicted);
}

void check_memory(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    const int64_t most = h->maxmemory_bytes > 0 ? h->maxmemory_bytes : h->system_bytes;
    const int64_t percent = most > 0 ? h->used_bytes / (most / 100 > 0 ? most / 100 : 1) : 0;
    const char *of = h->maxmemory_bytes > 0 ? "of maxmemory" : "of the machine's memory, without a maxmemory";
    const char *cost = h->maxmemory_bytes > 0
                           ? "When it is full, no claim and no outcome is written: workers stop and spool what they "
                             "know."
                           : "When the machine's memory is full, the system kills Redis: what was not on disk is lost.";
    if (percent >= MEMORY_NOTE)
        finding_set(
            finding, percent >= MEMORY_RISK ? SEVERITY_RISK : SEVERITY_NOTE, cost,
            "Raise maxmemory, or archive settled rows (landfall archive); look for foreign keys in this server.",
            "%" PRId64 " MiB are used, %" PRId64 " %% %s", h->used_bytes / MIB, percent, of);
    else
        finding_set(finding, SEVERITY_OK, "", "", "%" PRId64 " MiB are used, %" PRId64 " %% %s", h->used_bytes / MIB,
                    percent, of);
}

/* The append-only file is on. */
static void check_append(const struct health *h, struct finding *finding)
{
    if (strcmp(h->append_fsync, "no") == 0)
        finding_set(finding, SEVERITY_RISK,
                    "A crash of the machine loses what the system had not written yet, commonly up to 30 s: claims "
                    "and outcomes of that time are forgotten, and become doubts that must be read back.",
                    "CONFIG SET appendfsync everysec, or always.", "appendonly yes, appendfsync no");
    else if (strcmp(h->append_fsync, "always") == 0)
        finding_set(finding, SEVERITY_OK, "", "", "appendonly yes, appendfsync always: a crash loses nothing answered");
    else if (h->append_fsync[0])
        finding_set(finding, SEVERITY_NOTE,
                    "A crash loses up to 2 s: after it, every delivery approved before counts as possibly sent, and is "
                    "read back before it is sent again; what cannot be read back waits for a person.",
                    "appendfsync always loses nothing, at the price of one disk write per round trip.",
                    "appendonly yes, appendfsync %s", h->append_fsync);
    else
        finding_set(finding, SEVERITY_NOTE,
                    "With everysec a crash loses up to 2 s, with no up to 30 s, with always nothing.",
                    "Look into the service's settings for appendfsync.", "appendonly yes; appendfsync is not known: %s",
                    h->config_refused);
}

void check_persistence(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    if (h->append_failed || h->snapshot_failed)
        finding_set(finding, SEVERITY_UNSAFE,
                    "What is acknowledged is not on disk; a restart forgets it, and Redis may refuse writes (MISCONF).",
                    "Look at the server's log and at its disk: full, read-only, or without permission.",
                    "the last %s failed", h->append_failed ? "write of the append-only file" : "snapshot");
    else if (h->append_only)
        check_append(h, finding);
    else if (h->save[0])
        finding_set(finding, SEVERITY_RISK,
                    "A crash loses everything since the last snapshot, minutes to hours: outcomes of that time are "
                    "forgotten and must be read back; deliveries submitted in it are gone, and come again if their "
                    "items are submitted again.",
                    "CONFIG SET appendonly yes, and the same in redis.conf.", "snapshots only (save %s)", h->save);
    else if (h->config_refused[0])
        finding_set(finding, SEVERITY_RISK,
                    "Without an append-only file a crash loses everything since the last snapshot, if there is one.",
                    "Turn on the append-only file in the service's settings.",
                    "appendonly no; whether there are snapshots is not known: %s", h->config_refused);
    else
        finding_set(finding, SEVERITY_UNSAFE,
                    "Every restart empties the ledger: nothing is known of what was published, and items that are "
                    "submitted again are posted again.",
                    "CONFIG SET appendonly yes, and the same in redis.conf.", "appendonly no, and no snapshots");
}

void check_replication(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    if (h->replicas == 0)
        finding_set(finding, SEVERITY_NOTE, "If this machine's disk dies, the ledger is what the last backup has.",
                    "Add a replica, or copy the append-only file regularly.", "no replica is connected");
    else if (h->min_replicas == 0)
        finding_set(finding, SEVERITY_RISK,
                    "A master that was cut off goes on taking writes, which a failover then forgets: claims of that "
                    "time become doubts that must be read back.",
                    "CONFIG SET min-replicas-to-write 1, so that it stops instead.",
                    "%" PRId64 " replicas are connected, min-replicas-to-write is 0", h->replicas);
    else if (h->min_replicas == HEALTH_UNKNOWN)
        finding_set(finding, SEVERITY_NOTE, "A failover can forget what the old master took last.",
                    "Look into the service's settings for min-replicas-to-write.",
                    "%" PRId64 " replicas are connected; min-replicas-to-write is not known: %s", h->replicas,
                    h->config_refused);
    else
        finding_set(finding, SEVERITY_OK, "", "", "%" PRId64 " replicas are connected, %" PRId64 " are wanted",
                    h->replicas, h->min_replicas);
}

static bool has_waitaof(const struct health *h)
{
    char *end = NULL;
    const long major = strtol(h->version, &end, 10);
    return major > 7 || (major == 7 && *end == '.' && strtol(end + 1, NULL, 10) >= 2);
}

/* The command that the configuration has workers ask with and our user may not use; NULL if there is none. */
static const char *wait_denied(const struct checks_facts *facts)
{
    const struct config *config = facts->config;
    const bool waits = config->redis_wait_replicas > 0 && config->redis_wait_fsync != CONFIG_WAIT_FSYNC_ALL;
    if (waits && facts->health.wait_forbidden) return "WAIT";
    return config->redis_wait_fsync != CONFIG_WAIT_FSYNC_NO && facts->health.waitaof_forbidden ? "WAITAOF" : NULL;
}

/* What the workers wait for before they send (redis.wait_). */
void check_copies(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    const int64_t replicas = facts->config->redis_wait_replicas;
    const bool disks = facts->config->redis_wait_fsync != CONFIG_WAIT_FSYNC_NO;
    const char *denied = wait_denied(facts);
    static const char cost[] = "Workers send nothing.";
    if (disks && !has_waitaof(h))
        finding_set(finding, SEVERITY_RISK, cost, "Run Redis 7.2 or later, or Valkey; or leave redis.wait_fsync at no.",
                    "redis.wait_fsync wants WAITAOF, which Redis %s does not have", h->version);
    else if (disks && !h->append_only)
        finding_set(finding, SEVERITY_RISK, cost, "CONFIG SET appendonly yes, and the same in redis.conf.",
                    "redis.wait_fsync wants an append-only file, and appendonly is no");
    else if (denied)
        finding_set(finding, SEVERITY_RISK, cost, "ACL SETUSER for this user, and for that of the workers: allow it.",
                    "redis.wait_ wants %s, which the user %s may not use", denied, h->user);
    else if (replicas > h->replicas)
        finding_set(finding, SEVERITY_RISK, cost, "Start the replicas that are missing, or lower redis.wait_replicas.",
                    "redis.wait_replicas is %" PRId64 ", and %" PRId64 " are connected", replicas, h->replicas);
    else if (replicas > 0 || disks)
        finding_set(finding, SEVERITY_OK, "", "", "claims wait for %" PRId64 " replicas, and %s", replicas,
                    disks ? "for the disk" : "for no disk");
    else
        finding_set(finding, SEVERITY_OK, "", "", "claims wait for no copies (redis.wait_replicas, redis.wait_fsync)");
}

void check_reload(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    if (!h->append_only)
        finding_set(finding, SEVERITY_OK, "", "", "there is no append-only file that would be read back");
    else if (h->reload_forbidden[0])
        finding_set(
            finding, SEVERITY_UNSAFE,
            "Redis reads its append-only file as the user default, and drops what that user may not do: after a "
            "restart every row is gone.",
            "ACL SETUSER default ~* &* +@all, and off if nobody is to log in as it; then BGREWRITEAOF.",
            "the user default may not: %s", h->reload_forbidden);
    else if (h->acl_refused[0])
        finding_set(finding, SEVERITY_NOTE, "A default user without rights makes Redis forget every row at a restart.",
                    "Run landfall doctor once as a user that may run ACL DRYRUN.",
                    "what the user default may do cannot be asked for: %s", h->acl_refused);
    else
        finding_set(finding, SEVERITY_OK, "", "", "the append-only file can be read back: the user default may write");
}

void check_rights(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    if (h->forbidden_count > 0)
        finding_set(finding, SEVERITY_UNSAFE, "A worker that may claim and not record leaves every delivery in doubt.",
                    "Allow them: ACL SETUSER for this user; +@all -@dangerous +info +role covers them with ~prefix:*.",
                    "the user %s lacks %d rights on keys under %s: %s", h->user, h->forbidden_count,
                    facts->config->redis_prefix, h->forbidden);
    else if (h->acl_refused[0])
        finding_set(finding, SEVERITY_NOTE, "A right that is missing is seen only when the command is used.",
                    "Run landfall doctor once as a user that may run ACL DRYRUN, or start one worker and look at its "
                    "log.",
                    "the rights of the user %s cannot be asked for: %s", h->user[0] ? h->user : "(not known)",
                    h->acl_refused);
    else
        finding_set(finding, SEVERITY_OK, "", "", "the user %s may run every command that is needed", h->user);
}

void check_clock(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    const int64_t off_ms = llabs(h->server_ms - h->wall_ms);
    const int64_t surely_ms = off_ms > h->error_ms ? off_ms - h->error_ms : 0;
    if (surely_ms < CLOCK_NOTE_MS)
        finding_set(finding, SEVERITY_OK, "", "", "the server's clock and this machine's agree within %" PRId64 " ms",
                    off_ms + h->error_ms);
    else
        finding_set(finding, surely_ms >= CLOCK_RISK_MS ? SEVERITY_RISK : SEVERITY_NOTE,
                    "Schedules go by the server's clock. Signatures with a time are refused by platforms, and a key "
                    "window is measured wrongly if the server is the one that is off.",
                    "Run a time service (chrony, systemd-timesyncd) on both.",
                    "the server's clock is %" PRId64 " ms %s this machine's", surely_ms,
                    h->server_ms > h->wall_ms ? "ahead of" : "behind");
}

void check_encoding(const struct checks_facts *facts, struct finding *finding)
{
    const struct health *h = &facts->health;
    if (h->listpack_value_bytes == HEALTH_UNKNOWN || h->listpack_entries == HEALTH_UNKNOWN)
        finding_set(finding, SEVERITY_OK, "", "", "the limits of compact hashes are not known: %s",
                    h->config_refused[0] ? h->config_refused : "the server does not have them");
    else if (h->listpack_value_bytes < ROW_VALUE_BYTES || h->listpack_entries < ROW_FIELDS)
        finding_set(finding, SEVERITY_NOTE, "Rows take several times the memory.",
                    "CONFIG SET hash-max-listpack-value 64 and hash-max-listpack-entries 128, the defaults.",
                    "hash-max-listpack-value is %" PRId64 ", hash-max-listpack-entries is %" PRId64,
                    h->listpack_value_bytes, h->listpack_entries);
    else
        finding_set(finding, SEVERITY_OK, "", "", "rows are kept in the compact encoding");
}

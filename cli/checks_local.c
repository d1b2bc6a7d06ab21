/* SPDX-License-Identifier: MIT */
/* The checks of this machine: configuration, descriptors, credentials, environment. */
#include <inttypes.h>

#include "cli/checks.h"

void check_partitions(const struct checks_facts *facts, struct finding *finding)
{
    const struct config *config = facts->config;
    if (facts->has_ledger && facts->survey.highest_partition >= config->partitions)
        finding_set(finding, SEVERITY_UNSAFE,
                    "Channels have moved to other partitions: their ledger is not seen there, and items that are "
                    "submitted again are posted again.",
                    "Set partitions to what it was; landfall partitions N changes it.",
                    "keys of partition %" PRId64 " exist, and the configuration has %" PRId64 " partitions",
                    facts->survey.highest_partition, config->partitions);
    else if (facts->local.elsewhere.text[0])
        finding_set(finding, SEVERITY_NOTE, "This process does not serve them.",
                    "See that a worker and a reconciler run for each partition.",
                    "partition %" PRId64 " of %" PRId64 "; channels of other partitions: %.300s", config->partition,
                    config->partitions, facts->local.elsewhere.text);
    else
        finding_set(finding, SEVERITY_OK, "", "", "partition %" PRId64 " of %" PRId64 " serves all channels",
                    config->partition, config->partitions);
}

void check_proxies(const struct checks_facts *facts, struct finding *finding)
{
    if (facts->local.proxies.text[0])
        finding_set(finding, SEVERITY_NOTE,
                    "Requests go through the proxy, in this environment at least: one that repeats requests or answers "
                    "in the platform's place makes outcomes uncertain.",
                    "See that the proxy does not repeat POST requests; unset them if they were not meant for landfall.",
                    "set in this environment: %s", facts->local.proxies.text);
    else
        finding_set(finding, SEVERITY_OK, "", "", "no proxy variable is set in this environment");
}

void check_descriptors(const struct checks_facts *facts, struct finding *finding)
{
    const struct checks_local *local = &facts->local;
    if (local->uncompiled.text[0])
        finding_set(finding, SEVERITY_RISK, "Nothing can be sent to these channels, or nothing read back.",
                    "Correct the program that is named.", "%s", local->uncompiled.text);
    else if (local->channels == 0)
        finding_set(finding, SEVERITY_RISK, "Nothing is sent anywhere.", "Name channels in the configuration.",
                    "no channel is configured");
    else if (local->unverified.text[0])
        finding_set(finding, SEVERITY_NOTE, "The platform may answer otherwise than its documentation says.",
                    "Try them with an item that may be seen, and compare landfall show.",
                    "%zu channels; not all facts of the descriptors of these were seen on a real server: %.300s",
                    local->channels, local->unverified.text);
    else
        finding_set(finding, SEVERITY_OK, "", "", "%zu channels, all descriptors are fine", local->channels);
}

void check_credentials(const struct checks_facts *facts, struct finding *finding)
{
    const struct checks_local *local = &facts->local;
    if (local->exposed.text[0])
        finding_set(finding, SEVERITY_RISK, "Whoever has an account on this machine can post as you, or change it.",
                    "chmod o= the file, and change the credential.", "may be read or changed by others: %s%s%s",
                    local->exposed.text, local->unreadable.text[0] ? "; not readable: " : "", local->unreadable.text);
    else if (local->unreadable.text[0])
        finding_set(finding, SEVERITY_RISK, "A worker in this environment does not start.",
                    "Set the variable or write the file; the worker may have another environment and user than you.",
                    "not readable here: %s", local->unreadable.text);
    else
        finding_set(finding, SEVERITY_OK, "", "", "all credentials of %zu channels are readable, and by nobody else",
                    local->channels);
}

void check_spool(const struct checks_facts *facts, struct finding *finding)
{
    if (!facts->config->worker_spool_dir[0])
        finding_set(
            finding, SEVERITY_NOTE,
            "An outcome that a worker knows and Redis does not take is lost if that worker ends before Redis is "
            "back: the delivery becomes uncertain and is read back; where the channel cannot be read, a person "
            "has to look.",
            "Set worker.spool_dir to a folder that outlives the worker.", "worker.spool_dir is not set");
    else if (facts->local.spool_error.text[0])
        finding_set(finding, SEVERITY_RISK, "Outcomes that Redis does not take cannot be kept: they become uncertain.",
                    "Make the folder, for the user that the worker runs as.", "worker.spool_dir: %s",
                    facts->local.spool_error.text);
    else if (facts->local.spool_aside.text[0])
        finding_set(finding, SEVERITY_RISK,
                    "Outcomes in them are known to nobody: their deliveries are uncertain, and read back or held.",
                    "landfall spool says which line cannot be read; correct and rename the file, or settle by hand.",
                    "files in worker.spool_dir that could not be read: %.300s", facts->local.spool_aside.text);
    else if (facts->local.spool_left > 0)
        finding_set(finding, SEVERITY_NOTE, "Their deliveries are uncertain although the outcome is written down.",
                    "Nothing if a worker with this folder runs: it settles them; else landfall spool --replay.",
                    "%zu files in worker.spool_dir were left by processes that are gone", facts->local.spool_left);
    else
        finding_set(finding, SEVERITY_OK, "", "", "worker.spool_dir is %.300s", facts->config->worker_spool_dir);
}

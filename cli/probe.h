/* SPDX-License-Identifier: MIT */
/*
 * probe: read requests to one channel's platform, one after the other, with a login where the platform wants one. The
 * only place of this program that sends anything to a platform, and what it sends is what the read half of a descriptor
 * makes: logins, look-ups, pages.
 *
 * Nothing is repeated here: who asks decides that. What an answer says of the session is for the asker, too, who then
 * drops it; the next request logs in anew. A login counts against small quotas: at most PROBE_LOGINS_MAX are made.
 */
#ifndef LANDFALL_CLI_PROBE_H
#define LANDFALL_CLI_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "platforms/answer.h"
#include "platforms/channel.h"
#include "platforms/form.h"
#include "platforms/transfer.h"

#define PROBE_LOGINS_MAX 2
#define PROBE_WAIT_MS    5000 /* the longest wait that is waited for */

struct keeper_fleet;
struct probe;

/* The channel has its credentials; it and what answers may lead to besides public addresses must live longer. */
/* fleet: whose session is used, and not renewed, where the credential is a refresh token; NULL: a login of its own. */
struct probe *probe_open(struct channel *channel, const struct config *config, const struct keeper_fleet *fleet);
void probe_close(struct probe **probe);

enum probe_sent {
    PROBE_ANSWERED, /* or without answer: probe_facts() says so */
    PROBE_BROKEN,   /* the request could not be filled */
    PROBE_AWAY,     /* the login had no answer, or none that gives a session */
    PROBE_REFUSED,  /* the login was refused */
};

/* Logs in now, where the platform has sessions: its answer tells whether the credential is taken. */
MUSTCHECK enum probe_sent probe_login(struct probe *probe);

/* Sends it and waits for the end of the answer. probe_why() says what went wrong. */
MUSTCHECK enum probe_sent probe_send(struct probe *probe, const struct form *form);
const char *probe_why(const struct probe *probe);
enum cli_exit probe_code(enum probe_sent sent);

/* Of the newest request. Borrowed until the next one. */
const struct transfer_facts *probe_facts(const struct probe *probe);
const struct answer *probe_answer(const struct probe *probe);

/* The answer says that the session is over. */
void probe_drop_session(struct probe *probe);

/* Waits as the platform asks (0: a little). False: it asks for more than PROBE_WAIT_MS. */
MUSTCHECK bool probe_wait(int64_t wait_ms);

/* How many requests and how many of them logins were sent. */
int probe_requests(const struct probe *probe);
int probe_logins(const struct probe *probe);

/* A login, or a request that carried the credential, was answered with a success. */
bool probe_credential_taken(const struct probe *probe);

#endif

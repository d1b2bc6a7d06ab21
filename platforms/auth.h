/* SPDX-License-Identifier: MIT */
/*
 * auth: how a channel proves who it is: headers with holes, and sessions that logins and refreshes give.
 *
 * Most kinds are one header. A session is a set of named values (tokens, cookies), held here as secrets, which fill the
 * holes session.<name> at every send. A login is one request or several, each of which adds values; a refresh is one.
 * Nothing here sends, waits or remembers: the program that runs the transfers asks for a request, carries its answer
 * back, and decides when (session/keeper.h).
 */
#ifndef LANDFALL_PLATFORMS_AUTH_H
#define LANDFALL_PLATFORMS_AUTH_H

#include <stdbool.h>
#include <stdint.h>
#include "platforms/answer.h"
#include "platforms/channel.h"
#include "platforms/form.h"
#include "runtime/errbuf.h"
#include "runtime/secret.h"

#define SESSION_NAME_BYTES 32

struct transfer_facts;

struct session_value {
    char name[SESSION_NAME_BYTES];
    struct secret *secret;
};

/* In the caller's storage; zeroed by session_init. */
struct session {
    struct session_value values[DESCRIPTOR_SESSION_VALUES_MAX];
    int count;
    int64_t until_ms; /* not used from then on; the clock of whoever took it; 0: not known */
};

void session_init(struct session *session);
void session_fini(struct session *session);

/* Takes a value over, in place of one of the same name. Where there is no room for it, it is freed. */
void session_put(struct session *session, const char *name, struct secret *own_secret);
const struct secret *session_get(const struct session *session, const char *name);

/* True if all values that the descriptor names are there. */
bool session_is_whole(const struct channel *channel, const struct session *session);

/* The headers of the channel's kind, as holes. Called by form_render. */
void auth_add_headers(const struct channel *channel, struct form *form);

/* The tokens that a channel has before its first refresh: where the credential is one. */
void auth_seed(const struct channel *channel, struct session *session);

bool auth_can_login(const struct channel *channel);
/* There is a refresh, and the session has what it needs. */
bool auth_can_refresh(const struct channel *channel, const struct session *session);

#define AUTH_REFRESH (-1) /* the number of the refresh; those of a login's requests count from 0 */

/* Request number `step`. */
MUSTCHECK bool auth_form(struct channel *channel, enum descriptor_half half, int step, struct form *form,
                         struct errbuf *err);

enum auth_took {
    AUTH_TOOK_STEP, /* the next request, please */
    AUTH_TOOK_ALL,  /* the session is whole */
    AUTH_REFUSED,   /* the credential, or the token of a refresh, is not taken */
    AUTH_WAIT,      /* too many: not before *wait_ms */
    AUTH_FAILED,    /* nothing came of it; a later try may do */
    AUTH_LOST,      /* it may have been executed, and what it gave has not arrived */
};

/* What became of request number `step`: puts what its answer gives into the session. *wait_ms: what the platform asked
 * for, 0: nothing. err never holds what the answer said. */
enum auth_took auth_take(struct channel *channel, enum descriptor_half half, int step,
                         const struct transfer_facts *facts, const struct answer *answer, int64_t now_ms,
                         struct session *session, int64_t *wait_ms, struct errbuf *err);

/* True if the answer says that the session is over: an accept rule with the outcome session_expired fits. */
MUSTCHECK bool auth_expired(struct channel *channel, enum descriptor_half half, const struct answer *answer,
                            bool *expired, struct errbuf *err);

#endif

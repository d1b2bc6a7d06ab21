/* SPDX-License-Identifier: MIT */
/*
 * auth: how a channel proves who it is: headers with holes, and sessions that a login gives.
 *
 * Most kinds are one header. Sessions: a login request answers with tokens, which are held here as secrets; a session
 * ends at its lifetime, or when an answer says that it is over. A login counts against small quotas, so there is one
 * in flight per channel and, after a failure, none before a backoff has passed. The program that runs the transfers
 * asks session_state() before it sends and carries the login's answer back; nothing here sends anything.
 *
 * Boot-time milliseconds throughout.
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

#define AUTH_LOGIN_BACKOFF_MS     10000 /* after the first failed login; doubles */
#define AUTH_LOGIN_BACKOFF_MAX_MS 600000

struct session_value {
    char name[32];
    struct secret *secret;
};

/* One per channel, in the program's storage; zeroed by session_init. */
struct session {
    struct session_value values[DESCRIPTOR_SESSION_VALUES_MAX];
    int count;               /* 0: no session */
    int64_t expires_boot_ms; /* 0: not known */
    bool login_in_flight;
    int failures;               /* logins in a row that failed */
    int64_t not_before_boot_ms; /* no login before */
};

enum session_state {
    SESSION_NOT_NEEDED, /* this kind has none */
    SESSION_READY,
    SESSION_LOGIN, /* send the login now; session_login_begun() */
    SESSION_WAIT,  /* a login is in flight, or its backoff is not over */
};

void session_init(struct session *session);
void session_fini(struct session *session);

/* The headers of the channel's kind, as holes. Called by form_render. */
void auth_add_headers(const struct channel *channel, struct form *form);

enum session_state session_state(const struct channel *channel, const struct session *session, int64_t now_boot_ms);

/* The login request. After sending it, call session_login_begun and then exactly one of the two others. */
MUSTCHECK bool auth_login_form(struct channel *channel, enum descriptor_half half, struct form *form,
                               struct errbuf *err);
void session_login_begun(struct session *session);

/* Take the tokens out of a login's answer. False: it was refused or cannot be read; the session is empty and the next
 * login waits (retry_after_ms: what the answer asked for, 0 if nothing). err never holds what the answer said. */
MUSTCHECK bool auth_take_session(struct channel *channel, enum descriptor_half half, const struct answer *answer,
                                 int64_t retry_after_ms, int64_t now_boot_ms, struct session *session,
                                 struct errbuf *err);
/* The login had no answer. */
void session_login_failed(struct session *session, int64_t retry_after_ms, int64_t now_boot_ms);

/* True if the answer says that the session is over: an accept rule with the outcome session_expired fits. */
MUSTCHECK bool auth_expired(struct channel *channel, enum descriptor_half half, const struct answer *answer,
                            bool *expired, struct errbuf *err);

/* Forget the tokens; the next session_state() asks for a login. */
void session_drop(struct session *session);

const struct secret *session_get(const struct session *session, const char *name);

#endif

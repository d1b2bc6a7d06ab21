/* SPDX-License-Identifier: MIT */
/*
 * renewal: what is to be done about the session of an account, of which the whole fleet has one.
 *
 * Pure: it is given what is known and says what to do. A session that holds is used. One that is over is renewed by
 * whoever has the fleet's lock, by a refresh where there is one, else by a login. A refresh that spends its token is
 * not sent twice: where one was begun and nobody knows how it ended, the token may be spent, and a platform takes its
 * second use for a theft and ends every session of the account (RFC 9700, section 4.14.2). Then only a login helps, or
 * a person.
 */
#ifndef LANDFALL_CORE_RENEWAL_H
#define LANDFALL_CORE_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

struct renewal_facts {
    bool has_session;      /* complete, and nobody said that it is over */
    int64_t until_ms;      /* its end; 0: not known */
    bool can_login;        /* the credential is one that logs in */
    bool can_refresh;      /* there is a refresh, and a token for it that was not refused */
    bool repeatable;       /* the refresh does not spend its token */
    bool refresh_begun;    /* one was begun with this token, and its end is not known */
    bool locked;           /* somebody else of the fleet is at it */
    int64_t not_before_ms; /* no login and no refresh before; 0: none failed */
    int64_t now_ms;        /* the fleet's time */
};

enum renewal {
    RENEWAL_USE,
    RENEWAL_REFRESH,
    RENEWAL_LOGIN,
    RENEWAL_LOCKED, /* wait for whoever is at it */
    RENEWAL_LATER,  /* wait until not_before_ms */
    RENEWAL_PERSON, /* nothing here can renew it: the channel pauses */
};

enum renewal renewal_next(const struct renewal_facts *facts);

#endif

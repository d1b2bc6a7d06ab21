/* SPDX-License-Identifier: MIT */
/*
 * keeper: one process's hold on the session that the fleet has with an account.
 *
 * keeper_ask() is asked before every request that needs the session. It looks into the process's memory, then into the
 * ledger; where the session is over it takes the fleet's lock and hands out requests, one after the other: a refresh,
 * or those of a login. The program sends them and gives their answers to keeper_take(). What they bring is in the
 * ledger, sealed, before anything is sent with it: a refresh token that a platform has replaced must not be lost with a
 * process. core/renewal.h decides what is done; nothing here sends, and nothing here waits.
 *
 * Whatever cannot be had says so once, as trouble, and is tried again not before its time, whoever of the fleet asks.
 * A session that does not open is as none.
 */
#ifndef LANDFALL_SESSION_KEEPER_H
#define LANDFALL_SESSION_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/sessions.h"
#include "platforms/auth.h"

struct transfer_facts;

/* How the fleet is reached; borrowed, one for all keepers of a process. */
struct keeper_fleet {
    const struct ledger *ledger;
    struct redis_link *link;
    const char *name; /* of the process */
    int64_t round_limit_ms;
    bool read_only; /* what the ledger has is used, and nothing is written there: a login is this process's own */
};

enum keeper_kind {
    KEEPER_NO_TROUBLE,
    KEEPER_REFUSED, /* the credential is not taken, or cannot be used any more: the channel pauses */
    KEEPER_LATER,   /* the platform asks to wait, or the last try is too recent */
    KEEPER_FAILED,  /* the platform was not reached, or gave nothing */
};

struct keeper_trouble {
    enum keeper_kind kind;
    int status;      /* of the answer; 0: none */
    int64_t wait_ms; /* the next try is not before; at least 1 */
    bool asked;      /* it was the platform that asked to wait */
    char why[320];   /* for people; no secret */
};

struct keeper {
    struct channel *channel;
    enum descriptor_half half;
    const struct keeper_fleet *fleet; /* NULL: this process alone */
    struct session session;
    int64_t rev;   /* of it in the ledger; 0: it is not there */
    int64_t count; /* which session of this process it is, from 1: keeper_expired() */
    bool over;     /* the platform says so */
    enum { KEEPER_IDLE, KEEPER_NEXT, KEEPER_SENT, KEEPER_STORE } phase;
    struct session fresh; /* in the making */
    int step;             /* of the request that is next or in flight */
    bool refresh_refused, refresh_begun;
    char token[SESSIONS_TOKEN_BYTES];
    int64_t failures, not_before_ms; /* the fleet's time */
    int64_t ask_boot_ms;             /* the ledger is not asked before */
    int64_t ignored_rev;             /* of a session that does not open: said once */
    struct keeper_trouble trouble;   /* the newest; KEEPER_NO_TROUBLE since a session is there */
};

/* channel and fleet must live longer. */
void keeper_init(struct keeper *keeper, struct channel *channel, enum descriptor_half half,
                 const struct keeper_fleet *fleet);
/* Gives the lock back, if it can be. */
void keeper_fini(struct keeper *keeper);

enum keeper_state {
    KEEPER_READY,   /* keeper->session may be used */
    KEEPER_SEND,    /* *request is to be sent, and keeper_take() told */
    KEEPER_BUSY,    /* a request is in flight, or somebody else is at it, or Redis is away: ask again */
    KEEPER_TROUBLE, /* keeper->trouble */
};

/* *request is filled with KEEPER_SEND only; http_request_fini() then. For channels with sessions. */
enum keeper_state keeper_ask(struct keeper *keeper, struct http_request *request);
/* How long one of its requests may take. */
int64_t keeper_limit_ms(const struct keeper *keeper);

/* The request has ended: KEEPER_BUSY (there is more to do: ask), KEEPER_READY or KEEPER_TROUBLE. */
enum keeper_state keeper_take(struct keeper *keeper, const struct transfer_facts *facts, const struct answer *answer);

/* Stores what the ledger did not take yet; to be called in every turn of a loop. */
void keeper_turn(struct keeper *keeper);

/* A request that was sent with session number `count` was answered that it is over. */
void keeper_expired(struct keeper *keeper, int64_t count);

/* The credential is another one now. */
void keeper_renew(struct keeper *keeper);

#endif

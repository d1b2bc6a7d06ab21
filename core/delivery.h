/* SPDX-License-Identifier: MIT */
/* What may happen to a delivery next: the protocol as one pure function.
 *
 * delivery_step(row, event, policy, now) -> decision. It reads no clock, sends nothing and remembers nothing. The
 * ledger writes what it decides, and only to the row that it decided about; where the row has changed meanwhile, the
 * caller decides again with the same event and the new row.
 *
 * Two events are also decided inside Redis, where all facts are together: EV_CLAIM (ledger/scripts/claim.lua) and
 * EV_LEASE_GONE (ledger/scripts/take.lua). The lines here and there are the same lines; a test replays every line of
 * the printed table through the scripts. */
#ifndef LANDFALL_CORE_DELIVERY_H
#define LANDFALL_CORE_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/doubt.h"
#include "core/reason.h"

#define DELIVERY_EXT_ID_MAX 512  /* bytes; an AT URI of a long DID is about 120 */
#define DELIVERY_FOREVER    (-1) /* a key window that never ends */

/* How far an attempt's report agrees with the row; see delivery_standing(). */
enum delivery_standing { STANDING_CURRENT, STANDING_DOUBTFUL, STANDING_CLOSED, STANDING_FORGOTTEN };

/* A row as the ledger holds it, as far as decisions need it. Times in ms of the Redis server's clock, 0 = never. */
struct delivery_row {
    enum delivery_state state;
    enum delivery_reason reason;
    int64_t rev;
    int64_t since_ms;
    int64_t approved_at_ms;
    int64_t not_before_ms;
    int64_t not_after_ms;
    int64_t dated_ms; /* the item's own date, for max_age */
    int generation;
    int attempt; /* number of the newest attempt */
    int tries;   /* attempts used up */
    char token[DOUBT_TOKEN_MAX + 1];
    int64_t first_send_ms;
    int64_t commit_by_ms;
    struct doubt doubt;
    int misses;
    int64_t missed_at_ms;
    bool waived;
    char ext_id[DELIVERY_EXT_ID_MAX + 1];
};

/* What holds for the channel: from its descriptor and its configuration. */
struct delivery_policy {
    bool harmless;         /* a repeat does no harm (a ping) */
    bool gives_id;         /* a success names the post */
    bool can_read;         /* there is a listing or a read by key that can prove absence */
    bool verify;           /* a success is read back by its id before it is believed */
    bool stores_failures;  /* a failure is kept under its key: after a proven absence the next generation is due */
    bool hold_absent;      /* on_absent = hold */
    int64_t key_window_ms; /* 0: no identical replay; DELIVERY_FOREVER: always */
    int64_t lease_ms;
    int64_t late_commit_ms; /* what may still be executed after we gave up */
    int64_t margin_ms;      /* clock error against the platform's key window */
    int64_t visibility_lag_ms;
    int clean_misses; /* complete searches in a row that must not find it */
    int max_attempts;
    int64_t backoff_base_ms;
    int64_t backoff_cap_ms;
    int64_t give_up_after_ms; /* uncertain for so long without evidence: a person looks */
    int64_t max_age_ms;       /* 0: any age */
    int64_t turn_ms;          /* of what was handed back, one goes out every turn_ms (claim.lua); 0: any number */
};

/* How the delivery stands that must come first. */
enum delivery_predecessor {
    PREDECESSOR_DONE,   /* published, or there is none */
    PREDECESSOR_OPEN,   /* it may still be published by itself */
    PREDECESSOR_FAILED, /* rejected, or held for a person */
};

/* What happened. Only the members that the event names are read. */
struct delivery_input {
    enum delivery_event event;
    int attempt;                           /* R, E: the attempt that the report or the search is about */
    char token[DOUBT_TOKEN_MAX + 1];       /* R: its token; W: the token drawn for this claim */
    enum delivery_predecessor predecessor; /* claim */
    enum delivery_reason reason;           /* R: why it is unknown or refused; RS_NONE: the event's own word */
    const char *ext_id;           /* committed, found, confirm: the platform's id; NULL or "" where it gives none */
    bool set_back;                /* R: the ledger may have been set back after the attempt was claimed */
    bool two_found;               /* E: the search found more than one; R committed: the answer betrays another */
    int64_t until_ms;             /* R wait, not_committed: not before this moment */
    int64_t searched_from_ms;     /* E: server's time before the first page was asked for */
    int64_t no_absence_before_ms; /* E: from the epoch */
    bool hold;                    /* S: asked to wait for approval */
    bool with_doubt;              /* O cancel: although a post may exist */
    bool new_key;                 /* O retry: start a key generation */
    uint32_t jitter;              /* any random number; spreads retries */
};

/* Where the row stands after the decision. */
enum delivery_place { PLACE_NONE, PLACE_AGENDA, PLACE_WAITING, PLACE_WALK };

/* What the ledger is to write, and what the caller is to tell. */
enum delivery_verdict {
    VERDICT_CHANGE,  /* write it */
    VERDICT_ALREADY, /* nothing to write: this is how it stands */
    VERDICT_BUSY,    /* refused now: it is being sent, or its last attempt may still commit */
};

struct delivery_decision {
    enum delivery_verdict verdict;
    enum delivery_state state;
    enum delivery_reason reason;
    enum delivery_place place;
    int64_t due_ms; /* when it is looked at next; 0 = at once */
    struct doubt doubt;
    bool doubt_cleared; /* by a proven absence */
    int tries;
    int generation;
    int misses;
    int64_t missed_at_ms;
    int64_t commit_cap_ms; /* >0: from claimed commit_by = min(commit_by, now + this); from any other state max(..) */
    bool waived;
    bool drop_times;        /* not_after and dated no longer hold it back */
    bool new_generation;    /* first_send and the frozen request of the old generation are dropped */
    bool pause_channel;     /* the credential was refused */
    int64_t block_until_ms; /* the channel may send nothing before */
    bool send;              /* claim only: the one place where a send is decided */
    bool duplicate;         /* another id than the one that is kept: raise an alarm */
    bool alert;             /* it had been rejected and exists */
    enum delivery_source source;
};

/* How a report of (attempt, token) stands to the row. `harmless` rows keep no doubt: there the newest attempt of an
 * uncertain row is the doubtful one. */
enum delivery_standing delivery_standing(const struct delivery_row *row, bool harmless, int attempt, const char *token);

/* True if the row's frozen request may be sent again now, byte for byte: the platform still honours its key. */
bool delivery_replay_allowed(const struct delivery_row *row, const struct delivery_policy *policy, int64_t now_ms);

/* Decides. Pure; every input is legal, what the table does not name is VERDICT_ALREADY or VERDICT_BUSY with the row as
 * it is. */
struct delivery_decision delivery_step(const struct delivery_row *row, const struct delivery_input *in,
                                       const struct delivery_policy *policy, int64_t now_ms);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * reconciler: what one reconciler process holds.
 *
 * A lane is this process's side of one channel: its session, when it is to be walked, where its next walk starts. A
 * walk is one look at one account: it holds the account's walk lease, reads the channel's uncertain deliveries, reads
 * the platform, and says to the ledger what it found. Walks are a fixed array; each has one request in flight at most.
 *
 *   time.c     the server's time, and that its clock does not leap
 *   lanes.c    the agenda: which account is walked when
 *   walk.c     one walk's steps with the ledger: lease, deliveries, time, end
 *   reading.c  one walk's steps with the platform: login, look-ups, pages. It reads; nothing here can write
 *   apply.c    decisions of core/ to the ledger, 64 at a time, and what it answers
 *   turn.c     everything that waits for the ledger, in one round trip
 *
 * A walk that cannot go on leaves everything as uncertain as it was. One thread; nothing here is shared.
 */
#ifndef LANDFALL_RECONCILER_RECONCILER_H
#define LANDFALL_RECONCILER_RECONCILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/comeback.h"
#include "ledger/leap.h"
#include "ledger/reads.h"
#include "ledger/round.h"
#include "platforms/auth.h"
#include "platforms/fleet.h"
#include "platforms/marks.h"
#include "platforms/search.h"
#include "platforms/transfer.h"
#include "reconciler/gauges.h"
#include "reconciler/subject.h"
#include "session/keeper.h"
#include "runtime/config.h"

#define RECONCILER_WALKS_MAX 8
#define RECONCILER_AGENDA_MS 500  /* the agenda is read this often */
#define RECONCILER_BUSY_MS   2000 /* an account that somebody else walks is asked for again after this */

#define WALK_TTL_MS         15000 /* of the lease: a walk that died holds its account no longer */
#define WALK_PROLONG_MS     4000
#define WALK_DELIVERIES_MAX 10000 /* the rest comes with the next walk */
#define WALK_PATIENCE_MS    60000 /* a longer wait ends the walk; the account is looked at again then */
#define WALK_READ_LIMIT_MS  30000 /* for one page or look-up */

struct lane {
    struct channel *channel;
    struct keeper keeper;   /* of channels with sessions */
    struct transfer *login; /* in flight: it goes on where its walk ends, for what it brings may exist once only */
    bool walking;
    size_t next_offset;             /* the next walk starts there in the channel's uncertain deliveries */
    struct resolve_outlook carried; /* what the deliveries before that offset want */
    int64_t ask_boot_ms;            /* not asked for before: somebody else walks it */
    int vanished;                   /* accepted posts in a row that were gone when they were read back */
    bool refusal_told;              /* that the credential is refused; until a read succeeds */
    bool wanted;                    /* drain: it is to be walked */
    int64_t wanted_boot_ms;         /* drain: not before */
    const struct reads_name *asked; /* look: its walk takes these, in any state; NULL: the uncertain ones */
    size_t asked_count;
    const char *asked_id; /* look: they are asked for by this id; NULL: by what their rows know */
};

/* The order is the order of a walk; WALK_READ, WALK_SENT and WALK_WAIT come again and again. */
enum walk_phase {
    WALK_FREE,
    WALK_BEGIN,   /* asks for the lease */
    WALK_LOAD,    /* reads the uncertain deliveries, 64 a turn */
    WALK_CLOCK,   /* reads the server's time: what is searched from here on counts from then */
    WALK_READ,    /* the next request is made */
    WALK_SENT,    /* a request is in flight */
    WALK_WAIT,    /* the platform asked to wait, or did not answer */
    WALK_RESOLVE, /* says what was found, 64 a turn */
    WALK_END,     /* gives the lease back */
};

enum walk_asked { WALK_ASKED_ID, WALK_ASKED_KEY, WALK_ASKED_SEARCH };

/* One decision on its way to the ledger. */
struct apply_item {
    struct subject *subject;
    struct delivery_decision decision;
    struct decide_request request;
    int tries; /* times the row was another one than thought */
    bool in_round, done;
};

struct walk {
    enum walk_phase phase;
    struct lane *lane;
    struct channel_request lease, note; /* begin, prolong and end; block and pause */
    bool lease_due, note_due;           /* to be told */
    bool lease_in_round, note_in_round;
    int64_t lease_end_boot_ms; /* nothing is done under it after this */
    int64_t lease_asked_boot_ms, prolong_boot_ms;
    int64_t retry_boot_ms; /* the ledger refused it for now: not before */
    int64_t started_boot_ms;

    struct reads_name *names; /* of the uncertain deliveries, as they stood when the walk began */
    size_t name_count, loaded;
    bool more;          /* there are more than one walk takes */
    size_t passed_over; /* of the uncertain deliveries that were read: not asked for */
    struct subject *subjects;
    size_t subject_count;
    struct mark_index *table;
    struct search *search;

    int64_t searched_from_ms, no_absence_before_ms; /* server's time */
    int64_t looks;                                  /* before this walk */
    bool channel_paused;

    enum walk_asked asked;
    struct subject *subject; /* a look-up's */
    size_t lookup_at[SUBJECT_ROUTES];
    struct transfer *transfer;
    int tries;             /* requests in a row that brought nothing */
    int ends;              /* of the session, in a row */
    int64_t session_count; /* which of the keeper's sessions the request carries */
    int64_t resume_boot_ms;

    struct apply_item *items; /* REQUEST_BATCH_MAX of them */
    size_t item_count, decided;
    int64_t apply_boot_ms; /* the ledger refused for now: not before */

    struct resolve_outlook outlook;
    size_t left;        /* that stay uncertain */
    size_t settled;     /* that do not */
    bool changed;       /* some row was changed */
    bool out_of_reach;  /* the platform could not be read */
    bool reads_only;    /* of a dry run */
    const char *result; /* how the reading ended: a literal, for logs and metrics */
    char why[256];      /* for people; "" */
};

/* What became of one delivery, for whoever tells people. */
struct resolved {
    const struct walk *walk;
    const struct subject *subject; /* its row is as it was before, with its state */
    enum delivery_state state;     /* as it is now */
    enum delivery_reason reason;
    int64_t due_ms; /* uncertain: looked at again; approved: sent again (0: now) */
};

struct reconciler {
    const struct config *config;
    struct fleet fleet;
    char name[64];
    struct ledger ledger;
    struct redis_link *link;
    struct ledger_round *round;
    struct transfer_pool *pool;
    struct keeper_fleet keepers;
    struct lane *lanes; /* one for each channel, in their order */
    size_t lane_count;
    struct walk walks[RECONCILER_WALKS_MAX];
    struct gauges gauges;
    char (*strangers)[IDENTITY_CHANNEL_BYTES]; /* channels that are not configured here and were said to be */
    size_t stranger_count;
    bool dry_run;  /* takes no lease and tells the ledger nothing: reads, decides, says */
    bool draining; /* lanes that are wanted are walked, whatever the agenda says */
    bool stopping;
    int exit_code;          /* of a stop that a person must look at; 0: none */
    int64_t next_agenda_ms; /* boot time */
    bool clock_known;
    struct comeback comeback;
    struct leap leap; /* link_clock() follows every one of them */
    int64_t resolved_count;
    /* Which deliveries walks take; NULL: all. The others stay as they are. */
    bool (*picks)(void *context, const char *delivery);
    /* Told of every delivery that a walk is done with, and of the end of every walk; NULL: nobody. */
    void (*tell_resolved)(void *context, const struct resolved *resolved);
    void (*tell_walk)(void *context, const struct walk *walk, int64_t next_look_ms);
    void *tell_context;
};

/* The server's time, at least. */
int64_t reconciler_now_ms(const struct reconciler *r);
/* Reads the server's time and the epoch, and notices if its clock leapt: then *overview says that no absence counts for
 * a while, and the ledger is told. False: Redis did not answer, or it is another environment's (the process stops). */
MUSTCHECK bool reconciler_read_time(struct reconciler *r, struct reads_overview *overview, struct errbuf *err);
/* Ends when the walks under way have given their leases back; exit_code 0 is an orderly end. */
void reconciler_stop(struct reconciler *r, int exit_code);

/* ---- lanes.c ---- */
struct lane *lane_of(struct reconciler *r, const char *channel); /* NULL: not configured here */
/* Begins walks for accounts that are due, as far as there is room. */
void lanes_turn(struct reconciler *r);
/* When lanes_turn() has something to do again, as far as that is known; boot time, INT64_MAX: not known. */
int64_t lanes_wake_boot_ms(const struct reconciler *r);

/* ---- walk.c ---- */
/* False: no room. */
bool walk_begin(struct reconciler *r, struct lane *lane);
/* One step that needs no round: reads of the ledger, the next request to the platform. */
void walk_step(struct reconciler *r, struct walk *w);
/* Puts what waits for the ledger into the round, and takes what came back. */
void walk_add(struct reconciler *r, struct walk *w);
void walk_answered(struct reconciler *r, struct walk *w);
/* The process ends: what was not yet decided stays as it is. */
void walk_stop(struct reconciler *r, struct walk *w);
/* Forgets the walk, whatever it was doing; its lease ends by itself. */
void walk_drop(struct reconciler *r, struct walk *w);
/* When it wants its next step, boot time; INT64_MAX: it waits for an answer. */
int64_t walk_wake_boot_ms(const struct walk *w, int64_t now_boot_ms);
bool walk_wants_round(const struct walk *w, int64_t now_boot_ms);

/* ---- reading.c ---- */
void reading_step(struct reconciler *r, struct walk *w);
/* Collects finished transfers. */
void reading_collect(struct reconciler *r);
/* True while a login is in flight. */
bool reading_logs_in(const struct reconciler *r);
/* The reading ends here; what was found so far counts. `result` is a literal. */
void reading_give_up(struct walk *w, enum search_end end, const char *result, const char *why);

/* ---- apply.c ---- */
void apply_begin(struct reconciler *r, struct walk *w);
/* Decides about the next deliveries, if none are under way. True if there is something for the ledger. */
bool apply_fill(struct reconciler *r, struct walk *w);
void apply_answered(struct reconciler *r, struct walk *w);
/* Decides about all deliveries and tells what would become of them. */
void apply_dry_run(struct reconciler *r, struct walk *w);

/* ---- turn.c ---- */
/* Everything that waits for the ledger, in one round trip. */
void turn_round(struct reconciler *r);

#endif

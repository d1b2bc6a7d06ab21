/* SPDX-License-Identifier: MIT */
/*
 * worker: what one worker process holds.
 *
 * A slot is one delivery on its way: from the entry (or what take handed over) to the settled row. Slots are a fixed
 * array, so a worker's memory is bounded and "full" means something. A lane is this worker's side of one channel: how
 * many slots it holds, its session, its breaker's memory.
 *
 *   intake.c   entry or taken work -> a slot with a frozen request           -> SLOT_CLAIM
 *   round.c    claims, settlements, takes in rounds, of which one is under way while the loop goes on
 *   claimed.c  what the answer to a claim leads to                           SLOT_CLAIM -> SLOT_PREPARE or send.c
 *   prepare.c  steps, and the request made of them goes to the ledger        SLOT_PREPARE -> SLOT_FREEZE -> send.c
 *                                                                            SLOT_PREPARE <-> SLOT_PAUSE
 *   send.c     login and the write request; the only file that starts one    SLOT_LOGIN -> SLOT_SENDING
 *   copied.c   where copies are waited for, between these two                SLOT_COPIES
 *   word.c     what is to be told about a channel meanwhile
 *   settle.c   outcome -> decision of core/ -> what the ledger is to write   SLOT_SETTLE -> SLOT_FREE
 *
 * One thread; nothing here is shared.
 */
#ifndef LANDFALL_WORKER_WORKER_H
#define LANDFALL_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "keys/content.h"
#include "keys/identity.h"
#include "keys/key.h"
#include "ledger/agenda.h"
#include "ledger/attempt_report.h"
#include "ledger/copies.h"
#include "ledger/feed.h"
#include "ledger/comeback.h"
#include "ledger/leap.h"
#include "ledger/round.h"
#include "platforms/auth.h"
#include "platforms/channel.h"
#include "platforms/form.h"
#include "platforms/request.h"
#include "platforms/transfer.h"
#include "platforms/verdict.h"
#include "runtime/config.h"
#include "session/keeper.h"
#include "worker/attempt.h"
#include "worker/tally.h"
#include "worker/word.h"

#define WORKER_HEARTBEAT_MS         10000
#define WORKER_RECLAIM_MS           5000
#define WORKER_TIDY_RECLAIMS        10   /* after so many times reclaim_idle_ms a consumer with nothing pending goes */
#define WORKER_AGENDA_MS            500  /* the agenda is read this often while nothing is known to be due */
#define WORKER_REFILL_MS            20   /* free slots of a channel that others wait for are gathered for so long */
#define WORKER_IDLE_CHECK_MS        500  /* --until-idle asks the ledger this often */
#define WORKER_TURN_MAX_MS          1000 /* no turn of the loop waits longer: the heartbeat of /live */
#define WORKER_GATHER_MS            16 /* with many transfers in flight, a round waits this long for company at most */
#define WORKER_PAUSED_BY_CREDENTIAL "credential"    /* until it changes */
#define WORKER_PAUSED_BY_CONFIG     "configuration" /* the channel says `paused` */
#define WORKER_HOME_MS              500 /* a server that does not say whose it is (loading, ..) is asked this often */
#define WORKER_POISON_COUNT         5 /* an entry that was handed out so often without a claim is put aside unparsed */

enum slot_phase {
    SLOT_FREE,
    SLOT_CLAIM,
    SLOT_LOGIN,
    SLOT_PREPARE, /* a step is in flight */
    SLOT_PAUSE,   /* what a step asks for is not ready yet */
    SLOT_FREEZE,  /* the ledger is to have the request before it is sent */
    SLOT_COPIES,  /* ready to be sent, once enough copies of the claim are acknowledged */
    SLOT_SENDING,
    SLOT_SETTLE,
};

/* Who a transfer belongs to: the first member of slot and lane. */
enum owner_kind { OWNER_SLOT, OWNER_LANE };
struct owner {
    enum owner_kind kind;
};

struct lane {
    struct owner owner;
    struct channel *channel;
    int slots;                        /* held by this channel now */
    struct keeper keeper;             /* of channels with sessions */
    struct outcome login_outcome;     /* of the last login, where it failed */
    bool login_failed;                /* until its waiters were told */
    bool more;                        /* deliveries wait for it: a slot that comes free is theirs */
    bool healthy;                     /* our last word to the ledger about this channel was a success */
    struct word pause, block, health; /* what is to be told about the channel */
    bool telling;                     /* in the worker's list of lanes of which one of these is due */
    struct lane *next_telling;
    bool pause_unsure;     /* an answer to `pause` was lost: it may be this one that paused */
    const char *pause_why; /* for the alert; NULL: there is none */
    int pause_status;      /* of the answer that refused the credential; 0: none did */
};

struct slot {
    struct owner owner;
    enum slot_phase phase; /* this and what follows is looked at in every turn: it stands close together */
    bool in_round;         /* its request is in the ledger's round, and the answer was not looked at */
    bool renewing;         /* so is renew */
    bool claim_sent;       /* the ledger may have granted it */
    int64_t retry_boot_ms; /* the ledger refused it for now: not before */
    int64_t ready_boot_ms; /* since when it waits for a round */
    int64_t renew_boot_ms; /* while steps run, the lease is prolonged then */
    int64_t pause_boot_ms; /* the step is asked again then */
    struct lane *lane;     /* NULL: a channel that this worker does not know */
    char channel[IDENTITY_CHANNEL_BYTES];
    char delivery[IDENTITY_NAME_BYTES];
    char after[IDENTITY_NAME_BYTES];        /* delivery that must be published first; "": none */
    char after_id[DELIVERY_EXT_ID_MAX + 1]; /* what it is known by, once that was told */
    char after_url[ROW_URL_BYTES];
    struct content content;
    bool has_content;
    char entry_id[FEED_ENTRY_BYTES]; /* of the queue; "" where take handed it out */
    char *item;                      /* the item's bytes as they were given; owned */
    size_t item_len;
    int64_t approved_at_ms;
    int64_t not_before_ms, not_after_ms; /* 0: none */
    int generation;
    char key[KEY_BYTES];
    char body_hash[HASH_HEX_BYTES];
    char *frozen; /* the frozen write request; owned; NULL while steps are to come */
    size_t frozen_len;
    size_t step;    /* of the channel's prepare: the first that is to be sent */
    char *prepared; /* what the steps gave, JSON; owned */
    size_t prepared_len;
    size_t each_at;              /* requests of the step that were answered */
    int64_t asked;               /* times that the newest of them was asked again */
    struct request_files files;  /* bytes that steps kept; owned */
    struct program_input *input; /* what programs see; owned */
    struct form form;            /* the same, to be filled */
    bool has_form;
    char token[CLAIM_TOKEN_BYTES];
    char run_id[LINK_RUN_ID_BYTES]; /* of the server that was first asked with this token; "-" if that was left */
    struct claim_request claim;
    enum { COPIES_ENOUGH, COPIES_AWAITED, COPIES_MISSING } copied; /* of what the ledger answered last */
    uint64_t copies_mark;
    struct attempt attempt;
    struct transfer *transfer;
    int64_t deadline_boot_ms; /* a write starts before */
    struct renew_request renew;
    int64_t session_count; /* which of the keeper's sessions the request carries */
    int64_t started_boot_ms;
    bool has_outcome; /* known before the send: the item does not fit */
    enum { TRANSFER_NONE, TRANSFER_FAILED, TRANSFER_ANSWERED } transfer_end; /* of the write request */
    struct attempt_report report;
    bool not_taken; /* the ledger was told of the outcome and did not take it */
    enum { SPOOL_OUT, SPOOL_WRITTEN, SPOOL_IN } spooled;
    /* The rest is not cleared between two deliveries, for each of these is written whole, by whoever knows it first,
     * before anybody looks at it. */
    struct delivery_row row; /* as the ledger said last: once the claim is granted */
    struct outcome outcome;  /* of the attempt: once has_outcome is set, or the attempt is over */
    struct delivery_decision decision;
    struct decide_request decide; /* with the decision: from SLOT_FREEZE or SLOT_SETTLE on */
};

struct gauges; /* worker/gauges.h */

struct worker {
    const struct config *config;
    struct gauges *gauges;
    struct channel_set *channels;
    struct ledger ledger;
    struct redis_link *link;
    struct feed *feed;
    struct copies *copies; /* NULL: none are waited for */
    struct ledger_round *round;
    bool round_heard; /* answers came that round_heed() has not looked at */
    struct leap leap;
    struct comeback comeback;
    struct spool *spool; /* NULL: outcomes are kept in memory only */
    struct transfer_pool *pool;
    struct keeper_fleet fleet;
    struct lane *lanes; /* one for each channel, in their order */
    size_t lane_count;
    struct lane *telling;        /* those that have something to tell: of ten thousand, few */
    struct lane **session_lanes; /* those whose channel has a session */
    size_t session_lane_count;
    struct slot *slots;
    int slot_count, slots_used;
    int free_from;                         /* all slots before this one are in use */
    struct delivery_policy unknown_policy; /* of channels that this worker does not know */
    struct feed_batch backlog;             /* entries that were read and have no slot yet */
    size_t backlog_at;
    struct agenda_due due;
    struct take_request takes[AGENDA_DUE_MAX];
    struct take_channel take_channels[AGENDA_DUE_MAX];
    size_t take_count;
    bool takes_in_round;
    int64_t takes_since_ms; /* boot time */
    bool stopping, until_idle;
    bool at_home;               /* the server that the link speaks to is this environment's */
    int64_t next_home_check_ms; /* boot time */
    int64_t grace_end_boot_ms;
    int64_t next_agenda_ms, next_reclaim_ms, next_tidy_ms, next_heartbeat_ms, next_idle_check_ms; /* boot time */
    uint64_t agenda_reads; /* that were answered */
    int exit_code;         /* of a stop that a person must look at; 0: none */
    struct tally tally;
};

/* ---- slots (slot.c) ---- */
/* The server's time, at the earliest. */
int64_t ledger_now(const struct worker *w);
/* Those that are not in use, nor kept for what is asked of the agenda. */
int slots_free(const struct worker *w);
struct slot *slot_acquire(struct worker *w); /* in SLOT_CLAIM, with a token; NULL where all are in use */
void slot_release(struct worker *w, struct slot *slot);
void slot_phase_set(struct slot *slot, enum slot_phase phase);
void slot_lane_set(struct slot *slot, struct lane *lane);
/* The agenda is read soon, if deliveries are known to wait for the channel. */
void lane_refill(struct worker *w, struct lane *lane);
/* What programs see of the row. Borrowed from the slot. */
struct request_row slot_row(struct slot *slot);
/* Forgets the rendered request. */
void slot_request_drop(struct slot *slot);
struct lane *lane_of(struct worker *w, const char *channel); /* NULL: not configured here */
int lane_room(const struct worker *w, const struct lane *lane);

/* ---- intake.c ---- */
/* Takes entries from number `from` on while there are slots; returns the number of the first that was not taken. */
size_t intake_entries(struct worker *w, const struct feed_batch *batch, size_t from);
void intake_taken(struct worker *w, const struct take_request *take);
/* Renders, freezes, and makes the slot's claim; an item that does not fit its channel leaves an outcome for later. */
void intake_claim(struct worker *w, struct slot *slot);

/* ---- work.c ---- */
/* Redis answers, and it is this environment's. */
bool work_connected(const struct worker *w);
/* It is the environment `theirs`: the worker is told to stop, with words. */
void work_foreign(struct worker *w, const char *theirs);
/* Connection, agenda, what dead workers left: what asks Redis and waits for the answer. Between two rounds. */
void work_ask(struct worker *w);
/* What the feed has brought: fills free slots. */
void work_take_in(struct worker *w);
/* True if new entries may be asked for. */
bool work_has_room(const struct worker *w);

/* ---- round.c ---- */
/* Sends everything that waits for the ledger, if a round is due and none is under way. */
void round_begin(struct worker *w);
/* Reads what the ledger has answered. What it says of slots is looked at by round_heed(), so that the next round can
 * leave first. */
void round_hear(struct worker *w);
void round_heed(struct worker *w);
/* The slot's request in the round, if there is one, is not what it asks any more. */
void round_recall(struct worker *w, struct slot *slot);

/* ---- claimed.c ---- */
/* The ledger has answered the slot's claim, or not. */
void claimed_answered(struct worker *w, struct slot *slot);

/* ---- send.c ---- */
void send_begin(struct worker *w, struct slot *slot);
/* Starts a step before the write, takes the request; the slot is in SLOT_PREPARE then. */
void send_step(struct worker *w, struct slot *slot, struct http_request *request);
/* Something happened to the attempt: does what comes next. */
void send_advance(struct worker *w, struct slot *slot, enum attempt_event event);
/* Slots that wait for a session: on, or over. */
void send_waiting(struct worker *w);
/* The write, if its time has not passed; where copies of its claim are awaited, the slot waits for them in SLOT_COPIES,
 * and copied.c calls this again when they are there or will not come. */
void send_write(struct worker *w, struct slot *slot);
/* Collects finished transfers. */
void send_collect(struct worker *w);
/* The grace time is over: what is in flight is given up, so that its row says so before the process ends. */
void send_give_up(struct worker *w);

/* ---- copied.c ---- */
/* The ledger has answered what must not be forgotten once the write is sent. */
void copied_mark(struct worker *w, struct slot *slot);
/* What was heard of copies since: slots that waited for them are sent, or given back. */
void copied_turn(struct worker *w);

/* ---- prepare.c ---- */
/* Sends the attempt's next step, or passes over it. */
void prepare_step(struct worker *w, struct slot *slot);
/* The step's transfer has ended. */
void prepare_collect(struct worker *w, struct slot *slot, struct transfer *transfer);
/* Slots whose step is to be asked again: on. */
void prepare_waiting(struct worker *w);
/* All steps are done: makes the write request for the ledger to keep. */
void prepare_freeze(struct worker *w, struct slot *slot);
/* The ledger has answered whether it has it, or not. */
void prepare_frozen(struct worker *w, struct slot *slot);
/* The lease ends then: until when a write may start, and when it is to be prolonged. */
void prepare_lease(struct worker *w, struct slot *slot, int64_t lease_end_ms);
/* True if the lease is to be prolonged now. */
bool prepare_renews(const struct slot *slot, int64_t now_boot_ms);
void prepare_renew(struct worker *w, struct slot *slot);
/* After a round: the lease is prolonged, or not. */
void prepare_renewed(struct worker *w, struct slot *slot);

/* ---- settle.c ---- */
/* The attempt is over: decides with the row as it is known. */
void settle_begin(struct worker *w, struct slot *slot);
/* Before a round: what was decided for another server than the one that it would be told to is decided again. What is
 * under way was told to that one. */
void settle_review(struct worker *w, struct slot *slot);
/* The ledger has answered the slot's decision, or not. */
void settle_answered(struct worker *w, struct slot *slot);
/* Has the ledger pause the channel, or lift a pause that has this reason. why is a literal. */
void settle_pause(struct worker *w, struct lane *lane, const char *why);
void settle_lift(struct worker *w, struct lane *lane, const char *why);
/* The ledger counts this many transport failures of the channel in a row. */
void settle_health(struct worker *w, struct lane *lane, int64_t failures);

/* Takes nothing more and ends when what is in hand is settled; exit_code 0 is an orderly end. */
void worker_stop(struct worker *w, int exit_code);

#endif

/* SPDX-License-Identifier: MIT */
/* The words of the protocol, once: states, events, reasons, sources, standings.
 *
 * Each table expands to an enum and to names. Rows in Redis, logs, metrics, the command line and the documentation all
 * use these names; a script in Lua gets them as arguments. Changing a name changes the ledger's format:
 * docs/contract.md must change with it. */
#ifndef LANDFALL_CORE_REASON_H
#define LANDFALL_CORE_REASON_H

#define DELIVERY_STATES(X)                                                                                             \
    X(DS_NONE, "none")           /* no row: nobody has spoken of this delivery yet */                                  \
    X(DS_APPROVED, "approved")   /* to be sent */                                                                      \
    X(DS_CLAIMED, "claimed")     /* the marker is written, it may be being sent */                                     \
    X(DS_PUBLISHED, "published") /* settled: it is out */                                                              \
    X(DS_REJECTED, "rejected")   /* settled: it will not go out */                                                     \
    X(DS_UNCERTAIN, "uncertain") /* outcome unknown, stands in the journal */                                          \
    X(DS_HELD, "held")           /* waits for a person */

/* Who speaks: S the producer, W a worker before the send, R a worker's report of an attempt, E evidence, O an operator.
 */
#define DELIVERY_EVENTS(X)                                                                                             \
    X(EV_SUBMIT, "submit")               /* S a producer brings it */                                                  \
    X(EV_CLAIM, "claim")                 /* W wants to send it now */                                                  \
    X(EV_LEASE_GONE, "lease_gone")       /* W found it claimed without a lease */                                      \
    X(EV_COMMITTED, "committed")         /* R the platform has it */                                                   \
    X(EV_NO_ID, "no_id")                 /* R the platform says it has it and does not say under which id */           \
    X(EV_REFUSED, "refused")             /* R refused for good */                                                      \
    X(EV_NOT_SENT, "not_sent")           /* R provably nothing left */                                                 \
    X(EV_UNSENDABLE, "unsendable")       /* R nothing left, and as the row stands nothing ever can */                  \
    X(EV_NOT_COMMITTED, "not_committed") /* R provably not executed, may be tried again */                             \
    X(EV_WAIT, "wait")                   /* R not executed, the platform asks to wait */                               \
    X(EV_CREDENTIAL, "credential")       /* R not executed, the credential was refused */                              \
    X(EV_UNKNOWN, "unknown")             /* R nobody knows */                                                          \
    X(EV_CONFLICT, "conflict")           /* R the platform speaks of another request of ours */                        \
    X(EV_DELETED, "deleted")             /* R it was published under this key and then deleted */                      \
    X(EV_FOUND, "found")                 /* E the post was read */                                                     \
    X(EV_ABSENT, "absent")               /* E a complete search did not find it */                                     \
    X(EV_UNSEEN, "unseen")               /* E the search was incomplete, failed, or cannot be made */                  \
    X(EV_GONE, "gone")                   /* E the id that it was known under does not exist */                         \
    X(EV_RETRY, "retry")                 /* O */                                                                       \
    X(EV_APPROVE, "approve")             /* O */                                                                       \
    X(EV_CONFIRM, "confirm")             /* O saw the post and names its id */                                         \
    X(EV_CANCEL, "cancel")               /* O */

#define DELIVERY_REASONS(X)                                                                                            \
    X(RS_NONE, "")                                                                                                     \
    /* approved */                                                                                                     \
    X(RS_NEW, "new")                                                                                                   \
    X(RS_SCHEDULED, "scheduled")                                                                                       \
    X(RS_RETRY, "retry")                                                                                               \
    X(RS_NOT_SENT, "not_sent")                                                                                         \
    X(RS_PACED, "paced")                                                                                               \
    X(RS_BLOCKED, "blocked")                                                                                           \
    X(RS_PAUSED, "paused")                                                                                             \
    X(RS_CREDENTIAL, "credential")                                                                                     \
    X(RS_CHANNEL_FULL, "channel_full")                                                                                 \
    X(RS_QUEUED, "queued")                                                                                             \
    X(RS_PREDECESSOR, "predecessor") /* also held: the one before it was rejected or held */                           \
    X(RS_UNKNOWN_CHANNEL, "unknown_channel")                                                                           \
    X(RS_RAMP, "ramp")                                                                                                 \
    X(RS_REPLAY, "replay")                                                                                             \
    X(RS_ABSENT, "absent") /* also held: the channel asks a person before it posts again */                            \
    X(RS_OPERATOR, "operator")                                                                                         \
    X(RS_LEDGER_REWOUND, "ledger_rewound")                                                                             \
    /* claimed */                                                                                                      \
    X(RS_SENDING, "sending")                                                                                           \
    /* published */                                                                                                    \
    X(RS_CONFIRMED, "confirmed")                                                                                       \
    /* rejected */                                                                                                     \
    X(RS_REFUSED, "refused")                                                                                           \
    X(RS_REDIRECTED, "redirected")                                                                                     \
    /* uncertain */                                                                                                    \
    X(RS_NO_ANSWER, "no_answer")                                                                                       \
    X(RS_BAD_ANSWER, "bad_answer")                                                                                     \
    X(RS_CONFLICT, "conflict")                                                                                         \
    X(RS_NO_ID, "no_id")                                                                                               \
    X(RS_LEASE_LOST, "lease_lost")                                                                                     \
    X(RS_VERIFY, "verify")                                                                                             \
    X(RS_WINDOW_CLOSED, "window_closed")                                                                               \
    X(RS_REFUSED_IN_DOUBT, "refused_in_doubt")                                                                         \
    X(RS_NOT_SENT_IN_DOUBT, "not_sent_in_doubt")                                                                       \
    X(RS_UNSENDABLE_IN_DOUBT, "unsendable_in_doubt")                                                                   \
    X(RS_EXPIRED_IN_DOUBT, "expired_in_doubt")                                                                         \
    X(RS_SPENT_IN_DOUBT, "spent_in_doubt")                                                                             \
    X(RS_POISON_IN_DOUBT, "poison_in_doubt")                                                                           \
    X(RS_LATE_REPORT, "late_report")                                                                                   \
    /* held */                                                                                                         \
    X(RS_APPROVAL, "approval")                                                                                         \
    X(RS_EXPIRED, "expired")                                                                                           \
    X(RS_BACKFILL, "backfill")                                                                                         \
    X(RS_SPENT, "spent")                                                                                               \
    X(RS_POISON, "poison")                                                                                             \
    X(RS_UNSENDABLE, "unsendable")                                                                                     \
    X(RS_GONE, "gone")                                                                                                 \
    X(RS_NO_EVIDENCE, "no_evidence")

#define DELIVERY_SOURCES(X)                                                                                            \
    X(SRC_NONE, "")                                                                                                    \
    X(SRC_RESPONSE, "response")   /* the platform's answer to the write request */                                     \
    X(SRC_REPLAY, "replay")       /* its answer to an identical repeat */                                              \
    X(SRC_READ_BACK, "read_back") /* the post was found by reading */                                                  \
    X(SRC_OPERATOR, "operator")   /* a person said so */

#define X(id, name) id,
enum delivery_state { DELIVERY_STATES(X) DS_COUNT };
enum delivery_event { DELIVERY_EVENTS(X) EV_COUNT };
enum delivery_reason { DELIVERY_REASONS(X) RS_COUNT };
enum delivery_source { DELIVERY_SOURCES(X) SRC_COUNT };
#undef X

/* Names, for every value of the enum; never NULL. */
const char *delivery_state_name(enum delivery_state s);
const char *delivery_event_name(enum delivery_event e);
const char *delivery_reason_name(enum delivery_reason r);
const char *delivery_source_name(enum delivery_source s);

/* The value of a name, or -1 for a name that the table does not hold (a newer version, or somebody's hand). */
int delivery_state_from_name(const char *name);
int delivery_event_from_name(const char *name);
int delivery_reason_from_name(const char *name);
int delivery_source_from_name(const char *name);

#endif

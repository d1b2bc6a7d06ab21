/* SPDX-License-Identifier: MIT */
/*
 * errors: what an error of Redis means for us, as one table.
 *
 * An error reply says something about the server or about our rights, never about a delivery: no row is missing, no
 * attempt is used up because of one. Words that the table does not hold mean "wait": a newer server may have new ones.
 * READONLY and NOSCRIPT count wherever they stand in the text, because servers before 7 wrap errors of scripts.
 */
#ifndef LANDFALL_LEDGER_ERRORS_H
#define LANDFALL_LEDGER_ERRORS_H

#include <stddef.h>

#define ERRORS_WORD_BYTES 24

enum errors_action {
    ERRORS_WAIT,      /* the server cannot now; ask again later on the same connection */
    ERRORS_RECONNECT, /* this connection, or this server, is the wrong one */
    ERRORS_LOAD,      /* the script is not in the server's cache: send its text */
    ERRORS_STOP,      /* nobody but a person can change it: the process ends with the words of errors_advice() */
};

/* X(beginning of the text as Redis writes it, action, what a person can do about it); the first that fits counts */
#define ERRORS_TABLE(X)                                                                                                \
    X("NOSCRIPT", ERRORS_LOAD, "the script's text is sent again")                                                      \
    X("READONLY", ERRORS_RECONNECT, "this server is a replica now")                                                    \
    X("MASTERDOWN", ERRORS_RECONNECT, "this server is a replica whose master is away")                                 \
    X("UNBLOCKED", ERRORS_RECONNECT, "the server changed its role while it was asked")                                 \
    X("NOAUTH", ERRORS_RECONNECT, "the server wants a password: give it redis.password_file")                          \
    X("WRONGPASS", ERRORS_RECONNECT, "the password was refused: check redis.password_file, and the user in redis.url") \
    X("NOPERM", ERRORS_RECONNECT, "the user lacks the right to this command or key")                                   \
    X("MOVED", ERRORS_RECONNECT, "the partition lives on another node of the cluster now")                             \
    X("ASK", ERRORS_WAIT, "the partition is being moved to another node")                                              \
    X("TRYAGAIN", ERRORS_WAIT, "the slot is being moved")                                                              \
    X("CLUSTERDOWN", ERRORS_WAIT, "the cluster has no quorum")                                                         \
    X("LOADING", ERRORS_WAIT, "the server reads its data")                                                             \
    X("BUSY", ERRORS_WAIT, "somebody's script runs for long")                                                          \
    X("MISCONF", ERRORS_WAIT, "the server cannot write its snapshot: look at its disk")                                \
    X("OOM", ERRORS_WAIT, "the server is out of memory: raise maxmemory or archive settled deliveries")                \
    X("NOREPLICAS", ERRORS_WAIT, "too few replicas are connected")                                                     \
    X("NOGROUP", ERRORS_WAIT, "the consumer group is missing and is made again")                                       \
    X("EXECABORT", ERRORS_WAIT, "a command of the transaction was refused")                                            \
    X("WRONGTYPE", ERRORS_WAIT, "a key holds another type: somebody else writes under this prefix")                    \
    X("CROSSSLOT", ERRORS_STOP, "keys of one call lie in different slots: this is a fault of landfall, report it")     \
    X("NOPROTO", ERRORS_STOP, "the server does not speak this protocol")                                               \
    X("ERR max number of clients reached", ERRORS_WAIT, "the server takes no more connections: raise maxclients")      \
    X("ERR", ERRORS_WAIT, "see the server's text")

/* What the server refused for now, or could not be asked, is asked again after this. */
#define ERRORS_RETRY_MS 500

/* The action for the text of an error reply ("ERR max number of clients reached"). Any bytes are allowed. */
enum errors_action errors_action(const char *text);

/* The first word of the text, upper-case letters only, at most ERRORS_WORD_BYTES - 1; "?" where there is none. */
const char *errors_word(const char *text, char out[ERRORS_WORD_BYTES]);

/* What a person can do about it; never NULL. */
const char *errors_advice(const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * redis_db: a Redis in memory, for one caller: a command in, an answer out.
 *
 * It knows the commands that the scripts, the ledger and the script tests use (the table in redis_commands.c) and
 * answers every other one as Redis answers an unknown command. Its clock is set by the caller and stands still during a
 * command. It persists nothing, blocks nobody (a blocking read that finds nothing answers nil at once; who simulates a
 * client asks again) and knows one database, one user. A copy is a snapshot: taken in microseconds, because texts are
 * shared.
 *
 * Answers live until the next command. Nothing here ends the process over what a client sent.
 */
#ifndef SIM_REDIS_DB_H
#define SIM_REDIS_DB_H

#include "tests/sim/redis_object.h"

#define REDIS_RUN_ID_BYTES 41

enum redis_reply_kind { REDIS_NIL, REDIS_INTEGER, REDIS_BULK, REDIS_STATUS, REDIS_ERROR, REDIS_ARRAY };

struct redis_reply {
    enum redis_reply_kind kind;
    int64_t integer;
    const char *text; /* BULK, STATUS, ERROR */
    size_t len;
    struct redis_reply *child; /* ARRAY: count of them */
    size_t count;
};

struct redis_arg {
    const char *bytes;
    size_t len;
};

struct redis_db {
    struct redis_table keys; /* values are objects */
    int64_t now_us;          /* set by the caller */
    int64_t started_us;
    char run_id[REDIS_RUN_ID_BYTES];
    uint64_t random;           /* for HRANDFIELD */
    struct redis_text **dirty; /* names of keys that were written since redis_db_clean() */
    size_t dirty_count, dirty_room;
    uint64_t commands, scripts; /* run so far, those inside scripts included; scripts */
    struct redis_arena *arena;
    struct redis_table loaded; /* names of the scripts that this server knows */
    struct redis_lua *lua;     /* shared by all databases of a process; NULL: no scripts */
};

void redis_db_init(struct redis_db *db, struct redis_lua *lua);
void redis_db_fini(struct redis_db *db);
/* Data only: clock, run id and counters of `to` stay as they are. */
void redis_db_copy_data(struct redis_db *to, const struct redis_db *from);
void redis_db_flush(struct redis_db *db);
/* The server has restarted: it knows no scripts, and may have another id. */
void redis_db_restart(struct redis_db *db, char run_id);
void redis_db_clean(struct redis_db *db);

const struct redis_reply *redis_db_run(struct redis_db *db, size_t argc, const struct redis_arg *argv);

/* A look from outside, past expiry: NULL where there is no such key. */
struct redis_object *redis_db_peek(struct redis_db *db, const char *key, size_t len);
/* A field's value of a hash, or "". */
const char *redis_db_field(struct redis_db *db, const char *key, const char *field);

/* ---- for commands ---- */

struct redis_call {
    struct redis_db *db;
    size_t argc;
    const struct redis_arg *arg;
    struct redis_reply *reply;
};

int64_t redis_now_ms(const struct redis_db *db);
/* The object at a key, NULL where there is none; expired ones are gone. Without checks of its type. */
struct redis_object *redis_look(struct redis_db *db, const struct redis_arg *key);
/* The same, and false with the error as the answer where it is another type. */
bool redis_get(struct redis_call *c, size_t arg, enum redis_type type, struct redis_object **out);
/* Makes it where it is not there. NULL: the answer is an error. The key counts as written. */
struct redis_object *redis_make(struct redis_call *c, size_t arg, enum redis_type type);
void redis_delete(struct redis_db *db, const struct redis_arg *key);
/* The key's object was written; what has become empty goes. */
void redis_written(struct redis_call *c, size_t arg);

bool redis_arg_is(const struct redis_arg *arg, const char *word); /* without case */
bool redis_arg_integer(const struct redis_arg *arg, int64_t *out);
bool redis_arg_double(const struct redis_arg *arg, double *out);

/* ---- answers ---- */

void redis_say_nil(struct redis_reply *reply);
void redis_say_integer(struct redis_reply *reply, int64_t integer);
void redis_say_text(struct redis_reply *reply, const struct redis_text *text); /* borrowed */
void redis_say_bytes(struct redis_db *db, struct redis_reply *reply, const void *bytes, size_t len);
void redis_say_format(struct redis_db *db, struct redis_reply *reply, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void redis_say_score(struct redis_db *db, struct redis_reply *reply, double score);
void redis_say_status(struct redis_reply *reply, const char *literal);
void redis_say_error(struct redis_reply *reply, const char *literal);
void redis_say_error_format(struct redis_db *db, struct redis_reply *reply, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes it an array of count places, all nil. */
struct redis_reply *redis_say_array(struct redis_db *db, struct redis_reply *reply, size_t count);
void *redis_arena_take(struct redis_db *db, size_t bytes);
void redis_arena_reset(struct redis_db *db);

/* An argument in a text: %.*s */
#define REDIS_WORD(arg)    (int)((arg).len < 128 ? (arg).len : 128), (arg).bytes
#define REDIS_SYNTAX_ERROR "ERR syntax error"
#define REDIS_UNBALANCED_ERROR                                                                                         \
    "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
#define REDIS_INTEGER_ERROR "ERR value is not an integer or out of range"
#define REDIS_FLOAT_ERROR   "ERR value is not a valid float"

struct redis_command {
    const char *name;
    int arity; /* with the name; negative: at least */
    void (*run)(struct redis_call *c);
    bool not_in_scripts;
};

/* Every command, by name; NULL: unknown. */
const struct redis_command *redis_command_find(const struct redis_arg *name);
/* Runs a command whose arguments are right; for redis_db_run() and scripts. */
void redis_command_run(struct redis_call *c, bool in_script);

/* redis_lua.c */
struct redis_lua *redis_lua_new(void);
void redis_lua_free(struct redis_lua **lua);

#endif

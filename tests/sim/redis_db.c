/* SPDX-License-Identifier: MIT */
#include "tests/sim/redis_db.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

#define ARENA_BYTES ((size_t)64 * 1024)

/* ---- the arena of an answer ---- */

struct redis_arena {
    struct redis_arena *next; /* older, larger pieces of the same answer */
    size_t used, size;
    char bytes[];
};

static struct redis_arena *arena_new(size_t size, struct redis_arena *next)
{
    struct redis_arena *arena = xmalloc(sizeof *arena + size);
    *arena = (struct redis_arena){next, 0, size};
    return arena;
}

void *redis_arena_take(struct redis_db *db, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (db->arena == NULL || db->arena->used + bytes > db->arena->size)
        db->arena = arena_new(bytes > ARENA_BYTES ? bytes : ARENA_BYTES, db->arena);
    void *at = db->arena->bytes + db->arena->used;
    db->arena->used += bytes;
    return at;
}

void redis_arena_reset(struct redis_db *db)
{
    if (db->arena == NULL) return;
    while (db->arena->next != NULL) {
        struct redis_arena *next = db->arena->next;
        free(db->arena);
        db->arena = next;
    }
    db->arena->used = 0;
}

/* ---- answers ---- */

void redis_say_nil(struct redis_reply *reply)
{
    *reply = (struct redis_reply){.kind = REDIS_NIL};
}

void redis_say_integer(struct redis_reply *reply, int64_t integer)
{
    *reply = (struct redis_reply){.kind = REDIS_INTEGER, .integer = integer};
}

static void say(struct redis_reply *reply, enum redis_reply_kind kind, const char *text, size_t len)
{
    *reply = (struct redis_reply){.kind = kind, .text = text, .len = len};
}

void redis_say_text(struct redis_reply *reply, const struct redis_text *text)
{
    say(reply, REDIS_BULK, text->bytes, text->len);
}

void redis_say_bytes(struct redis_db *db, struct redis_reply *reply, const void *bytes, size_t len)
{
    char *copy = redis_arena_take(db, len + 1);
    if (len > 0) memcpy(copy, bytes, len);
    copy[len] = '\0';
    say(reply, REDIS_BULK, copy, len);
}

static void say_format(struct redis_db *db, struct redis_reply *reply, enum redis_reply_kind kind, const char *format,
                       va_list arguments) __attribute__((format(printf, 4, 0)));
static void say_format(struct redis_db *db, struct redis_reply *reply, enum redis_reply_kind kind, const char *format,
                       va_list arguments)
{
    char text[512];
    int len = vsnprintf(text, sizeof text, format, arguments);
    if (len >= (int)sizeof text) len = (int)sizeof text - 1;
    redis_say_bytes(db, reply, text, (size_t)len);
    reply->kind = kind;
}

void redis_say_format(struct redis_db *db, struct redis_reply *reply, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_format(db, reply, REDIS_BULK, format, arguments);
    va_end(arguments);
}

void redis_say_error_format(struct redis_db *db, struct redis_reply *reply, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_format(db, reply, REDIS_ERROR, format, arguments);
    va_end(arguments);
}

/* Redis prints a whole number without a point. */
void redis_say_score(struct redis_db *db, struct redis_reply *reply, double score)
{
    if (isinf(score))
        redis_say_format(db, reply, "%s", score > 0 ? "inf" : "-inf");
    else if (score == floor(score) && fabs(score) < 9.2e18)
        redis_say_format(db, reply, "%lld", (long long)score);
    else
        redis_say_format(db, reply, "%.17g", score);
}

void redis_say_status(struct redis_reply *reply, const char *literal)
{
    say(reply, REDIS_STATUS, literal, strlen(literal));
}

void redis_say_error(struct redis_reply *reply, const char *literal)
{
    say(reply, REDIS_ERROR, literal, strlen(literal));
}

struct redis_reply *redis_say_array(struct redis_db *db, struct redis_reply *reply, size_t count)
{
    struct redis_reply *child = redis_arena_take(db, (count > 0 ? count : 1) * sizeof *child);
    memset(child, 0, count * sizeof *child);
    *reply = (struct redis_reply){.kind = REDIS_ARRAY, .child = child, .count = count};
    return child;
}

/* ---- arguments ---- */

bool redis_arg_is(const struct redis_arg *arg, const char *word)
{
    size_t i = 0;
    while (i < arg->len && word[i] != '\0' && toupper((unsigned char)arg->bytes[i]) == word[i])
        i++;
    return i == arg->len && word[i] == '\0';
}

/* As Redis reads it: no blanks, no plus sign, no leading zeros. */
bool redis_arg_integer(const struct redis_arg *arg, int64_t *out)
{
    char text[24], again[24];
    if (arg->len == 0 || arg->len >= sizeof text) return false;
    memcpy(text, arg->bytes, arg->len);
    text[arg->len] = '\0';
    errno = 0;
    *out = strtoll(text, NULL, 10);
    snprintf(again, sizeof again, "%lld", (long long)*out);
    return errno == 0 && strcmp(text, again) == 0;
}

bool redis_arg_double(const struct redis_arg *arg, double *out)
{
    char text[64], *end;
    if (arg->len == 0 || arg->len >= sizeof text || isspace((unsigned char)arg->bytes[0])) return false;
    memcpy(text, arg->bytes, arg->len);
    text[arg->len] = '\0';
    *out = strtod(text, &end);
    return end == text + arg->len && !isnan(*out);
}

/* ---- keys ---- */

int64_t redis_now_ms(const struct redis_db *db)
{
    return db->now_us / 1000;
}

static void note_dirty(struct redis_db *db, struct redis_text *name)
{
    if (db->dirty_count == db->dirty_room) {
        db->dirty_room = db->dirty_room ? db->dirty_room * 2 : 64;
        db->dirty = xrealloc_array(db->dirty, db->dirty_room, sizeof *db->dirty);
    }
    db->dirty[db->dirty_count++] = redis_text_keep(name);
}

static void remove_entry(struct redis_db *db, struct redis_entry *entry)
{
    struct redis_object *object = entry->value;
    note_dirty(db, entry->name);
    redis_table_remove(&db->keys, entry);
    redis_object_free(&object);
}

struct redis_object *redis_look(struct redis_db *db, const struct redis_arg *key)
{
    struct redis_entry *entry = redis_table_find(&db->keys, key->bytes, key->len);
    if (entry == NULL) return NULL;
    struct redis_object *object = entry->value;
    if (object->expires_ms == 0 || object->expires_ms > redis_now_ms(db)) return object;
    remove_entry(db, entry);
    return NULL;
}

void redis_delete(struct redis_db *db, const struct redis_arg *key)
{
    struct redis_entry *entry = redis_table_find(&db->keys, key->bytes, key->len);
    if (entry != NULL) remove_entry(db, entry);
}

bool redis_get(struct redis_call *c, size_t arg, enum redis_type type, struct redis_object **out)
{
    *out = redis_look(c->db, &c->arg[arg]);
    if (*out == NULL || (*out)->type == type) return true;
    redis_say_error(c->reply, "WRONGTYPE Operation against a key holding the wrong kind of value");
    return false;
}

struct redis_object *redis_make(struct redis_call *c, size_t arg, enum redis_type type)
{
    struct redis_object *object;
    if (!redis_get(c, arg, type, &object)) return NULL;
    struct redis_entry *entry = redis_table_put(&c->db->keys, c->arg[arg].bytes, c->arg[arg].len);
    if (object == NULL) entry->value = object = redis_object_new(type);
    note_dirty(c->db, entry->name);
    return object;
}

void redis_written(struct redis_call *c, size_t arg)
{
    struct redis_entry *entry = redis_table_find(&c->db->keys, c->arg[arg].bytes, c->arg[arg].len);
    if (entry == NULL) return;
    if (redis_object_is_empty(entry->value))
        remove_entry(c->db, entry);
    else
        note_dirty(c->db, entry->name);
}

struct redis_object *redis_db_peek(struct redis_db *db, const char *key, size_t len)
{
    const struct redis_arg arg = {key, len};
    return redis_look(db, &arg);
}

const char *redis_db_field(struct redis_db *db, const char *key, const char *field)
{
    const struct redis_object *object = redis_db_peek(db, key, strlen(key));
    if (object == NULL || object->type != REDIS_HASH) return "";
    const struct redis_entry *entry = redis_table_find(&object->table, field, strlen(field));
    return entry != NULL ? ((const struct redis_text *)entry->value)->bytes : "";
}

/* ---- the database ---- */

void redis_db_init(struct redis_db *db, struct redis_lua *lua)
{
    memset(db, 0, sizeof *db);
    db->lua = lua;
    db->random = 1;
    memset(db->run_id, '0', sizeof db->run_id - 1);
    db->run_id[0] = 'a'; /* clients in Python read digits alone as a number */
}

void redis_db_clean(struct redis_db *db)
{
    for (size_t i = 0; i < db->dirty_count; i++)
        redis_text_drop(db->dirty[i]);
    db->dirty_count = 0;
}

void redis_db_flush(struct redis_db *db)
{
    for (size_t i = 0; i < db->keys.count; i++) {
        struct redis_object *object = db->keys.entry[i].value;
        redis_object_free(&object);
    }
    redis_table_fini(&db->keys);
}

void redis_db_restart(struct redis_db *db, char run_id)
{
    redis_table_fini(&db->loaded);
    memset(db->run_id, run_id, REDIS_RUN_ID_BYTES - 1);
    db->started_us = db->now_us;
}

void redis_db_fini(struct redis_db *db)
{
    redis_table_fini(&db->loaded);
    redis_db_flush(db);
    redis_db_clean(db);
    free(db->dirty);
    redis_arena_reset(db);
    free(db->arena);
    memset(db, 0, sizeof *db);
}

void redis_db_copy_data(struct redis_db *to, const struct redis_db *from)
{
    redis_db_flush(to);
    for (size_t i = 0; i < from->keys.count; i++) {
        struct redis_entry *entry = redis_table_append(&to->keys, redis_text_keep(from->keys.entry[i].name));
        entry->value = redis_object_copy(from->keys.entry[i].value);
    }
}

void redis_command_run(struct redis_call *c, bool in_script)
{
    const struct redis_command *command = redis_command_find(&c->arg[0]);
    c->db->commands++;
    redis_say_nil(c->reply);
    if (command == NULL || (in_script && command->not_in_scripts)) {
        if (in_script)
            redis_say_error(c->reply, command == NULL ? "ERR Unknown Redis command called from script"
                                                      : "ERR This Redis command is not allowed from script");
        else
            redis_say_error_format(c->db, c->reply,
                                   "ERR unknown command '%.*s', with args beginning with: ", REDIS_WORD(c->arg[0]));
        return;
    }
    size_t least = (size_t)(command->arity < 0 ? -command->arity : command->arity);
    if (c->argc < least || (command->arity > 0 && c->argc != least)) {
        if (in_script)
            redis_say_error(c->reply, "ERR Wrong number of args calling Redis command from script");
        else
            redis_say_error_format(c->db, c->reply, "ERR wrong number of arguments for '%s' command", command->name);
        return;
    }
    command->run(c);
}

const struct redis_reply *redis_db_run(struct redis_db *db, size_t argc, const struct redis_arg *argv)
{
    redis_arena_reset(db);
    struct redis_call call = {db, argc, argv, redis_arena_take(db, sizeof(struct redis_reply))};
    redis_command_run(&call, false);
    return call.reply;
}

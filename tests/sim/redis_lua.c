/* SPDX-License-Identifier: MIT */
/*
 * Scripts: EVAL and EVALSHA in an embedded Lua 5.1, as Redis 7 runs them.
 *
 * The interpreter holds what Redis gives a script: KEYS, ARGV, redis.call, redis.pcall, redis.sha1hex and the two reply
 * makers, and the base, table, string and math libraries. A script is compiled once and called again. One interpreter
 * serves all databases of a process; it keeps nothing between two calls but compiled scripts.
 */
#include "tests/sim/redis_commands.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"
#include "tests/sim/sha1.h"

#define CALL_ARGS_MAX 1024

struct redis_lua {
    lua_State *state;
    struct redis_table scripts; /* SHA1 -> reference of the compiled function */
    struct redis_db *db;        /* of the call under way */
};

static struct redis_lua *lua_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- answers to Lua ---- */

static void push_reply(lua_State *L, const struct redis_reply *reply)
{
    switch (reply->kind) {
    case REDIS_NIL: lua_pushboolean(L, 0); break;
    case REDIS_INTEGER: lua_pushnumber(L, (lua_Number)reply->integer); break;
    case REDIS_BULK: lua_pushlstring(L, reply->text, reply->len); break;
    case REDIS_STATUS:
    case REDIS_ERROR:
        lua_createtable(L, 0, 1);
        lua_pushlstring(L, reply->text, reply->len);
        lua_setfield(L, -2, reply->kind == REDIS_STATUS ? "ok" : "err");
        break;
    case REDIS_ARRAY:
        luaL_checkstack(L, 4, "answer too deep");
        lua_createtable(L, (int)reply->count, 0);
        for (size_t i = 0; i < reply->count; i++) {
            push_reply(L, &reply->child[i]);
            lua_rawseti(L, -2, (int)i + 1);
        }
        break;
    }
}

static int fail(lua_State *L, const char *words)
{
    struct redis_reply reply;
    redis_say_error(&reply, words);
    push_reply(L, &reply);
    return lua_error(L);
}

static int call(lua_State *L, bool raises)
{
    struct redis_lua *lua = lua_of(L);
    struct redis_reply reply = {0};
    struct redis_arg argv[CALL_ARGS_MAX];
    char numbers[CALL_ARGS_MAX > 64 ? 64 : CALL_ARGS_MAX][32];
    int argc = lua_gettop(L), number_count = 0;
    struct redis_call c = {lua->db, (size_t)argc, argv, &reply};
    if (argc == 0 || argc > CALL_ARGS_MAX)
        return fail(L, "ERR Please specify at least one argument for this redis lib call");
    for (int i = 0; i < argc; i++) {
        if (lua_type(L, i + 1) == LUA_TNUMBER && number_count < 64) {
            char *text = numbers[number_count++]; /* as Redis prints it */
            argv[i].len = (size_t)snprintf(text, sizeof numbers[0], "%.17g", lua_tonumber(L, i + 1));
            argv[i].bytes = text;
        } else {
            argv[i].bytes = lua_tolstring(L, i + 1, &argv[i].len);
            if (argv[i].bytes == NULL)
                return fail(L, "ERR Lua redis lib command arguments must be strings or integers");
        }
    }
    redis_command_run(&c, true);
    push_reply(L, &reply);
    return raises && reply.kind == REDIS_ERROR ? lua_error(L) : 1;
}

static int lua_call_raising(lua_State *L)
{
    return call(L, true);
}

static int lua_call_protected(lua_State *L)
{
    return call(L, false);
}

static int lua_sha1hex(lua_State *L)
{
    size_t len;
    char hex[SHA1_HEX_BYTES];
    const char *bytes = luaL_optlstring(L, 1, "", &len);
    sha1_hex(bytes, len, hex);
    lua_pushstring(L, hex);
    return 1;
}

static int make_reply(lua_State *L, const char *field)
{
    luaL_checkstring(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, field);
    return 1;
}

static int lua_error_reply(lua_State *L)
{
    return make_reply(L, "err");
}

static int lua_status_reply(lua_State *L)
{
    return make_reply(L, "ok");
}

/* As Redis 7 has it: of an error that is an answer, the script sees the words. */
static int lua_protected(lua_State *L)
{
    int arguments = lua_gettop(L);
    luaL_checkany(L, 1);
    bool good = lua_pcall(L, arguments - 1, LUA_MULTRET, 0) == 0;
    if (!good && lua_istable(L, -1)) {
        lua_getfield(L, -1, "err");
        if (lua_isstring(L, -1))
            lua_replace(L, -2);
        else
            lua_pop(L, 1);
    }
    lua_pushboolean(L, good);
    lua_insert(L, 1);
    return lua_gettop(L);
}

struct redis_lua *redis_lua_new(void)
{
    static const luaL_Reg functions[] = {{"call", lua_call_raising},         {"pcall", lua_call_protected},
                                         {"sha1hex", lua_sha1hex},           {"error_reply", lua_error_reply},
                                         {"status_reply", lua_status_reply}, {NULL, NULL}};
    static const luaL_Reg libraries[] = {{"", luaopen_base},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_MATHLIBNAME, luaopen_math},
                                         {NULL, NULL}};
    struct redis_lua *lua = xcalloc(1, sizeof *lua);
    lua->state = luaL_newstate();
    if (lua->state == NULL) die("sim: out of memory for an interpreter");
    for (const luaL_Reg *lib = libraries; lib->func != NULL; lib++) {
        lua_pushcfunction(lua->state, lib->func);
        lua_pushstring(lua->state, lib->name);
        lua_call(lua->state, 1, 0);
    }
    lua_newtable(lua->state);
    for (const luaL_Reg *f = functions; f->name != NULL; f++) {
        lua_pushlightuserdata(lua->state, lua);
        lua_pushcclosure(lua->state, f->func, 1);
        lua_setfield(lua->state, -2, f->name);
    }
    lua_setglobal(lua->state, "redis");
    lua_pushcfunction(lua->state, lua_protected);
    lua_setglobal(lua->state, "pcall");
    return lua;
}

void redis_lua_free(struct redis_lua **own_lua)
{
    struct redis_lua *lua = *own_lua;
    *own_lua = NULL;
    if (lua == NULL) return;
    lua_close(lua->state);
    for (size_t i = 0; i < lua->scripts.count; i++)
        free(lua->scripts.entry[i].value);
    redis_table_fini(&lua->scripts);
    free(lua);
}

/* ---- compiled scripts ---- */

/* The line that Redis reads itself; its line feed stays, so that lines keep their numbers. */
static void skip_first_line(const char **text, size_t *len)
{
    if (*len < 2 || (*text)[0] != '#' || (*text)[1] != '!') return;
    const char *end = memchr(*text, '\n', *len);
    size_t skipped = end != NULL ? (size_t)(end - *text) : *len;
    *text += skipped;
    *len -= skipped;
}

/* The name of the script is put into sha. False: the answer says what is wrong with it. */
static bool compile(struct redis_call *c, const struct redis_arg *script, char sha[SHA1_HEX_BYTES])
{
    struct redis_lua *lua = c->db->lua;
    const char *text = script->bytes;
    size_t len = script->len;
    sha1_hex(script->bytes, script->len, sha);
    (void)redis_table_put(&c->db->loaded, sha, strlen(sha));
    if (redis_table_find(&lua->scripts, sha, strlen(sha)) != NULL) return true;
    skip_first_line(&text, &len);
    if (luaL_loadbuffer(lua->state, text, len, "@user_script") != 0) {
        redis_table_remove(&c->db->loaded, redis_table_find(&c->db->loaded, sha, strlen(sha)));
        redis_say_error_format(c->db, c->reply, "ERR Error compiling script (new function): %.200s",
                               lua_tostring(lua->state, -1));
        lua_pop(lua->state, 1);
        return false;
    }
    int *reference = xmalloc(sizeof *reference);
    *reference = luaL_ref(lua->state, LUA_REGISTRYINDEX);
    redis_table_put(&lua->scripts, sha, strlen(sha))->value = reference;
    return true;
}

void redis_script(struct redis_call *c)
{
    char sha[SHA1_HEX_BYTES];
    if (redis_arg_is(&c->arg[1], "LOAD") && c->argc == 3) {
        if (compile(c, &c->arg[2], sha)) redis_say_bytes(c->db, c->reply, sha, strlen(sha));
    } else if (redis_arg_is(&c->arg[1], "FLUSH")) {
        redis_table_fini(&c->db->loaded);
        redis_say_status(c->reply, "OK");
    } else if (redis_arg_is(&c->arg[1], "EXISTS") && c->argc > 2) {
        struct redis_reply *child = redis_say_array(c->db, c->reply, c->argc - 2);
        for (size_t i = 2; i < c->argc; i++)
            redis_say_integer(&child[i - 2], redis_table_find(&c->db->loaded, c->arg[i].bytes, c->arg[i].len) != NULL);
    } else {
        redis_say_error_format(c->db, c->reply,
                               "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try SCRIPT HELP.",
                               REDIS_WORD(c->arg[1]));
    }
}

/* ---- answers from Lua ---- */

static bool take_field(lua_State *L, struct redis_db *db, struct redis_reply *reply, const char *field,
                       enum redis_reply_kind kind)
{
    size_t len;
    lua_getfield(L, -1, field);
    bool found = lua_type(L, -1) == LUA_TSTRING;
    if (found) {
        const char *text = lua_tolstring(L, -1, &len);
        redis_say_bytes(db, reply, text, len);
        reply->kind = kind;
    }
    lua_pop(L, 1);
    return found;
}

/* The value on top of the stack, which is left there. */
static void take_value(lua_State *L, struct redis_db *db, struct redis_reply *reply)
{
    size_t len;
    redis_say_nil(reply);
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, -1, &len);
        redis_say_bytes(db, reply, text, len);
        break;
    }
    case LUA_TNUMBER: redis_say_integer(reply, (int64_t)lua_tonumber(L, -1)); break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(L, -1)) redis_say_integer(reply, 1);
        break;
    case LUA_TTABLE: {
        luaL_checkstack(L, 4, "answer too deep");
        if (take_field(L, db, reply, "err", REDIS_ERROR) || take_field(L, db, reply, "ok", REDIS_STATUS)) break;
        size_t count = lua_objlen(L, -1); /* up to the first nil */
        struct redis_reply *child = redis_say_array(db, reply, count);
        for (size_t i = 0; i < count; i++) {
            lua_rawgeti(L, -1, (int)i + 1);
            if (lua_isnil(L, -1)) reply->count = i;
            take_value(L, db, &child[i]);
            lua_pop(L, 1);
            if (reply->count == i) break;
        }
        break;
    }
    default: break;
    }
}

static void set_list(lua_State *L, const char *name, const struct redis_arg *arg, size_t count)
{
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(L, arg[i].bytes, arg[i].len);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setglobal(L, name);
}

static void run(struct redis_call *c, const char *sha)
{
    struct redis_lua *lua = c->db->lua;
    lua_State *L = lua->state;
    int64_t keys;
    if (!redis_arg_integer(&c->arg[2], &keys)) {
        redis_say_error(c->reply, REDIS_INTEGER_ERROR);
        return;
    }
    if (keys < 0 || (size_t)keys > c->argc - 3) {
        redis_say_error(c->reply, keys < 0 ? "ERR Number of keys can't be negative"
                                           : "ERR Number of keys can't be greater than number of args");
        return;
    }
    set_list(L, "KEYS", c->arg + 3, (size_t)keys);
    set_list(L, "ARGV", c->arg + 3 + keys, c->argc - 3 - (size_t)keys);
    c->db->scripts++;
    lua->db = c->db;
    lua_rawgeti(L, LUA_REGISTRYINDEX, *(int *)redis_table_find(&lua->scripts, sha, strlen(sha))->value);
    if (lua_pcall(L, 0, 1, 0) == 0) {
        take_value(L, c->db, c->reply);
    } else if (!lua_istable(L, -1) || !take_field(L, c->db, c->reply, "err", REDIS_ERROR)) {
        redis_say_error_format(c->db, c->reply, "ERR %.300s script: %s, on @user_script", lua_tostring(L, -1), sha);
    }
    lua_pop(L, 1);
}

void redis_eval(struct redis_call *c)
{
    char sha[SHA1_HEX_BYTES];
    if (compile(c, &c->arg[1], sha)) run(c, sha);
}

void redis_evalsha(struct redis_call *c)
{
    const struct redis_entry *script = redis_table_find(&c->db->loaded, c->arg[1].bytes, c->arg[1].len);
    if (script == NULL)
        redis_say_error(c->reply, "NOSCRIPT No matching script. Please use EVAL.");
    else
        run(c, script->name->bytes);
}

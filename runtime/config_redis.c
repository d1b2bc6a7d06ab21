/* SPDX-License-Identifier: MIT */
/*
 * redis.url, taken apart: redis://[user@]host[:port][/db] and unix://[user@]/path[?db=N].
 */
#include "runtime/config.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/die.h"

#define DEFAULT_PORT 6379
#define DB_MAX       65535

static const char *const forms = "write redis://[user@]host[:port][/db] or unix:///path[?db=N]";

void config_redis_fini(struct config_redis *redis)
{
    free(redis->unix_path);
    free(redis->host);
    free(redis->user);
    *redis = (struct config_redis){0};
}

/* Digits alone, min .. max. */
static bool parse_number(const char *text, int min, int max, int *number)
{
    long value = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > max) {
            return false;
        }
        value = value * 10 + (*text - '0');
    }
    *number = (int)value;
    return value >= min && value <= max;
}

/* The user in front of the @, if any; moves *rest behind it. */
static bool parse_user(char **rest, struct config_redis *redis, struct errbuf *err)
{
    char *at = strrchr(*rest, '@'); /* the last: a password may hold one, and must not end up in the host's name */
    if (!at) {
        return true;
    }
    *at = '\0';
    if (strchr(*rest, ':')) {
        return errbuf_set(
            err, "redis.url: holds a password, which would show in process lists and logs; put it into a file named by "
                 "redis.password_file or into LANDFALL_REDIS_PASSWORD");
    }
    if (**rest) {
        redis->user = xstrdup(*rest);
    }
    *rest = at + 1;
    return true;
}

static bool parse_db(const char *text, struct config_redis *redis, struct errbuf *err)
{
    return parse_number(text, 0, DB_MAX, &redis->db) ||
           errbuf_set(err, "redis.url: the database is a number from 0 to %d; %s", DB_MAX, forms);
}

static bool parse_unix(char *rest, struct config_redis *redis, struct errbuf *err)
{
    char *query = strchr(rest, '?');
    if (query) {
        *query++ = '\0';
        if (strncmp(query, "db=", 3) != 0) {
            return errbuf_set(err, "redis.url: after ? stands db=N and nothing else; %s", forms);
        }
        if (!parse_db(query + 3, redis, err)) {
            return false;
        }
    }
    if (rest[0] != '/' || rest[1] == '\0') {
        return errbuf_set(err, "redis.url: the path of the socket starts with /; %s", forms);
    }
    redis->unix_path = xstrdup(rest);
    return true;
}

static bool parse_host(char *rest, struct config_redis *redis, struct errbuf *err)
{
    char *slash = strchr(rest, '/');
    if (slash) {
        *slash++ = '\0';
        if (*slash && !parse_db(slash, redis, err)) {
            return false;
        }
    }
    char *host = rest;
    char *port = NULL;
    if (*rest == '[') { /* an IPv6 address */
        host = rest + 1;
        char *end = strchr(host, ']');
        if (!end || (end[1] != ':' && end[1] != '\0')) {
            return errbuf_set(
                err, "redis.url: an address in [ ] is not closed or has something else than a port behind it; %s",
                forms);
        }
        port = end[1] ? end + 2 : NULL;
        *end = '\0';
    } else if ((port = strchr(rest, ':'))) {
        *port++ = '\0';
    }
    if (*host == '\0' || strpbrk(host, "?#%/ ")) {
        return errbuf_set(err, "redis.url: has no valid host; %s", forms);
    }
    if (port && !parse_number(port, 1, 65535, &redis->port)) {
        return errbuf_set(err, "redis.url: the port is a number from 1 to 65535; %s", forms);
    }
    redis->host = xstrdup(host);
    return true;
}

bool config_redis_parse(const char *url, struct config_redis *redis, struct errbuf *err)
{
    static const char tcp[] = "redis://";
    static const char local[] = "unix://";

    *redis = (struct config_redis){.port = DEFAULT_PORT};
    if (strncmp(url, "rediss://", 9) == 0) {
        return errbuf_set(
            err, "redis.url: TLS is not spoken here; run a TLS proxy beside the process and name its local address");
    }
    bool is_local = strncmp(url, local, sizeof local - 1) == 0;
    if (!is_local && strncmp(url, tcp, sizeof tcp - 1) != 0) {
        return errbuf_set(err, "redis.url: is of no known kind; %s", forms);
    }
    char *copy = xstrdup(url + (is_local ? sizeof local : sizeof tcp) - 1);
    char *rest = copy;
    bool done =
        parse_user(&rest, redis, err) && (is_local ? parse_unix(rest, redis, err) : parse_host(rest, redis, err));
    free(copy);
    return done;
}

/* SPDX-License-Identifier: MIT */
/*
 * redis.url, taken apart. The forms stand in `forms` below; rediss and rediss+sentinel are the same over TLS.
 */
#include "runtime/config.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/die.h"

#define REDIS_PORT    6379
#define SENTINEL_PORT 26379
#define DB_MAX        65535
#define HOSTS_MAX     64

static const char *const forms = "write redis://[user@]host[:port][,host...][/db], rediss:// for TLS, "
                                 "redis+sentinel://host[,host...]/service[/db] or unix:///path[?db=N]";

static const struct scheme {
    const char *text;
    bool local, sentinel, tls;
} schemes[] = {
    {"redis://", false, false, false},         {"rediss://", false, false, true},
    {"redis+sentinel://", false, true, false}, {"rediss+sentinel://", false, true, true},
    {"unix://", true, false, false},
};

#define SCHEME_COUNT (sizeof schemes / sizeof schemes[0])

void config_redis_fini(struct config_redis *redis)
{
    for (size_t i = 0; i < redis->host_count; i++)
        free(redis->hosts[i].name);
    free(redis->hosts);
    free(redis->unix_path);
    free(redis->service);
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

/* One "host[:port]"; the text is cut up. */
static bool parse_host(char *text, int default_port, struct config_host *out, struct errbuf *err)
{
    char *host = text;
    char *port = NULL;
    if (*text == '[') { /* an IPv6 address */
        host = text + 1;
        char *end = strchr(host, ']');
        if (!end || (end[1] != ':' && end[1] != '\0')) {
            return errbuf_set(
                err, "redis.url: an address in [ ] is not closed or has something else than a port behind it; %s",
                forms);
        }
        port = end[1] ? end + 2 : NULL;
        *end = '\0';
    } else if ((port = strchr(text, ':'))) {
        *port++ = '\0';
    }
    if (*host == '\0' || strpbrk(host, "?#%/ ")) {
        return errbuf_set(err, "redis.url: has no valid host; %s", forms);
    }
    out->port = default_port;
    if (port && !parse_number(port, 1, 65535, &out->port)) {
        return errbuf_set(err, "redis.url: the port is a number from 1 to 65535; %s", forms);
    }
    out->name = xstrdup(host);
    return true;
}

static bool parse_hosts(char *text, int default_port, struct config_redis *redis, struct errbuf *err)
{
    redis->hosts = xcalloc(HOSTS_MAX, sizeof *redis->hosts);
    while (text) {
        char *comma = strchr(text, ',');
        if (comma) {
            *comma++ = '\0';
        }
        if (redis->host_count == HOSTS_MAX) {
            return errbuf_set(err, "redis.url: names more than %d hosts", HOSTS_MAX);
        }
        if (!parse_host(text, default_port, &redis->hosts[redis->host_count], err)) {
            return false;
        }
        redis->host_count++;
        text = comma;
    }
    return true;
}

/* "host,host[/service][/db]" */
static bool parse_net(char *rest, bool sentinel, struct config_redis *redis, struct errbuf *err)
{
    char *path = strchr(rest, '/');
    if (path) {
        *path++ = '\0';
    }
    if (!parse_hosts(rest, sentinel ? SENTINEL_PORT : REDIS_PORT, redis, err)) {
        return false;
    }
    if (sentinel) {
        char *service = path;
        path = service ? strchr(service, '/') : NULL;
        if (path) {
            *path++ = '\0';
        }
        if (!service || *service == '\0') {
            return errbuf_set(err, "redis.url: does not say what the sentinels call the master; %s", forms);
        }
        redis->service = xstrdup(service);
    }
    return !path || *path == '\0' || parse_db(path, redis, err);
}

bool config_redis_parse(const char *url, struct config_redis *redis, struct errbuf *err)
{
    const struct scheme *scheme = schemes;
    *redis = (struct config_redis){0};
    while (scheme < schemes + SCHEME_COUNT && strncmp(url, scheme->text, strlen(scheme->text)) != 0) {
        scheme++;
    }
    if (scheme == schemes + SCHEME_COUNT) {
        return errbuf_set(err, "redis.url: is of no known kind; %s", forms);
    }
    redis->tls = scheme->tls;
    char *copy = xstrdup(url + strlen(scheme->text));
    char *rest = copy;
    bool done = parse_user(&rest, redis, err) &&
                (scheme->local ? parse_unix(rest, redis, err) : parse_net(rest, scheme->sentinel, redis, err));
    free(copy);
    return done;
}

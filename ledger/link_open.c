/* SPDX-License-Identifier: MIT */
/*
 * link_open: from redis.url to a connection that may be used: which server, the handshake, and what it must answer.
 *
 * Three ways to the server. An address is the server. Sentinels are asked where their master is; what they say is
 * believed only if that server says so too. A node of a cluster that does not hold the partition's slot answers MOVED
 * and the address of the one that does; the link follows. Nothing of that is remembered: after a failover the same
 * questions bring the new answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/answer_tree.h"
#include "ledger/args.h"
#include "ledger/errors.h"
#include "ledger/link_private.h"
#include "ledger/link_tls.h"
#include "runtime/log.h"

#define HOST_BYTES 256
#define HOPS_MAX   5 /* a cluster whose nodes point at each other in a circle is given up after so many */

/* A server's address as a server told it. */
struct node {
    char host[HOST_BYTES];
    int port;
};

/* One command of the handshake. Its arguments may be secret, so the server's text is not repeated: servers quote the
 * arguments of commands that they do not know. NULL: err has the words, the caller drops the link. */
static struct redisReply *ask(struct redis_link *link, int argc, const char **argv, struct errbuf *err)
{
    struct args args;
    struct redisReply *reply = NULL;
    args_init(&args);
    args_command(&args, argv[0]);
    for (int i = 1; i < argc; i++)
        args_text(&args, argv[i]);
    bool ok = args_exchange(&args, link, &reply, LINK_CONNECT_LIMIT_MS, err);
    explicit_bzero(args.wire, args.len);
    args_fini(&args);
    const char *text = answer_error(reply);
    if (text) {
        char word[ERRORS_WORD_BYTES];
        errbuf_set(err, "redis: %s is answered with %s: %s", argv[0], errors_word(text, word), errors_advice(text));
    }
    if (ok && !text) return reply;
    answer_free(reply);
    return NULL;
}

static bool tell(struct redis_link *link, int argc, const char **argv, struct errbuf *err)
{
    struct redisReply *reply = ask(link, argc, argv, err);
    if (!reply) return false;
    answer_free(reply);
    return true;
}

static bool authenticate(struct redis_link *link, const char *user, const struct secret *secret, struct errbuf *err)
{
    if (!secret) return true;
    size_t len;
    const char *password = secret_bytes(secret, &len);
    const char *argv[] = {"AUTH", user ? user : password, password};
    return tell(link, user ? 3 : 2, argv, err);
}

static bool introduce(struct redis_link *link, struct errbuf *err)
{
    char db[16];
    snprintf(db, sizeof db, "%d", link->where.db);
    const char *setname[] = {"CLIENT", "SETNAME", link->name};
    const char *select[] = {"SELECT", db};
    if (link->name && !tell(link, 3, setname, err)) return false;
    return link->where.db == 0 || tell(link, 2, select, err);
}

static bool check_master(struct redis_link *link, struct errbuf *err)
{
    const char *argv[] = {"ROLE"};
    struct redisReply *reply = ask(link, 1, argv, err);
    if (!reply) return false;
    bool master = answer_is(answer_at(reply, 0), "master");
    answer_free(reply);
    link->was_replica |= !master;
    return master || errbuf_set(err, "redis: this server is no master; give the address of the master");
}

static bool learn_run_id(struct redis_link *link, struct errbuf *err)
{
    const char *argv[] = {"INFO", "server"};
    struct redisReply *reply = ask(link, 2, argv, err);
    if (!reply) return false;
    const char *at = strstr(answer_text(reply, NULL), "run_id:");
    size_t len = at ? strspn(at + 7, "0123456789abcdef") : 0;
    bool ok = len > 0 && len < LINK_RUN_ID_BYTES;
    if (ok) snprintf(link->run_id, sizeof link->run_id, "%.*s", (int)len, at + 7);
    answer_free(reply);
    return ok || errbuf_set(err, "redis: INFO server names no run_id; is this a Redis server?");
}

static bool learn_time(struct redis_link *link, struct errbuf *err)
{
    const char *argv[] = {"TIME"};
    struct redisReply *reply = ask(link, 1, argv, err);
    if (!reply) return false;
    int64_t seconds, micros;
    bool ok = answer_number(answer_at(reply, 0), &seconds) && answer_number(answer_at(reply, 1), &micros) &&
              seconds > 0 && seconds < INT64_MAX / 2000;
    if (ok) link_note_time(link, seconds * 1000 + micros / 1000);
    answer_free(reply);
    return ok || errbuf_set(err, "redis: TIME is answered with something else");
}

/* Connected, and TLS where the URL says so; nothing has been asked yet. */
static bool connect_socket(struct redis_link *link, const char *unix_path, const char *host, int port,
                           struct errbuf *err)
{
    struct timeval limit = link_timeval(LINK_CONNECT_LIMIT_MS);
    link_close(link);
    log_flush(); /* the wait may be long */
    if (link->where.tls && !link_tls_is_built_in())
        return errbuf_set(err,
                          "redis: TLS is asked for and not built in: the hiredis of this system has none (that of "
                          "Debian 13 has); build there, or put a TLS proxy beside the process and name its address");
    link->context =
        unix_path ? redisConnectUnixWithTimeout(unix_path, limit) : redisConnectWithTimeout(host, port, limit);
    link->timeout_ms = 0;
    if (!link->context) return errbuf_set(err, "redis: out of memory for a connection");
    if (link->context->err) {
        const char *words = link->context->err == REDIS_ERR_IO ? strerror(errno) : link->context->errstr;
        if (unix_path) return errbuf_set(err, "redis: cannot connect to %s: %s", unix_path, words);
        return errbuf_set(err, "redis: cannot connect to %s:%d: %s", host, port, words);
    }
    link->context->reader->fn = &answer_tree_functions;
    if (unix_path) return true;
    (void)redisEnableKeepAlive(link->context);
    if (!link->where.tls) return true;
    const struct link_tls_files files = {link->ca_file, link->cert_file, link->key_file};
    if (redisSetTimeout(link->context, limit) != REDIS_OK)
        return errbuf_set(err, "redis: the socket takes no time limit: %s", link_words(link));
    return link_tls_start(link->context, &files, host, err);
}

/* "MOVED 3999 10.0.0.7:6381", of which the host may be empty (this one) or an IPv6 address without brackets. */
static bool read_moved(const char *text, const char *this_host, struct node *to)
{
    const char *address = strncmp(text, "MOVED ", 6) == 0 ? strchr(text + 6, ' ') : NULL;
    const char *colon = address ? strrchr(address, ':') : NULL;
    if (!colon) return false;
    address++;
    size_t len = (size_t)(colon - address);
    char *end;
    long port = strtol(colon + 1, &end, 10);
    if (len >= sizeof to->host || port < 1 || port > 65535 || *end != '\0') return false;
    if (len == 0 || *address == '?')
        snprintf(to->host, sizeof to->host, "%s", this_host);
    else
        snprintf(to->host, sizeof to->host, "%.*s", (int)len, address);
    to->port = (int)port;
    return true;
}

enum home { HOME_HERE, HOME_ELSEWHERE, HOME_LOST };

/* Does this node hold the partition? MOVED is a no. A plain ERR is no answer to this question: it is how a server says
 * that it takes no more clients, in place of the first answer. All else is a yes, and for the commands that follow to
 * meet. */
static enum home ask_home(struct redis_link *link, const char *host, struct node *elsewhere, struct errbuf *err)
{
    if (!link->probe_key) return HOME_HERE;
    struct args args;
    struct redisReply *reply = NULL;
    args_init(&args);
    args_command(&args, "EXISTS");
    args_text(&args, link->probe_key);
    bool asked = args_ask(&args, link, &reply, LINK_CONNECT_LIMIT_MS, err);
    args_fini(&args);
    if (!asked) return HOME_LOST;
    const char *text = answer_error(reply);
    enum home home = HOME_HERE;
    if (text && read_moved(text, host ? host : "127.0.0.1", elsewhere)) {
        home = HOME_ELSEWHERE;
    } else if (text && strncmp(text, "ERR ", 4) == 0) {
        errbuf_set(err, "redis: a new connection is answered with ERR: %s", errors_advice(text));
        home = HOME_LOST;
    }
    answer_free(reply);
    return home;
}

/* This server, or the one that its cluster points to. */
static bool open_server(struct redis_link *link, const char *unix_path, const char *host, int port, struct errbuf *err)
{
    struct node here = {.port = port}, next;
    snprintf(here.host, sizeof here.host, "%s", host ? host : "");
    for (int hops = 0; hops < HOPS_MAX; hops++) {
        if (!connect_socket(link, unix_path, here.host, here.port, err) ||
            !authenticate(link, link->where.user, link->password, err))
            return false;
        enum home home = ask_home(link, unix_path ? NULL : here.host, &next, err);
        if (home == HOME_LOST) return false;
        if (home == HOME_HERE)
            return introduce(link, err) && check_master(link, err) && learn_run_id(link, err) && learn_time(link, err);
        here = next;
        unix_path = NULL;
    }
    return errbuf_set(err, "redis: the nodes of the cluster point at each other: MOVED %d times, last to %s:%d",
                      HOPS_MAX, here.host, here.port);
}

/* What one sentinel says where the master is. */
static bool ask_sentinel(struct redis_link *link, const struct config_host *sentinel, struct node *master,
                         struct errbuf *err)
{
    const char *argv[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", link->where.service};
    int64_t port;
    if (!connect_socket(link, NULL, sentinel->name, sentinel->port, err) ||
        !authenticate(link, NULL, link->sentinel_password, err))
        return false;
    struct redisReply *reply = ask(link, 3, argv, err);
    if (!reply) return false;
    const char *host = answer_text(answer_at(reply, 0), NULL);
    bool known = host[0] != '\0' && strlen(host) < sizeof master->host && answer_number(answer_at(reply, 1), &port) &&
                 port >= 1 && port <= 65535;
    if (known) {
        snprintf(master->host, sizeof master->host, "%s", host);
        master->port = (int)port;
    }
    answer_free(reply);
    return known || errbuf_set(err, "redis: the sentinel %s:%d knows no master by the name %s", sentinel->name,
                               sentinel->port, link->where.service);
}

/* By way of one of the URL's hosts. */
static bool open_by(struct redis_link *link, const struct config_host *host, struct errbuf *err)
{
    struct node master = {0};
    if (!link->where.service) return open_server(link, NULL, host->name, host->port, err);
    return ask_sentinel(link, host, &master, err) && open_server(link, NULL, master.host, master.port, err);
}

/* tries: how many of the hosts, from the one whose turn it is. */
static bool open_one_of(struct redis_link *link, size_t tries, struct errbuf *err)
{
    bool ok = false;
    link->opening = true;
    if (link->where.unix_path) ok = open_server(link, link->where.unix_path, NULL, 0, err);
    for (size_t i = 0; !ok && i < tries; i++) {
        ok = open_by(link, &link->where.hosts[link->next_host], err);
        if (!ok) link->next_host = (link->next_host + 1) % link->where.host_count;
    }
    link->opening = false;
    return ok || link_drop(link);
}

bool link_open(struct redis_link *link, struct errbuf *err)
{
    return open_one_of(link, link->where.host_count, err);
}

bool link_keep(struct redis_link *link, struct errbuf *err)
{
    if (err) err->text[0] = '\0';
    if (link->context) return true;
    if (link->must_stop || clock_boottime_ms() < link->next_try_ms) return false;
    return open_one_of(link, link->where.host_count > 0 ? 1 : 0, err);
}

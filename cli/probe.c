/* SPDX-License-Identifier: MIT */
#include "cli/probe.h"

#include <stdlib.h>
#include <time.h>

#include "runtime/clock.h"
#include "runtime/die.h"
#include "session/keeper.h"

#define READ_LIMIT_MS  20000
#define OWN_BACKOFF_MS 300
#define TURN_MS        1000 /* how long one turn of the loop may sleep */
#define LOCKED_TURNS   20   /* while somebody of the fleet renews the session */

struct probe {
    struct channel *channel;
    struct keeper keeper;
    struct transfer_pool *pool;
    struct transfer *transfer; /* the newest one, ended */
    struct errbuf why;
    int requests, logins;
    bool taken;
};

struct probe *probe_open(struct channel *channel, const struct config *config, const struct keeper_fleet *fleet)
{
    struct probe *probe = xcalloc(1, sizeof(*probe));
    probe->channel = channel;
    probe->pool = transfer_pool_new(1, &config->fetch_allowed);
    transfer_pool_only(probe->pool, &config->only_hosts);
    keeper_init(&probe->keeper, channel, DESCRIPTOR_READ, fleet);
    return probe;
}

void probe_close(struct probe **probe)
{
    if (!*probe) return;
    transfer_free(&(*probe)->transfer);
    transfer_pool_free(&(*probe)->pool);
    keeper_fini(&(*probe)->keeper);
    free(*probe);
    *probe = NULL;
}

static bool is_success(const struct transfer_facts *facts)
{
    return facts->complete && facts->status >= 200 && facts->status <= 299;
}

static void send_request(struct probe *p, struct http_request *request, int64_t limit_ms)
{
    const struct transfer_options options = {.limit_ms = limit_ms, .body_max_bytes = ANSWER_BODY_MAX_BYTES};
    transfer_free(&p->transfer);
    (void)transfer_start(p->pool, request, &options);
    p->requests++;
    while (!(p->transfer = transfer_next_done(p->pool))) /* it ends at its limit at the latest */
        transfer_wait(p->pool, NULL, 0, TURN_MS);
}

/* Fills the form and sends it. False: it cannot be filled. */
static bool send_form(struct probe *p, const struct form *form, int64_t limit_ms)
{
    struct http_request request;
    const struct form_fill fill = {&p->channel->credentials, &p->keeper.session, clock_wall_ms() / 1000,
                                   p->channel->descriptor};
    if (!form_fill(form, &fill, &request, &p->why)) return false;
    send_request(p, &request, limit_ms);
    return true;
}

/* Another's login is under way, and goes on for too long. */
static bool waits_too_long(struct probe *p, int *turns)
{
    if (!p->keeper.fleet) return false; /* what is next is a request of our own login */
    return ++*turns > LOCKED_TURNS || !probe_wait(0);
}

/* Sends what the keeper wants sent, up to a session or the end of it. */
static enum keeper_state make_session(struct probe *p, enum keeper_state state, struct http_request *request)
{
    int turns = 0;
    for (; state == KEEPER_SEND || state == KEEPER_BUSY; state = keeper_ask(&p->keeper, request)) {
        if (state == KEEPER_BUSY && waits_too_long(p, &turns)) break;
        if (state == KEEPER_BUSY) continue;
        send_request(p, request, keeper_limit_ms(&p->keeper));
        if (keeper_take(&p->keeper, probe_facts(p), probe_answer(p)) == KEEPER_TROUBLE) return KEEPER_TROUBLE;
    }
    return state;
}

static enum probe_sent log_in(struct probe *p)
{
    struct http_request request;
    enum keeper_state state = keeper_ask(&p->keeper, &request);
    if (state == KEEPER_READY) return PROBE_ANSWERED;
    if (state != KEEPER_TROUBLE && p->logins++ == PROBE_LOGINS_MAX) {
        if (state == KEEPER_SEND) http_request_fini(&request);
        errbuf_set(&p->why, "a new session is refused as the one before it was");
        return PROBE_REFUSED;
    }
    state = make_session(p, state, &request);
    p->taken = p->taken || state == KEEPER_READY;
    if (state == KEEPER_READY) return PROBE_ANSWERED;
    errbuf_set(&p->why, "%s", state == KEEPER_BUSY ? "the fleet is renewing the session" : p->keeper.trouble.why);
    return state == KEEPER_TROUBLE && p->keeper.trouble.kind == KEEPER_REFUSED ? PROBE_REFUSED : PROBE_AWAY;
}

enum probe_sent probe_login(struct probe *p)
{
    return channel_has_session(p->channel) ? log_in(p) : PROBE_ANSWERED;
}

enum probe_sent probe_send(struct probe *p, const struct form *form)
{
    if (form_needs(form, "session.")) {
        const enum probe_sent sent = log_in(p);
        if (sent != PROBE_ANSWERED) return sent;
    }
    if (!send_form(p, form, READ_LIMIT_MS)) return PROBE_BROKEN;
    if (is_success(probe_facts(p)) && form_needs(form, "")) p->taken = true;
    return PROBE_ANSWERED;
}

const char *probe_why(const struct probe *probe)
{
    return probe->why.text;
}

enum cli_exit probe_code(enum probe_sent sent)
{
    switch (sent) {
    case PROBE_ANSWERED: return EXIT_FINE;
    case PROBE_BROKEN: return EXIT_USAGE;
    case PROBE_AWAY: return EXIT_AWAY;
    case PROBE_REFUSED: break;
    }
    return EXIT_REJECTED;
}

const struct transfer_facts *probe_facts(const struct probe *probe)
{
    return transfer_facts(probe->transfer);
}

const struct answer *probe_answer(const struct probe *probe)
{
    return transfer_answer(probe->transfer);
}

void probe_drop_session(struct probe *probe)
{
    keeper_expired(&probe->keeper, probe->keeper.count);
}

bool probe_wait(int64_t wait_ms)
{
    if (wait_ms > PROBE_WAIT_MS) return false;
    if (wait_ms <= 0) wait_ms = OWN_BACKOFF_MS;
    const struct timespec span = {wait_ms / 1000, (wait_ms % 1000) * 1000000};
    (void)nanosleep(&span, NULL);
    return true;
}

int probe_requests(const struct probe *probe)
{
    return probe->requests;
}

int probe_logins(const struct probe *probe)
{
    return probe->logins;
}

bool probe_credential_taken(const struct probe *probe)
{
    return probe->taken;
}

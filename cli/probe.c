/* SPDX-License-Identifier: MIT */
#include "cli/probe.h"

#include <stdlib.h>
#include <time.h>

#include "platforms/auth.h"
#include "runtime/clock.h"
#include "runtime/die.h"

#define READ_LIMIT_MS  20000
#define OWN_BACKOFF_MS 300
#define TURN_MS        1000 /* how long one turn of the loop may sleep */

struct probe {
    struct channel *channel;
    struct session session;
    struct transfer_pool *pool;
    struct transfer *transfer; /* the newest one, ended */
    struct errbuf why;
    int requests, logins;
    bool taken;
};

struct probe *probe_open(struct channel *channel, const struct address_list *allowed)
{
    struct probe *probe = xcalloc(1, sizeof(*probe));
    probe->channel = channel;
    probe->pool = transfer_pool_new(1, allowed);
    session_init(&probe->session);
    return probe;
}

void probe_close(struct probe **probe)
{
    if (!*probe) return;
    transfer_free(&(*probe)->transfer);
    transfer_pool_free(&(*probe)->pool);
    session_fini(&(*probe)->session);
    free(*probe);
    *probe = NULL;
}

static bool is_success(const struct transfer_facts *facts)
{
    return facts->complete && facts->status >= 200 && facts->status <= 299;
}

/* Fills the form and sends it. False: it cannot be filled. */
static bool send_form(struct probe *p, const struct form *form, int64_t limit_ms)
{
    struct http_request request;
    const struct form_fill fill = {&p->channel->credentials, &p->session, clock_wall_ms() / 1000,
                                   p->channel->descriptor};
    if (!form_fill(form, &fill, &request, &p->why)) return false;
    const struct transfer_options options = {.limit_ms = limit_ms, .body_max_bytes = ANSWER_BODY_MAX_BYTES};
    transfer_free(&p->transfer);
    (void)transfer_start(p->pool, &request, &options);
    http_request_fini(&request);
    p->requests++;
    while (!(p->transfer = transfer_next_done(p->pool))) /* it ends at its limit at the latest */
        transfer_wait(p->pool, NULL, 0, TURN_MS);
    return true;
}

static enum probe_sent log_in(struct probe *p)
{
    struct form form;
    const struct descriptor *d = p->channel->descriptor;
    if (p->logins == PROBE_LOGINS_MAX) {
        errbuf_set(&p->why, "a new session is refused as the one before it was");
        return PROBE_REFUSED;
    }
    if (!auth_login_form(p->channel, DESCRIPTOR_READ, &form, &p->why)) return PROBE_BROKEN;
    session_login_begun(&p->session);
    p->logins++;
    const bool sent = send_form(p, &form, d->login_limit_ms);
    form_fini(&form);
    if (!sent) return PROBE_BROKEN;
    const struct transfer_facts *facts = probe_facts(p);
    if (!facts->complete) {
        session_login_failed(&p->session, 0, clock_boottime_ms());
        errbuf_set(&p->why, "the login had no answer: %s", facts->error);
        return PROBE_AWAY;
    }
    if (auth_take_session(p->channel, DESCRIPTOR_READ, probe_answer(p), 0, clock_boottime_ms(), &p->session, &p->why)) {
        p->taken = true;
        return PROBE_ANSWERED;
    }
    return facts->status == 401 || facts->status == 403 ? PROBE_REFUSED : PROBE_AWAY;
}

enum probe_sent probe_login(struct probe *p)
{
    return p->channel->descriptor->auth == AUTH_SESSION ? log_in(p) : PROBE_ANSWERED;
}

enum probe_sent probe_send(struct probe *p, const struct form *form)
{
    if (form_needs(form, "session.") && session_state(p->channel, &p->session, clock_boottime_ms()) != SESSION_READY) {
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
    session_drop(&probe->session);
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

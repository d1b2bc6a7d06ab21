/* SPDX-License-Identifier: MIT */
#include "session/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backoff.h"
#include "core/renewal.h"
#include "platforms/seal.h"
#include "platforms/transfer.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/log.h"
#include "runtime/random.h"

#define BACKOFF_BASE_MS 10000 /* after the first login that failed; doubles */
#define BACKOFF_CAP_MS  600000
#define REFUSED_MS      2000    /* until the channel's pause has reached everybody */
#define LOCK_SLACK_MS   5000    /* the lock outlasts the requests by this */
#define POLL_MS         200     /* somebody else is at it */
#define RETRY_MS        500     /* Redis did not answer */
#define WAIT_MAX_MS     7200000 /* longer than any wait that is written down: a clock has leapt, or somebody wrote it */

static const char person_words[] =
    "a refresh went out and nobody knows whether it was executed, so its token may be spent: authorise the client "
    "anew, write the new refresh token into the channel's credential and reload";
static const char refused_words[] =
    "the refresh token is not taken any more: authorise the client anew, write the new one into the channel's "
    "credential and reload";

void keeper_init(struct keeper *k, struct channel *channel, enum descriptor_half half, const struct keeper_fleet *fleet)
{
    char hex[RANDOM_TOKEN_SIZE];
    memset(k, 0, sizeof *k);
    k->channel = channel;
    k->half = half;
    k->fleet = fleet;
    session_init(&k->session);
    session_init(&k->fresh);
    snprintf(k->token, sizeof k->token, "%.64s %s", fleet ? fleet->name : "", random_token(hex));
}

static bool writes(const struct keeper *k)
{
    return k->fleet && !k->fleet->read_only;
}

static int64_t now_ms(const struct keeper *k)
{
    return k->fleet ? server_clock_now(link_clock(k->fleet->link), clock_boottime_ms()) : clock_wall_ms();
}

int64_t keeper_limit_ms(const struct keeper *k)
{
    return k->channel->descriptor->login_limit_ms;
}

/* A refresh and all requests of a login may follow one another under one lock. */
static int64_t lock_ms(const struct keeper *k)
{
    int64_t requests = 1;
    while (descriptor_login(k->channel->descriptor, (size_t)requests - 1))
        requests++;
    return requests * keeper_limit_ms(k) + LOCK_SLACK_MS;
}

/* ---- the ledger ---- */

/* What is there is ours from now on, if it opens. */
static void adopt(struct keeper *k, const struct sessions_record *record)
{
    char key_id[SEAL_KEY_ID_BYTES];
    k->failures = record->failures;
    k->not_before_ms = record->not_before_ms > now_ms(k) + WAIT_MAX_MS ? 0 : record->not_before_ms;
    k->refresh_begun = strcmp(record->begun, seal_key_id(k->channel, key_id)) == 0;
    if (record->rev == k->rev) return;
    const bool set_back = record->rev < k->rev; /* to a backup, or it has forgotten all: what we hold is newer */
    k->rev = record->rev;
    if (set_back || record->rev == 0) return;
    struct session found;
    session_init(&found);
    enum seal_opened opened =
        seal_open(k->channel, record->sealed.bytes ? record->sealed.bytes : "", record->sealed.len, &found);
    if (opened == SEAL_OPENED) {
        session_fini(&k->session);
        k->session = found;
        k->over = k->refresh_refused = false;
        k->count++;
    }
    if (opened == SEAL_OPENED || record->rev == k->ignored_rev) return;
    k->ignored_rev = record->rev;
    log_event(LOG_LEVEL_WARN, "session.ignored", LOG_S("channel", k->channel->name),
              LOG_S("why", opened == SEAL_FOREIGN ? "it was sealed under another credential"
                                                  : "it is not what was sealed: somebody or something has changed it"));
}

static bool ask_ledger(struct keeper *k, struct sessions_request *request, enum sessions_op op)
{
    struct errbuf err = {{0}};
    request->channel = k->channel->name;
    request->op = op;
    request->token = k->token;
    if (link_is_open(k->fleet->link) &&
        sessions_ask(k->fleet->ledger, k->fleet->link, request, k->fleet->round_limit_ms, &err))
        return true;
    k->ask_boot_ms = clock_boottime_ms() + RETRY_MS;
    if (err.text[0] != '\0')
        log_event_limited(LOG_LEVEL_WARN, "session.unasked", LOG_S("channel", k->channel->name),
                          LOG_S("why", err.text));
    return false;
}

static enum renewal decide(const struct keeper *k, bool locked)
{
    const bool repeatable = k->channel->descriptor->refresh_repeatable;
    const struct renewal_facts facts = {
        .has_session = session_is_whole(k->channel, &k->session) && !k->over,
        .until_ms = k->session.until_ms,
        .can_login = auth_can_login(k->channel),
        .can_refresh = auth_can_refresh(k->channel, &k->session) && !k->refresh_refused && (writes(k) || repeatable),
        .repeatable = repeatable,
        .refresh_begun = k->refresh_begun,
        .locked = locked,
        .not_before_ms = k->not_before_ms,
        .now_ms = now_ms(k),
    };
    return renewal_next(&facts);
}

/* False: Redis did not answer. */
static bool look(struct keeper *k, enum sessions_op op, enum renewal *next)
{
    struct sessions_request request = {.ttl_ms = lock_ms(k)};
    bool ok = ask_ledger(k, &request, op);
    if (ok) {
        adopt(k, &request.record);
        auth_seed(k->channel, &k->session);
        *next = decide(k, request.record.lock_left_ms > 0);
    }
    sessions_fini(&request);
    return ok;
}

static void release(struct keeper *k)
{
    struct sessions_request request = {0};
    if (writes(k)) (void)ask_ledger(k, &request, SESSIONS_RELEASE); /* else it ends by itself */
    sessions_fini(&request);
}

void keeper_renew(struct keeper *k)
{
    session_fini(&k->session);
    k->rev = -1;
    k->over = k->refresh_refused = k->refresh_begun = false;
    k->failures = k->not_before_ms = k->ask_boot_ms = 0;
}

void keeper_expired(struct keeper *k, int64_t count)
{
    if (count == k->count) k->over = true;
}

/* ---- trouble ---- */

static enum keeper_state trouble(struct keeper *k, enum keeper_kind kind, const char *why)
{
    int64_t left_ms = k->not_before_ms - now_ms(k);
    k->trouble.kind = kind;
    k->trouble.wait_ms = left_ms > 0 ? left_ms : 1;
    snprintf(k->trouble.why, sizeof k->trouble.why, "%.*s", (int)sizeof k->trouble.why - 1, why);
    return KEEPER_TROUBLE;
}

/* What was tried has failed, for the whole fleet. spent: nobody knows how a refresh ended that spends its token. */
static enum keeper_state fail(struct keeper *k, enum keeper_kind kind, int64_t wait_ms, bool spent, const char *why)
{
    if (k->failures < 20) k->failures++;
    int64_t own_ms = kind == KEEPER_REFUSED
                         ? REFUSED_MS
                         : backoff_ms((int)k->failures, BACKOFF_BASE_MS, BACKOFF_CAP_MS, random_below(UINT32_MAX));
    k->not_before_ms = now_ms(k) + (wait_ms > own_ms ? wait_ms : own_ms);
    k->trouble.asked = wait_ms > 0;
    k->phase = KEEPER_IDLE;
    session_fini(&k->fresh);
    struct sessions_request request = {.until_ms = k->not_before_ms, .failures = k->failures, .spent = spent};
    if (writes(k)) (void)ask_ledger(k, &request, SESSIONS_FAIL); /* else the lock ends by itself, and we know */
    sessions_fini(&request);
    return trouble(k, kind, why);
}

/* ---- requests ---- */

static void copy_session(const struct session *from, struct session *to)
{
    session_fini(to);
    for (int i = 0; i < from->count; i++)
        session_put(to, from->values[i].name, secret_copy(from->values[i].secret));
}

static bool spends(const struct keeper *k)
{
    return k->step == AUTH_REFRESH && !k->channel->descriptor->refresh_repeatable;
}

/* The ledger knows of a refresh before it goes out. */
static bool write_down(struct keeper *k)
{
    char key_id[SEAL_KEY_ID_BYTES];
    struct sessions_request request = {.mark = seal_key_id(k->channel, key_id)};
    bool ok = ask_ledger(k, &request, SESSIONS_BEGIN) && request.answer == SESSIONS_OK;
    sessions_fini(&request);
    return ok;
}

static enum keeper_state send(struct keeper *k, struct http_request *out)
{
    struct errbuf err = {{0}};
    struct form form;
    const struct form_fill fill = {&k->channel->credentials, &k->fresh, clock_wall_ms() / 1000, k->channel->descriptor};
    if (!auth_form(k->channel, k->half, k->step, &form, &err)) return fail(k, KEEPER_FAILED, 0, false, err.text);
    bool filled = form_fill(&form, &fill, out, &err);
    form_fini(&form);
    if (!filled) return fail(k, KEEPER_FAILED, 0, false, err.text);
    if (spends(k) && !write_down(k)) {
        http_request_fini(out);
        k->phase = KEEPER_IDLE;
        return KEEPER_BUSY;
    }
    k->phase = KEEPER_SENT;
    return KEEPER_SEND;
}

static enum keeper_state begin(struct keeper *k, int step)
{
    k->step = step;
    k->phase = KEEPER_NEXT;
    if (step == AUTH_REFRESH)
        copy_session(&k->session, &k->fresh);
    else
        session_fini(&k->fresh);
    return KEEPER_BUSY;
}

/* ---- storing ---- */

static enum keeper_state take_over(struct keeper *k)
{
    session_fini(&k->session);
    k->session = k->fresh;
    session_init(&k->fresh);
    k->phase = KEEPER_IDLE;
    k->over = k->refresh_refused = k->refresh_begun = false;
    k->failures = k->not_before_ms = 0;
    k->trouble.kind = KEEPER_NO_TROUBLE;
    k->count++;
    return KEEPER_READY;
}

static enum keeper_state store(struct keeper *k)
{
    if (!writes(k)) return take_over(k);
    char *sealed = seal_session(k->channel, &k->fresh);
    struct sessions_request request = {.rev = k->rev > 0 ? k->rev : 0, .sealed = sealed};
    enum keeper_state state = KEEPER_BUSY;
    if (ask_ledger(k, &request, SESSIONS_STORE)) {
        if (request.answer == SESSIONS_OK) {
            crash_point("after_session");
            k->rev = request.record.rev;
            state = take_over(k);
        } else { /* somebody was faster, or this is our own, whose answer was lost */
            k->phase = KEEPER_IDLE;
            session_fini(&k->fresh);
            adopt(k, &request.record);
        }
    }
    sessions_fini(&request);
    free(sealed);
    return state;
}

/* ---- asking ---- */

static enum keeper_state follow(struct keeper *k, enum renewal next)
{
    k->trouble.asked = false;
    switch (next) {
    case RENEWAL_USE: k->trouble.kind = KEEPER_NO_TROUBLE; return KEEPER_READY;
    case RENEWAL_REFRESH: return begin(k, AUTH_REFRESH);
    case RENEWAL_LOGIN: return begin(k, 0);
    case RENEWAL_LOCKED: k->ask_boot_ms = clock_boottime_ms() + POLL_MS; return KEEPER_BUSY;
    case RENEWAL_LATER: return trouble(k, KEEPER_LATER, "the last login failed; the next one has to wait");
    case RENEWAL_PERSON: break;
    }
    k->trouble.status = 0;
    if (!writes(k)) return trouble(k, KEEPER_FAILED, "the fleet's session is over, and only the fleet renews it");
    return trouble(k, KEEPER_REFUSED, k->refresh_begun ? person_words : refused_words);
}

static bool renews(enum renewal next)
{
    return next == RENEWAL_REFRESH || next == RENEWAL_LOGIN;
}

static enum keeper_state ask_idle(struct keeper *k)
{
    auth_seed(k->channel, &k->session);
    enum renewal next = decide(k, false);
    if (next == RENEWAL_USE || !k->fleet) return follow(k, next);
    if (clock_boottime_ms() < k->ask_boot_ms) return KEEPER_BUSY;
    if (!look(k, SESSIONS_LOOK, &next)) return KEEPER_BUSY;
    if (!renews(next) || !writes(k)) return follow(k, next);
    if (!look(k, SESSIONS_LOCK, &next)) return KEEPER_BUSY;
    if (!renews(next) && next != RENEWAL_LOCKED) release(k); /* somebody has done it meanwhile */
    return follow(k, next);
}

void keeper_turn(struct keeper *k)
{
    if (k->phase == KEEPER_STORE && clock_boottime_ms() >= k->ask_boot_ms) (void)store(k);
}

enum keeper_state keeper_ask(struct keeper *k, struct http_request *request)
{
    enum keeper_state state = KEEPER_BUSY;
    if (k->phase == KEEPER_IDLE) state = ask_idle(k);
    if (k->phase == KEEPER_NEXT) return send(k, request);
    if (k->phase == KEEPER_STORE && clock_boottime_ms() >= k->ask_boot_ms) return store(k);
    return state;
}

/* ---- answers ---- */

static enum keeper_state refused(struct keeper *k, bool lost)
{
    const bool refresh = k->step == AUTH_REFRESH, spent = lost && spends(k);
    if (!refresh) return fail(k, KEEPER_REFUSED, 0, false, "the credential was refused");
    if (auth_can_login(k->channel)) {
        k->refresh_refused = true;
        return begin(k, 0);
    }
    return fail(k, KEEPER_REFUSED, 0, spent, lost ? person_words : refused_words);
}

enum keeper_state keeper_take(struct keeper *k, const struct transfer_facts *facts, const struct answer *answer)
{
    struct errbuf err = {{0}};
    int64_t wait_ms;
    enum auth_took took = auth_take(k->channel, k->half, k->step, facts, answer, now_ms(k), &k->fresh, &wait_ms, &err);
    k->trouble.status = facts->complete ? facts->status : 0;
    if (took != AUTH_TOOK_STEP && took != AUTH_TOOK_ALL)
        log_event_limited(LOG_LEVEL_WARN, "login.failed", LOG_S("channel", k->channel->name),
                          LOG_I("status", facts->status), LOG_S("why", err.text));
    switch (took) {
    case AUTH_TOOK_STEP:
        k->step++;
        k->phase = KEEPER_NEXT;
        return KEEPER_BUSY;
    case AUTH_TOOK_ALL:
        crash_point("after_login");
        k->phase = KEEPER_STORE;
        k->ask_boot_ms = 0;
        return store(k);
    case AUTH_REFUSED: return refused(k, false);
    case AUTH_WAIT: return fail(k, KEEPER_LATER, wait_ms, false, err.text);
    case AUTH_FAILED: break;
    case AUTH_LOST:
        if (spends(k)) return refused(k, true);
        break;
    }
    return fail(k, KEEPER_FAILED, wait_ms, false, err.text);
}

void keeper_fini(struct keeper *k)
{
    if (k->phase == KEEPER_STORE) (void)store(k); /* a last try: what it brought may exist once only */
    if (k->phase != KEEPER_IDLE) release(k);
    session_fini(&k->session);
    session_fini(&k->fresh);
}

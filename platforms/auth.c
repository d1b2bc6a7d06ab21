/* SPDX-License-Identifier: MIT */
#include "platforms/auth.h"

#include <stdio.h>
#include <string.h>

#include "platforms/limits_answer.h"
#include "platforms/transfer.h"
#include "runtime/die.h"

#define REFRESH_TOKEN "refresh_token"

/* ---- sessions ---- */

void session_init(struct session *session)
{
    memset(session, 0, sizeof(*session));
}

void session_fini(struct session *session)
{
    for (int i = 0; i < session->count; i++)
        secret_free(&session->values[i].secret);
    session_init(session);
}

void session_put(struct session *session, const char *name, struct secret *own_secret)
{
    int i = 0;
    while (i < session->count && strcmp(session->values[i].name, name) != 0)
        i++;
    if (i == DESCRIPTOR_SESSION_VALUES_MAX || strlen(name) >= SESSION_NAME_BYTES) {
        secret_free(&own_secret);
        return;
    }
    if (i == session->count) session->count++;
    secret_free(&session->values[i].secret);
    snprintf(session->values[i].name, sizeof(session->values[i].name), "%s", name);
    session->values[i].secret = own_secret;
}

const struct secret *session_get(const struct session *session, const char *name)
{
    for (int i = 0; i < session->count; i++)
        if (strcmp(session->values[i].name, name) == 0) return session->values[i].secret;
    return NULL;
}

bool session_is_whole(const struct channel *channel, const struct session *session)
{
    const char *name;
    for (size_t i = 0; (name = descriptor_session_value(channel->descriptor, i)); i++)
        if (!session_get(session, name)) return false;
    return true;
}

/* ---- requests ---- */

void auth_add_headers(const struct channel *channel, struct form *form)
{
    const struct descriptor *d = channel->descriptor;
    const char *bearer = d->auth_prefix ? d->auth_prefix : d->auth_header ? "" : "Bearer ";
    char hole[64];
    switch (channel->auth) {
    case AUTH_BEARER: form_add_hole_header(form, "Authorization", "Bearer ", "secret"); break;
    case AUTH_HEADER: form_add_hole_header(form, d->auth_header, d->auth_prefix ? d->auth_prefix : "", "secret"); break;
    case AUTH_JWT: form_add_hole_header(form, "Authorization", bearer, "jwt"); break;
    case AUTH_BASIC: form_add_hole_header(form, "Authorization", "Basic ", "basic"); break;
    case AUTH_SESSION:
    case AUTH_OAUTH2:
        snprintf(hole, sizeof(hole), "session.%s", descriptor_session_value(d, 0));
        form_add_hole_header(form, d->auth_header ? d->auth_header : "Authorization", bearer, hole);
        break;
    case AUTH_WEBHOOK:
        form_add_hole_header(form, "webhook-timestamp", "", "timestamp");
        form_add_hole_header(form, "webhook-signature", "", "signature");
        break;
    case AUTH_NONE:
    case AUTH_PATH:
    case AUTH_BODY: break;
    }
}

void auth_seed(const struct channel *channel, struct session *session)
{
    if (channel->auth != AUTH_OAUTH2 || session_get(session, REFRESH_TOKEN)) return;
    const struct secret *given = credentials_get(&channel->credentials, REFRESH_TOKEN);
    if (given) session_put(session, REFRESH_TOKEN, secret_copy(given));
}

bool auth_can_login(const struct channel *channel)
{
    return channel->auth == AUTH_SESSION && descriptor_login(channel->descriptor, 0) != NULL;
}

bool auth_can_refresh(const struct channel *channel, const struct session *session)
{
    if (!channel_has_session(channel) || !channel->descriptor->refresh.request.method) return false;
    return channel->auth == AUTH_OAUTH2 ? session_get(session, REFRESH_TOKEN) != NULL
                                        : session_is_whole(channel, session);
}

static const struct descriptor_login *login_of(const struct channel *channel, int step)
{
    return step == AUTH_REFRESH ? &channel->descriptor->refresh : descriptor_login(channel->descriptor, (size_t)step);
}

/* What programs see where it is about no delivery. `.credentials` names those that the channel gives. */
static json_t *own_input(const struct channel *channel, const struct answer *answer)
{
    const struct channel_facts nothing = {0};
    json_t *input = channel_input(channel, &nothing), *names = json_array();
    for (size_t i = 0; i < channel->credentials.count; i++)
        json_array_append_new(names, json_string(channel->credentials.items[i].name));
    if (json_object_set_new(input, "credentials", names) != 0) die("out of memory");
    if (answer && json_object_set_new(input, "answer", answer_to_json(answer)) != 0) die("out of memory");
    return input;
}

bool auth_form(struct channel *channel, enum descriptor_half half, int step, struct form *form, struct errbuf *err)
{
    json_t *input = own_input(channel, NULL);
    bool ok = form_render(channel, half, &login_of(channel, step)->request, input, form, err);
    json_decref(input);
    return ok;
}

/* ---- answers ---- */

/* It goes into headers: printable ASCII. */
static bool is_token(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~') return false;
    return len > 0 && len <= SECRET_MAX_BYTES;
}

static bool take_value(struct session *session, const char *name, const json_t *value)
{
    if (!is_token(value)) return false;
    session_put(session, name, secret_new(json_string_value(value), json_string_length(value)));
    return true;
}

/* True if it gave something. What it does not name stays: a refresh need not give a new refresh token (RFC 6749, 6). */
static bool take_values(const struct descriptor *d, const json_t *result, struct session *session)
{
    if (json_is_string(result)) return take_value(session, descriptor_session_value(d, 0), result);
    const char *name;
    bool any = false;
    for (size_t i = 0; (name = descriptor_session_value(d, i)); i++) {
        const json_t *value = json_object_get(result, name);
        if (!value || json_is_null(value)) continue;
        if (!take_value(session, name, value)) return false;
        any = true;
    }
    return any;
}

/* The last tenth is left out: a request that starts in it could arrive too late. */
static void take_lifetime(const struct descriptor *d, const json_t *result, int64_t now_ms, struct session *session)
{
    double stated_s = json_number_value(json_object_get(result, "expires_in"));
    int64_t lifetime_s = stated_s >= 1 && stated_s < 1e9 ? (int64_t)stated_s : d->lifetime_s;
    session->until_ms = lifetime_s > 0 ? now_ms + lifetime_s * 900 : 0;
}

/* Statuses with which a server says that it understood and will not. */
static bool is_refusal(int status)
{
    return status >= 400 && status <= 499 && status != 408 && status != 425 && status != 429;
}

static enum auth_took judge_nothing(const struct channel *channel, enum descriptor_half half, const json_t *input,
                                    const struct answer *answer, int64_t wait_ms)
{
    struct descriptor *d = channel->descriptor;
    bool success = answer->status >= 200 && answer->status <= 299, refused = false;
    if (success && d->refused_part && descriptor_ask(d, half, d->refused_part, input, &refused, NULL) && refused)
        return AUTH_REFUSED;
    if (is_refusal(answer->status)) return AUTH_REFUSED;
    if (answer->status == 429 || (success && wait_ms > 0)) return AUTH_WAIT;
    /* A gateway that had no answer, and a success that cannot be read: the server may have done it. */
    return success || answer->status == 502 || answer->status == 504 ? AUTH_LOST : AUTH_FAILED;
}

static enum auth_took take_answer(struct channel *channel, enum descriptor_half half, int step,
                                  const struct answer *answer, int64_t now_ms, struct session *session,
                                  int64_t *wait_ms)
{
    struct descriptor *d = channel->descriptor;
    json_t *input = own_input(channel, answer), *result = NULL;
    bool last = step == AUTH_REFRESH || !descriptor_login(d, (size_t)step + 1);
    enum auth_took took = last ? AUTH_TOOK_ALL : AUTH_TOOK_STEP;
    /* What a program says about an answer may quote it: its error is not passed on. */
    bool ok = answer->status >= 200 && answer->status <= 299 &&
              descriptor_run(d, half, login_of(channel, step)->keep_part, input, &result, NULL) &&
              take_values(d, result, session) && (!last || session_is_whole(channel, session));
    if (ok && last) take_lifetime(d, result, now_ms, session);
    if (!ok) {
        *wait_ms = limits_answer_ms(d, half, answer, now_ms);
        took = judge_nothing(channel, half, input, answer, *wait_ms);
    }
    json_decref(result);
    json_decref(input);
    return took;
}

enum auth_took auth_take(struct channel *channel, enum descriptor_half half, int step,
                         const struct transfer_facts *facts, const struct answer *answer, int64_t now_ms,
                         struct session *session, int64_t *wait_ms, struct errbuf *err)
{
    const char *what = step == AUTH_REFRESH ? "refresh" : "login";
    *wait_ms = 0;
    if (!facts->complete) {
        errbuf_set(err, "%s: the %s had no answer: %s", channel->name, what, facts->error);
        return facts->reached ? AUTH_LOST : AUTH_FAILED;
    }
    enum auth_took took = take_answer(channel, half, step, answer, now_ms, session, wait_ms);
    if (took != AUTH_TOOK_ALL && took != AUTH_TOOK_STEP)
        errbuf_set(err, "%s: the %s was answered with status %d and no token that $.auth of %s finds", channel->name,
                   what, answer->status, channel->descriptor->file);
    return took;
}

bool auth_expired(struct channel *channel, enum descriptor_half half, const struct answer *answer, bool *expired,
                  struct errbuf *err)
{
    struct descriptor *d = channel->descriptor;
    bool ok = true;
    *expired = false;
    for (size_t i = 0; i < d->rule_count && ok && !*expired; i++) {
        const struct descriptor_rule *rule = &d->rules[i];
        if (rule->outcome != OUTCOME_SESSION_EXPIRED || !descriptor_status_fits(&rule->statuses, answer->status))
            continue;
        if (!rule->if_part) {
            *expired = true;
            continue;
        }
        json_t *input = own_input(channel, answer);
        /* A success over which the condition stumbles is judged by who reads it. */
        bool success = answer->status >= 200 && answer->status <= 299;
        ok = descriptor_ask(d, half, rule->if_part, input, expired, success ? NULL : err) || success;
        json_decref(input);
    }
    return ok;
}

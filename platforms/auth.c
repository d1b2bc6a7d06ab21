/* SPDX-License-Identifier: MIT */
#include "platforms/auth.h"

#include <stdio.h>
#include <string.h>

#include "core/backoff.h"
#include "runtime/die.h"
#include "runtime/random.h"

void session_init(struct session *session)
{
    memset(session, 0, sizeof(*session));
}

void session_drop(struct session *session)
{
    for (int i = 0; i < session->count; i++)
        secret_free(&session->values[i].secret);
    session->count = 0;
    session->expires_boot_ms = 0;
}

void session_fini(struct session *session)
{
    session_drop(session);
    session_init(session);
}

void auth_add_headers(const struct channel *channel, struct form *form)
{
    const struct descriptor *d = channel->descriptor;
    char hole[64];
    switch (d->auth) {
    case AUTH_BEARER: form_add_hole_header(form, "Authorization", "Bearer ", "secret"); break;
    case AUTH_HEADER: form_add_hole_header(form, d->auth_header, d->auth_prefix ? d->auth_prefix : "", "secret"); break;
    case AUTH_JWT:
        form_add_hole_header(form, "Authorization", d->auth_prefix ? d->auth_prefix : "Bearer ", "jwt");
        break;
    case AUTH_BASIC: form_add_hole_header(form, "Authorization", "Basic ", "basic"); break;
    case AUTH_SESSION:
        snprintf(hole, sizeof(hole), "session.%s", descriptor_session_value(d, 0));
        form_add_hole_header(form, "Authorization", "Bearer ", hole);
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

enum session_state session_state(const struct channel *channel, const struct session *session, int64_t now_boot_ms)
{
    if (channel->descriptor->auth != AUTH_SESSION) return SESSION_NOT_NEEDED;
    bool over = session->expires_boot_ms > 0 && now_boot_ms >= session->expires_boot_ms;
    if (session->count > 0 && !over) return SESSION_READY;
    return session->login_in_flight || now_boot_ms < session->not_before_boot_ms ? SESSION_WAIT : SESSION_LOGIN;
}

bool auth_login_form(struct channel *channel, enum descriptor_half half, struct form *form, struct errbuf *err)
{
    const struct channel_facts nothing = {0};
    json_t *input = channel_input(channel, &nothing);
    bool ok = form_render(channel, half, &channel->descriptor->login, input, form, err);
    json_decref(input);
    return ok;
}

void session_login_begun(struct session *session)
{
    session->login_in_flight = true;
}

void session_login_failed(struct session *session, int64_t retry_after_ms, int64_t now_boot_ms)
{
    session_drop(session);
    session->login_in_flight = false;
    if (session->failures < 20) session->failures++;
    int64_t wait =
        backoff_ms(session->failures, AUTH_LOGIN_BACKOFF_MS, AUTH_LOGIN_BACKOFF_MAX_MS, random_below(UINT32_MAX));
    session->not_before_boot_ms = now_boot_ms + (retry_after_ms > wait ? retry_after_ms : wait);
}

/* A token goes into headers: printable ASCII. */
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
    struct session_value *slot = &session->values[session->count++];
    snprintf(slot->name, sizeof(slot->name), "%s", name);
    slot->secret = secret_new(json_string_value(value), json_string_length(value));
    return true;
}

static bool take_values(const struct descriptor *d, const json_t *result, struct session *session)
{
    session_drop(session);
    if (json_is_string(result)) return take_value(session, descriptor_session_value(d, 0), result);
    const char *name;
    for (size_t i = 0; (name = descriptor_session_value(d, i)); i++)
        if (!take_value(session, name, json_object_get(result, name))) return false;
    return true;
}

/* What a program sees of an answer that belongs to no delivery. */
static json_t *answer_input(const struct channel *channel, const struct answer *answer)
{
    const struct channel_facts nothing = {0};
    json_t *input = channel_input(channel, &nothing);
    if (json_object_set_new(input, "answer", answer_to_json(answer)) != 0) die("out of memory");
    return input;
}

bool auth_take_session(struct channel *channel, enum descriptor_half half, const struct answer *answer,
                       int64_t retry_after_ms, int64_t now_boot_ms, struct session *session, struct errbuf *err)
{
    const struct descriptor *d = channel->descriptor;
    bool ok = answer->status >= 200 && answer->status <= 299;
    if (ok) {
        /* What the program says about an answer may quote it: its error is not passed on. */
        json_t *input = answer_input(channel, answer), *result = NULL;
        ok = descriptor_run(channel->descriptor, half, d->token_part, input, &result, NULL) &&
             take_values(d, result, session);
        json_decref(result);
        json_decref(input);
    }
    if (!ok) {
        session_login_failed(session, retry_after_ms, now_boot_ms);
        return errbuf_set(err, "%s: the login was answered with status %d and no token that $.auth.token of %s finds",
                          channel->name, answer->status, d->file);
    }
    session->login_in_flight = false;
    session->failures = 0;
    session->not_before_boot_ms = 0;
    /* The last tenth is left out: a request that starts in it could arrive too late. */
    if (d->lifetime_s > 0) session->expires_boot_ms = now_boot_ms + d->lifetime_s * 900;
    return true;
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
        json_t *input = answer_input(channel, answer);
        ok = descriptor_ask(d, half, rule->if_part, input, expired, err);
        json_decref(input);
    }
    return ok;
}

const struct secret *session_get(const struct session *session, const char *name)
{
    for (int i = 0; i < session->count; i++)
        if (strcmp(session->values[i].name, name) == 0) return session->values[i].secret;
    return NULL;
}

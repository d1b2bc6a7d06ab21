/* SPDX-License-Identifier: MIT */
/*
 * Order of the functions: what may be written into an outcome, the descriptor's rules, the error surface, the table.
 * Each of the last three returns whether it decided.
 */
#include "platforms/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/answer.h"
#include "platforms/channel.h"
#include "platforms/entry.h"
#include "platforms/limits.h"
#include "platforms/limits_answer.h"
#include "platforms/program_input.h"
#include "platforms/text.h"
#include "platforms/transfer.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/secret.h"
#include "runtime/utf8.h"

/* How much of a body is looked at for the excerpt; secrets in it are masked before it is cut. */
#define EXCERPT_SOURCE_BYTES 4096

/* One call of verdict(). */
struct view {
    struct channel *channel;
    struct descriptor *descriptor;
    const struct transfer_facts *facts;
    const struct answer *answer;
    const struct verdict_context *context;
    json_t *input; /* context->input with answer and replay; made when the first program runs */
    struct outcome *out;
    bool success_denied; /* a rule for this status names a success, and its condition did not hold */
};

/* Text of others as one line: what is no character and what controls a terminal becomes a space. */
static void printable(char *out, size_t size, const char *text, size_t len)
{
    size_t used = 0;
    while (len > 0) {
        uint32_t c = ' ';
        size_t step = utf8_decode(text, len, &c);
        bool plain = step > 0 && c > 0x20 && (c < 0x7F || c > 0x9F) && (c < 0x2028 || c > 0x202E) &&
                     (c < 0x2066 || c > 0x2069) && c != 0xFEFF;
        if (step == 0) step = 1;
        if (used + step >= size) break;
        if (plain) {
            memcpy(out + used, text, step);
            used += step;
        } else if (used > 0 && out[used - 1] != ' ') {
            out[used++] = ' ';
        }
        text += step;
        len -= step;
    }
    out[used] = '\0';
}

/* What people get to read: the transfer's error if there was one, and the beginning of the body. */
static void write_detail(struct view *v)
{
    char masked[EXCERPT_SOURCE_BYTES];
    const struct buf *body = &v->answer->body;
    size_t len = body->len < EXCERPT_SOURCE_BYTES / 2 ? body->len : EXCERPT_SOURCE_BYTES / 2;
    size_t used = 0;
    if (v->facts->error[0]) {
        printable(v->out->detail, sizeof v->out->detail, v->facts->error, strlen(v->facts->error));
        used = strlen(v->out->detail);
    }
    if (len > 0 && used > 0 && used + 3 < sizeof v->out->detail) {
        memcpy(v->out->detail + used, ": ", 3);
        used += 2;
    }
    len = secret_mask(masked, sizeof masked, buf_text(body), len);
    printable(v->out->detail + used, sizeof v->out->detail - used, masked, len);
}

static bool decide(struct view *v, enum delivery_event kind, enum delivery_reason reason)
{
    v->out->kind = kind;
    v->out->reason = reason;
    return true;
}

static bool decide_bad_answer(struct view *v)
{
    return decide(v, EV_UNKNOWN, RS_BAD_ANSWER);
}

/* As the descriptor's limits read it out of the answer; 0: nothing is said. */
static int64_t stated_wait_ms(const struct view *v)
{
    return limits_answer_ms(v->descriptor, DESCRIPTOR_WRITE, v->answer, v->context->now_ms);
}

static const json_t *program_input(struct view *v)
{
    if (!v->input) {
        v->input = v->context->input ? json_copy(program_input_json(v->context->input)) : json_object();
        if (!v->input || json_object_set_new(v->input, "answer", answer_to_json(v->answer)) ||
            json_object_set_new(v->input, "replay", json_boolean(v->context->replay)))
            die("out of memory");
    }
    return v->input;
}

static bool run(struct view *v, const char *part, json_t **result)
{
    struct errbuf err;
    if (descriptor_run(v->descriptor, DESCRIPTOR_WRITE, part, program_input(v), result, &err)) return true;
    log_event_limited(LOG_LEVEL_WARN, "verdict.program_failed", LOG_S("channel", v->channel->name),
                      LOG_I("status", v->facts->status), LOG_S("why", err.text));
    return false;
}

/* True for text that is UTF-8, has no control characters and is not blank. */
static bool is_plain_text(const char *text, size_t len)
{
    bool blank = true;
    for (size_t i = 0, step; i < len; i += step) {
        uint32_t c;
        step = utf8_decode(text + i, len - i, &c);
        if (step == 0 || c < 0x20 || (c >= 0x7F && c <= 0x9F)) return false;
        blank = blank && c == ' ';
    }
    return !blank;
}

/* An id is 1 .. DELIVERY_EXT_ID_MAX bytes of plain text, or a whole number. */
static bool read_id(const json_t *value, char out[DELIVERY_EXT_ID_MAX + 1])
{
    const double exact = 9007199254740992.0; /* beyond, doubles skip numbers */
    if (json_is_number(value)) {
        double number = json_number_value(value);
        if (!(number >= -exact && number <= exact) || number != (double)(int64_t)number) return false;
        snprintf(out, DELIVERY_EXT_ID_MAX + 1, "%lld", (long long)number);
        return true;
    }
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (!text || len > DELIVERY_EXT_ID_MAX || !is_plain_text(text, len)) return false;
    memcpy(out, text, len + 1);
    return true;
}

/* The address of the post, for people; what is no plain web address is left out. */
static void read_url(const json_t *value, char out[VERDICT_URL_BYTES])
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (!text || len >= VERDICT_URL_BYTES || strlen(text) != len) return;
    if (strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0) return;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] <= 0x20 || text[i] == 0x7F) return;
    }
    memcpy(out, text, len + 1);
}

/* Takes id and url as a rule finds them; true if there is a usable id. */
static bool take_id(struct view *v, const struct descriptor_rule *rule)
{
    json_t *id = NULL, *url = NULL, *other = NULL;
    v->out->url[0] = '\0';
    v->out->duplicate[0] = '\0';
    bool found = rule->id_part && run(v, rule->id_part, &id) && read_id(id, v->out->ext_id);
    if (rule->url_part && run(v, rule->url_part, &url)) read_url(url, v->out->url);
    if (found && rule->duplicate_part && run(v, rule->duplicate_part, &other)) (void)read_id(other, v->out->duplicate);
    json_decref(id);
    json_decref(url);
    json_decref(other);
    return found;
}

/* Does the platform say that it has stored another text? What cannot be told is no. */
static bool stored_another_text(struct view *v, const struct descriptor_rule *rule)
{
    json_t *stored = NULL;
    struct buf seen;
    bool changed = false;
    if (!rule->stored_part) return false;
    const char *text = json_string_value(json_object_get(program_input(v), "text"));
    if (!text || !run(v, rule->stored_part, &stored)) return false;
    buf_init(&seen, 3 * ENTRY_TEXT_MAX_BYTES);
    if (entry_stored_text(stored, &seen)) {
        char *sent = text_normal(text);
        changed = strcmp(sent, buf_text(&seen)) != 0;
        free(sent);
    }
    buf_fini(&seen);
    json_decref(stored);
    return changed;
}

/* The platform says that it is done: with the id that a rule finds, or without where it gives none. */
static bool decide_committed(struct view *v, const struct descriptor_rule *rule)
{
    bool found = take_id(v, rule);
    v->out->changed = stored_another_text(v, rule);
    if (found || !v->descriptor->gives_id) return decide(v, EV_COMMITTED, RS_NONE);
    if (!v->answer->json && v->answer->body.len > 0)
        return decide_bad_answer(v); /* a page of somebody's, not an answer */
    return decide(v, EV_NO_ID, RS_NO_ID);
}

/* The same where no rule names the answer: any rule of the descriptor may know where the id is. */
static bool decide_committed_by_any_rule(struct view *v)
{
    static const struct descriptor_rule no_rule;
    const struct descriptor *d = v->descriptor;
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct descriptor_rule *rule = &d->rules[i];
        if (rule->outcome == OUTCOME_COMMITTED && rule->id_part && take_id(v, rule))
            return decide(v, EV_COMMITTED, RS_NONE);
    }
    return decide_committed(v, &no_rule);
}

static enum delivery_reason reason_of(const struct descriptor_rule *rule, enum delivery_reason usual)
{
    int reason = rule->reason ? delivery_reason_from_name(rule->reason) : -1;
    return reason >= 0 ? (enum delivery_reason)reason : usual;
}

static bool decide_by_rule(struct view *v, const struct descriptor_rule *rule)
{
    switch (rule->outcome) {
    case OUTCOME_COMMITTED: return decide_committed(v, rule);
    case OUTCOME_NO_ID: return decide(v, EV_NO_ID, reason_of(rule, RS_NO_ID));
    case OUTCOME_REFUSED: return decide(v, EV_REFUSED, reason_of(rule, RS_NONE));
    case OUTCOME_NOT_COMMITTED:
        v->out->wait_ms = stated_wait_ms(v);
        return decide(v, EV_NOT_COMMITTED, reason_of(rule, RS_NONE));
    case OUTCOME_WAIT: v->out->wait_ms = stated_wait_ms(v); return decide(v, EV_WAIT, reason_of(rule, RS_NONE));
    case OUTCOME_CREDENTIAL: return decide(v, EV_CREDENTIAL, reason_of(rule, RS_NONE));
    case OUTCOME_SESSION_EXPIRED:
        v->out->session_expired = v->context->session;
        return decide(v, EV_CREDENTIAL, RS_NONE);
    case OUTCOME_UNKNOWN: return decide(v, EV_UNKNOWN, reason_of(rule, RS_BAD_ANSWER));
    case OUTCOME_CONFLICT: return decide(v, EV_CONFLICT, reason_of(rule, RS_NONE));
    case OUTCOME_DELETED: return decide(v, EV_DELETED, RS_NONE);
    }
    return decide_bad_answer(v);
}

/* The first rule that fits decides. Of a body that was cut no condition can be asked, and no id be read. */
static bool decide_by_rules(struct view *v)
{
    const struct descriptor *d = v->descriptor;
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct descriptor_rule *rule = &d->rules[i];
        json_t *holds = NULL;
        if (!descriptor_status_fits(&rule->statuses, v->facts->status)) continue;
        if (v->facts->body_cut && (rule->if_part || rule->id_part)) return decide_bad_answer(v);
        if (!rule->if_part) return decide_by_rule(v, rule);
        if (!run(v, rule->if_part, &holds)) return decide_bad_answer(v);
        bool fits = json_is_true(holds);
        json_decref(holds);
        if (fits) return decide_by_rule(v, rule);
        v->success_denied = v->success_denied || rule->outcome == OUTCOME_COMMITTED;
    }
    return false;
}

enum commit_state { STATE_UNKNOWN, STATE_COMMITTED, STATE_NOT_COMMITTED };
enum retry_kind { RETRY_NONE, RETRY_IDENTICAL, RETRY_WAIT, RETRY_FIX, RETRY_CREDENTIAL };

/* Index of the value in the words; what is missing, no text, or not among them is 0. */
static int word_of(const json_t *value, const char *const words[])
{
    const char *text = json_string_value(value);
    for (int i = 1; text && words[i]; i++) {
        if (strcmp(text, words[i]) == 0) return i;
    }
    return 0;
}

static bool decide_not_committed(struct view *v, enum retry_kind kind)
{
    switch (kind) {
    case RETRY_IDENTICAL: return decide(v, EV_NOT_COMMITTED, RS_NONE);
    case RETRY_WAIT: return decide(v, EV_WAIT, RS_NONE);
    case RETRY_CREDENTIAL: return decide(v, EV_CREDENTIAL, RS_NONE);
    case RETRY_FIX:
    case RETRY_NONE: break;
    }
    return decide(v, EV_REFUSED, RS_NONE);
}

static bool decide_by_surface(struct view *v)
{
    static const char *const states[] = {"unknown", "committed", "not_committed", NULL};
    static const char *const kinds[] = {"none",        "retry_identical",    "wait_then_retry",
                                        "fix_request", "provide_credential", NULL};
    const json_t *said = json_object_get(json_object_get(v->answer->json, "meta"), "commit_state");
    const json_t *retry = json_object_get(json_object_get(v->answer->json, "error"), "retry");
    if (!said && !json_object_get(retry, "kind")) return false;

    enum commit_state state = (enum commit_state)word_of(said, states);
    enum retry_kind kind = (enum retry_kind)word_of(json_object_get(retry, "kind"), kinds);
    v->out->wait_ms = limits_clamp_seconds(json_number_value(json_object_get(retry, "after_seconds")));
    if (v->out->wait_ms == 0) v->out->wait_ms = stated_wait_ms(v);
    if (state == STATE_NOT_COMMITTED) return decide_not_committed(v, kind);
    if (state == STATE_UNKNOWN) return decide(v, EV_UNKNOWN, RS_NO_ANSWER);
    if (kind == RETRY_FIX)
        log_event_limited(LOG_LEVEL_WARN, "verdict.committed_with_error", LOG_S("channel", v->channel->name),
                          LOG_I("status", v->facts->status));
    return decide_committed_by_any_rule(v);
}

/* Where a redirect points to: shown without its query, which is where addresses carry secrets. */
static void write_redirect(struct view *v)
{
    const char *target = answer_header(v->answer, "location");
    char text[VERDICT_DETAIL_BYTES], masked[VERDICT_DETAIL_BYTES];
    if (!target) return;
    int len = snprintf(text, sizeof text, "redirects to %.*s", (int)strcspn(target, "?#"), target);
    size_t masked_len =
        secret_mask(masked, sizeof masked, text, len < (int)sizeof text ? (size_t)len : sizeof text - 1);
    printable(v->out->detail, sizeof v->out->detail, masked, masked_len);
}

/* Statuses of a request that was understood and will not be executed. */
static bool is_refusal(int status)
{
    static const int refusals[] = {400, 404, 405, 410, 413, 414, 415, 422, 431, 451};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (status == refusals[i]) return true;
    }
    return false;
}

static bool decide_wait(struct view *v)
{
    v->out->wait_ms = stated_wait_ms(v);
    return decide(v, EV_WAIT, RS_NONE);
}

static bool decide_credential(struct view *v)
{
    v->out->session_expired = v->facts->status == 401 && v->context->session;
    return decide(v, EV_CREDENTIAL, RS_NONE);
}

static bool decide_by_status(struct view *v)
{
    int status = v->facts->status;
    if (status >= 200 && status <= 299) {
        if (v->success_denied || v->facts->body_cut) return decide_bad_answer(v);
        return decide_committed_by_any_rule(v);
    }
    /* A platform that answers in JSON refuses in JSON; an empty or foreign page is a trouble of something else. */
    if ((status == 400 || status == 422) && v->descriptor->gives_id && !v->answer->json) return decide_bad_answer(v);
    if (is_refusal(status)) return decide(v, EV_REFUSED, RS_NONE);
    switch (status) {
    case 401:
    case 403: return decide_credential(v);
    case 409: return decide(v, EV_CONFLICT, RS_NONE);
    case 429: return decide_wait(v);
    case 301:
    case 307:
    case 308: write_redirect(v); return decide(v, EV_REFUSED, RS_REDIRECTED);
    default: return decide(v, EV_UNKNOWN, RS_NO_ANSWER);
    }
}

static void begin(struct view *v, struct channel *channel, const struct transfer_facts *facts,
                  const struct answer *answer, const struct verdict_context *context, struct outcome *out)
{
    *v = (struct view){.channel = channel,
                       .descriptor = channel->descriptor,
                       .facts = facts,
                       .answer = answer,
                       .context = context,
                       .out = out};
    memset(out, 0, sizeof *out);
    out->status = facts->status;
}

/* Of what was published nobody reads what the platform said. */
static void finish(struct view *v)
{
    if (v->out->kind != EV_COMMITTED && v->out->detail[0] == '\0') write_detail(v);
    json_decref(v->input);
}

void verdict(struct channel *channel, const struct transfer_facts *facts, const struct answer *answer,
             const struct verdict_context *context, struct outcome *out)
{
    struct view v;
    begin(&v, channel, facts, answer, context, out);
    if (facts->forbidden)
        decide(&v, EV_REFUSED, RS_NONE);
    else if (!facts->reached)
        decide(&v, EV_NOT_SENT, RS_NONE);
    else if (!facts->complete && !facts->body_cut)
        decide(&v, EV_UNKNOWN, RS_NO_ANSWER);
    else if (!decide_by_rules(&v) && !decide_by_surface(&v))
        decide_by_status(&v);
    if (facts->reached && facts->complete)
        out->spent_ms = limits_answer_spent_ms(v.descriptor, DESCRIPTOR_WRITE, answer, context->now_ms);
    finish(&v);
}

/* Among the descriptor's rules only the one about sessions speaks of requests other than the write. */
static bool session_is_over(struct view *v)
{
    bool over = false;
    if (!v->context->session || !v->facts->complete) return false;
    for (size_t i = 0; i < v->descriptor->rule_count && !over; i++) {
        const struct descriptor_rule *rule = &v->descriptor->rules[i];
        json_t *holds = NULL;
        if (rule->outcome != OUTCOME_SESSION_EXPIRED || !descriptor_status_fits(&rule->statuses, v->facts->status))
            continue;
        over = !rule->if_part || (run(v, rule->if_part, &holds) && json_is_true(holds));
        json_decref(holds);
    }
    return over;
}

/* What the channel's own platform says about us holds for the channel; what somebody else's server says does not. */
static bool prelude_of_channel(struct view *v, int status)
{
    if (session_is_over(v)) {
        v->out->session_expired = true;
        decide(v, EV_CREDENTIAL, RS_NONE);
    } else if (status == 401 || status == 403) {
        decide_credential(v);
    } else if (status == 429) {
        decide_wait(v);
    } else {
        return false;
    }
    return true;
}

static void prelude_answered(struct view *v, enum verdict_prelude prelude, int status)
{
    if (prelude == VERDICT_STEP && prelude_of_channel(v, status)) return;
    bool too_large = prelude == VERDICT_FETCH && v->facts->body_cut; /* it will not be smaller the next time */
    if (too_large || is_refusal(status) || status == 401 || status == 403) {
        decide(v, EV_REFUSED, RS_NONE);
        return;
    }
    v->out->wait_ms = stated_wait_ms(v);
    decide(v, EV_NOT_COMMITTED, RS_NONE);
}

void verdict_prelude(struct channel *channel, enum verdict_prelude prelude, const struct transfer_facts *facts,
                     const struct answer *answer, const struct verdict_context *context, struct outcome *out)
{
    struct view v;
    bool answered = facts->reached && (facts->complete || facts->body_cut);
    begin(&v, channel, facts, answer, context, out);
    if (facts->forbidden)
        decide(&v, EV_REFUSED, RS_NONE);
    else if (answered)
        prelude_answered(&v, prelude, facts->status);
    else
        decide(&v, facts->reached ? EV_NOT_COMMITTED : EV_NOT_SENT, RS_NONE);
    finish(&v);
}

/* SPDX-License-Identifier: MIT */
#include "platforms/lookup.h"

#include <string.h>

#include "platforms/answer.h"
#include "platforms/auth.h"
#include "platforms/channel.h"
#include "platforms/entry.h"
#include "platforms/form.h"
#include "platforms/limits_answer.h"
#include "platforms/transfer.h"

static const struct descriptor_lookup *lookup_of(const struct channel *channel, enum lookup_by by)
{
    return by == LOOKUP_BY_ID ? &channel->descriptor->by_id : &channel->descriptor->by_key;
}

bool lookup_given(const struct channel *channel, enum lookup_by by)
{
    return lookup_of(channel, by)->given;
}

bool lookup_request(struct channel *channel, enum lookup_by by, const json_t *input, struct form *form,
                    struct errbuf *err)
{
    const struct descriptor_lookup *lookup = lookup_of(channel, by);
    if (!lookup->given)
        return errbuf_set(err, "%s: the platform cannot be asked %s", channel->name,
                          by == LOOKUP_BY_ID ? "by id" : "by key");
    return form_render(channel, DESCRIPTOR_READ, &lookup->request, input, form, err);
}

static bool is_success(const struct answer *answer)
{
    return answer->status >= 200 && answer->status <= 299;
}

/* Answers that speak of the server's state, or of ours, and never of the post. */
static bool is_about_the_post(int status)
{
    return status >= 200 && status < 500 && status != 401 && status != 403 && status != 408 && status != 425 &&
           status != 429;
}

/* A post that was found has an id; without one there is nothing to adopt. */
static bool take_entry(const json_t *json, struct lookup *out)
{
    struct entry_head head;
    if (!entry_head(json, &head)) return errbuf_set(&out->detail, "the post that was found has no id");
    memcpy(out->id, head.id, sizeof head.id);
    const char *url = json_string_value(json_object_get(json, "url"));
    if (url != NULL && strlen(url) < sizeof out->url) memcpy(out->url, url, strlen(url) + 1);
    char digits[24];
    const char *other = entry_text(json_object_get(json, "duplicate"), digits);
    if (other != NULL && strlen(other) < sizeof out->duplicate) memcpy(out->duplicate, other, strlen(other) + 1);
    out->kind = LOOKUP_FOUND;
    return true;
}

/* Asks the two programs. What fails leaves the post unseen, with the reason in detail. */
static void ask_programs(struct channel *channel, const struct descriptor_lookup *lookup, const json_t *input,
                         const struct answer *answer, struct lookup *out)
{
    if (is_success(answer)) {
        json_t *found = NULL;
        if (!descriptor_run(channel->descriptor, DESCRIPTOR_READ, lookup->found_part, input, &found, &out->detail))
            return;
        const bool none = json_is_null(found) || json_is_false(found);
        if (!none) (void)take_entry(found, out);
        json_decref(found);
        if (!none) return;
    }
    bool gone = false;
    if (lookup->gone_part != NULL && is_about_the_post(answer->status) &&
        !descriptor_ask(channel->descriptor, DESCRIPTOR_READ, lookup->gone_part, input, &gone, &out->detail))
        return;
    if (gone)
        out->kind = LOOKUP_GONE;
    else
        errbuf_set(&out->detail, "status %d says nothing about the post", answer->status);
}

/* Whether the answer is about us: a session, a credential, a limit. */
static bool take_refusal(struct channel *channel, const struct answer *answer, int64_t now_ms, struct lookup *out)
{
    bool expired = false;
    if (!auth_expired(channel, DESCRIPTOR_READ, answer, &expired, &out->detail)) return true;
    out->wait_ms = is_success(answer) ? 0 : limits_answer_ms(channel->descriptor, DESCRIPTOR_READ, answer, now_ms);
    const bool session = channel_has_session(channel);
    if (expired || (answer->status == 401 && session))
        out->kind = session ? LOOKUP_SESSION : LOOKUP_CREDENTIAL;
    else if (is_success(answer))
        return false;
    else if (out->wait_ms > 0 || answer->status == 429 || answer->status == 503)
        out->kind = LOOKUP_WAIT;
    else if (answer->status == 401 || answer->status == 403)
        out->kind = LOOKUP_CREDENTIAL;
    else
        return false;
    errbuf_set(&out->detail, "status %d", answer->status);
    return true;
}

void lookup_take_answer(struct channel *channel, enum lookup_by by, const json_t *input,
                        const struct transfer_facts *facts, const struct answer *answer, int64_t now_ms,
                        struct lookup *out)
{
    memset(out, 0, sizeof *out);
    out->kind = LOOKUP_UNSEEN;
    if (!facts->complete) {
        errbuf_set(&out->detail, "%s", facts->error[0] != '\0' ? facts->error : "no complete answer");
        return;
    }
    if (take_refusal(channel, answer, now_ms, out)) return;
    json_t *seen = json_copy((json_t *)input); /* shallow: jansson takes no const */
    json_object_set_new(seen, "answer", answer_to_json(answer));
    ask_programs(channel, lookup_of(channel, by), seen, answer, out);
    json_decref(seen);
}

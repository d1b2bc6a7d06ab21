/* SPDX-License-Identifier: MIT */
#include "ledger/answer.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

#define ROW_FIELDS_MAX 64 /* twice what a row has; the rest is somebody's hand */

bool answer_is_array(const struct redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ARRAY;
}

bool answer_is_string(const struct redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_STRING && reply->str;
}

bool answer_is_nil(const struct redisReply *reply)
{
    return !reply || reply->type == REDIS_REPLY_NIL;
}

size_t answer_count(const struct redisReply *reply)
{
    return answer_is_array(reply) ? reply->elements : 0;
}

const struct redisReply *answer_at(const struct redisReply *reply, size_t i)
{
    return i < answer_count(reply) ? reply->element[i] : NULL;
}

const char *answer_error(const struct redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ERROR && reply->str ? reply->str : NULL;
}

const char *answer_text(const struct redisReply *reply, size_t *len)
{
    bool text = reply && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) && reply->str;
    if (len) *len = text ? reply->len : 0;
    return text ? reply->str : "";
}

bool answer_is(const struct redisReply *reply, const char *word)
{
    size_t len;
    const char *text = answer_text(reply, &len);
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

/* Most numbers are nothing but digits, and too few of them to overflow. */
static bool read_digits(const char *text, size_t len, int64_t *out)
{
    if (len == 0 || len > 18) return false;
    *out = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *out = *out * 10 + (text[i] - '0');
    }
    return true;
}

bool answer_number(const struct redisReply *reply, int64_t *out)
{
    if (reply && reply->type == REDIS_REPLY_INTEGER) {
        *out = reply->integer;
        return true;
    }
    size_t len;
    const char *text = answer_text(reply, &len);
    if (read_digits(text, len, out)) return true;
    if (len == 0 || strspn(text, "0123456789.e+-") != len) return false;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*end == '\0' && errno == 0) {
        *out = number;
        return true;
    }
    double real = strtod(text, &end); /* a score: Redis prints doubles */
    if (*end != '\0' || !isfinite(real) || fabs(real) > 9007199254740992.0) return false;
    *out = (int64_t)real;
    return true;
}

int64_t answer_number_or_0(const struct redisReply *reply)
{
    int64_t number = 0;
    return answer_number(reply, &number) ? number : 0;
}

bool answer_copy(const struct redisReply *reply, char *out, size_t out_size)
{
    size_t len;
    const char *text = answer_text(reply, &len);
    out[0] = '\0';
    if (len >= out_size || strlen(text) != len) return false;
    memcpy(out, text, len + 1);
    return true;
}

void answer_words(const struct redisReply *reply, char *out, size_t out_size)
{
    const char *error = answer_error(reply);
    size_t len = error ? strlen(error) : 0;
    const char *text = error ? error : answer_text(reply, &len);
    if (len >= out_size) len = out_size - 1;
    for (size_t i = 0; i < len; i++)
        out[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    out[len] = '\0';
}

void answer_drop(struct request_text *text)
{
    free(text->bytes);
    text->bytes = NULL;
    text->len = 0;
}

void answer_keep(const struct redisReply *reply, struct request_text *out)
{
    answer_drop(out);
    if (!answer_is_string(reply)) return;
    const char *text = answer_text(reply, &out->len);
    out->bytes = xstrndup(text, out->len);
}

bool answer_state(const struct redisReply *reply, enum delivery_state *out)
{
    int state = delivery_state_from_name(answer_text(reply, NULL));
    if (state < 0) return false;
    *out = (enum delivery_state)state;
    return true;
}

enum delivery_reason answer_reason(const struct redisReply *reply)
{
    int reason = delivery_reason_from_name(answer_text(reply, NULL));
    return reason < 0 ? RS_NONE : (enum delivery_reason)reason;
}

const struct redisReply *answer_field(const struct redisReply *reply, size_t from, const char *name)
{
    for (size_t i = from; i + 1 < answer_count(reply); i += 2) {
        if (answer_is(reply->element[i], name)) return reply->element[i + 1];
    }
    return NULL;
}

static size_t add_field(struct row_field *fields, size_t count, const struct redisReply *name,
                        const struct redisReply *value)
{
    struct row_field *f = &fields[count];
    f->name = answer_text(name, &f->name_bytes);
    f->value = answer_text(value, &f->value_bytes);
    return f->name_bytes > 0 ? count + 1 : count;
}

bool answer_row(const struct redisReply *row, size_t from, const struct redisReply *more, struct row *out,
                struct errbuf *err)
{
    static const char *const long_names[] = {"ext_id", "url", "duplicate", "key"};
    struct row_field fields[ROW_FIELDS_MAX + sizeof long_names / sizeof long_names[0]];
    size_t count = 0;
    for (size_t i = from; i + 1 < answer_count(row) && count < ROW_FIELDS_MAX; i += 2)
        count = add_field(fields, count, row->element[i], row->element[i + 1]);
    for (size_t i = 0; count > 0 && i + 1 < answer_count(more); i += 2) { /* long values alone are no row */
        for (size_t n = 0; n < sizeof long_names / sizeof long_names[0]; n++) {
            if (answer_is(more->element[i], long_names[n]) && count < sizeof fields / sizeof fields[0])
                count = add_field(fields, count, more->element[i], more->element[i + 1]);
        }
    }
    return row_parse(fields, count, out, err);
}

bool answer_lease(const struct redisReply *reply, char *worker, size_t worker_size, int *attempt, char *token,
                  size_t token_size)
{
    size_t len;
    const char *text = answer_text(reply, &len);
    size_t first = strcspn(text, " ");
    snprintf(worker, worker_size, "%.*s", (int)(first < worker_size ? first : worker_size - 1), text);
    *attempt = 0;
    token[0] = '\0';
    if (first >= worker_size || text[first] != ' ') return false;
    char *end;
    long number = strtol(text + first, &end, 10);
    if (end == text + first || *end != ' ' || number < 0 || number > INT32_MAX || strlen(end + 1) >= token_size)
        return false;
    *attempt = (int)number;
    snprintf(token, token_size, "%s", end + 1);
    return true;
}

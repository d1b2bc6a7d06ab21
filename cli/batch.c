/* SPDX-License-Identifier: MIT */
#include "cli/batch.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out.h"
#include "runtime/die.h"

void batch_init(struct batch *batch, struct cli *cli, bool dry_run, batch_told *told, void *context)
{
    memset(batch, 0, sizeof(*batch));
    batch->cli = cli;
    batch->dry_run = dry_run;
    batch->told = told;
    batch->context = context;
    batch->round = round_new(&cli->ledger);
    batch->rehearsed = json_object();
    batch->deliveries = xcalloc(REQUEST_BATCH_MAX, sizeof(*batch->deliveries));
}

static void forget(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        round_forget(batch->round, &batch->deliveries[i].request.base);
        free(batch->deliveries[i].content);
    }
    batch->count = 0;
    batch->bytes = 0;
}

void batch_fini(struct batch *batch)
{
    forget(batch);
    round_free(&batch->round);
    json_decref(batch->rehearsed);
    free(batch->deliveries);
}

static bool holds(const struct batch *batch, const char *name)
{
    for (size_t i = 0; i < batch->count; i++)
        if (strcmp(batch->deliveries[i].name, name) == 0) return true;
    return false;
}

bool batch_add(struct batch *batch, const struct batch_item *item)
{
    bool full = batch->count == REQUEST_BATCH_MAX || batch->bytes + item->content_len > BATCH_MAX_BYTES;
    /* One call of a script is about different deliveries. */
    if ((full || holds(batch, item->name)) && !batch_flush(batch)) return false;
    struct batch_delivery *d = &batch->deliveries[batch->count++];
    memset(d, 0, sizeof(*d));
    snprintf(d->name, sizeof(d->name), "%s", item->name);
    snprintf(d->channel, sizeof(d->channel), "%s", item->channel);
    snprintf(d->hash, sizeof(d->hash), "%s", item->hash);
    d->content = xstrndup(item->content, item->content_len);
    d->line = item->line;
    d->request = (struct submit_request){.base = {.channel = d->channel, .delivery = d->name},
                                         .content = d->content,
                                         .content_len = item->content_len,
                                         .content_hash = d->hash,
                                         .hold = item->hold,
                                         .not_before_ms = item->not_before_ms,
                                         .not_after_ms = item->not_after_ms,
                                         .dated_ms = item->dated_ms};
    batch->bytes += item->content_len;
    return true;
}

/* ---- answers */

static void take_answer(struct batch_delivery *d)
{
    const struct submit_request *r = &d->request;
    d->done = true;
    switch (r->answer) {
    case SUBMIT_NEW: d->result = BATCH_NEW; break;
    case SUBMIT_SAME: d->result = BATCH_SAME; break;
    case SUBMIT_CONFLICT: d->result = BATCH_CONFLICT; break;
    case SUBMIT_FULL:
        d->result = BATCH_REFUSED;
        snprintf(d->why, sizeof(d->why), "the queue is full (%" PRId64 " entries): start workers and submit it again",
                 r->queue_length);
        break;
    case SUBMIT_ERROR:
        d->result = BATCH_REFUSED;
        snprintf(d->why, sizeof(d->why), "%.*s", (int)sizeof(d->why) - 1, r->base.error);
        break;
    }
}

/* Takes the answers of a round. Returns how many came; *stop: an error that no waiting heals. */
static size_t take_answers(struct batch *batch, bool *stop)
{
    size_t taken = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_delivery *d = &batch->deliveries[i];
        if (d->done) continue;
        if (d->request.base.result == REQUEST_ANSWERED) {
            take_answer(d);
            taken++;
        } else if (d->request.base.result == REQUEST_REFUSED) {
            const char *error = d->request.base.error;
            errbuf_set(&batch->cli->err, "Redis: %s: %s", error, errors_advice(error));
            *stop |= errors_action(error) == ERRORS_STOP;
        }
    }
    return taken;
}

static size_t add_open(struct batch *batch)
{
    size_t open = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_delivery *d = &batch->deliveries[i];
        if (d->done) continue;
        round_forget(batch->round, &d->request.base);
        round_submit(batch->round, &d->request);
        open++;
    }
    return open;
}

static bool submit_all(struct batch *batch)
{
    struct cli *cli = batch->cli;
    const int64_t patience_ms = cli_patience_ms(cli);
    int64_t give_up_ms = clock_boottime_ms() + patience_ms;
    bool stop = false;
    while (add_open(batch) > 0) {
        bool sent = cli_keep(cli) && round_run(batch->round, cli->link, cli_limit_ms(cli), &cli->err);
        size_t taken = take_answers(batch, &stop);
        stop |= link_must_stop(cli->link);
        int64_t now_ms = clock_boottime_ms();
        if (taken > 0) give_up_ms = now_ms + patience_ms;
        if (stop || (taken == 0 && now_ms >= give_up_ms)) return false;
        if (!sent || taken == 0) poll(NULL, 0, CLI_PAUSE_MS);
    }
    return true;
}

/* ---- dry run */

static void compare(struct batch *batch, struct batch_delivery *d, const struct reads_delivery *read)
{
    const char *earlier = json_string_value(json_object_get(batch->rehearsed, d->name));
    const char *theirs = read->row.core.state != DS_NONE ? read->row.content : earlier;
    d->done = true;
    d->request.state = read->row.core.state;
    d->request.since_ms = read->row.core.since_ms;
    if (!read->readable) {
        d->result = BATCH_REFUSED;
        snprintf(d->why, sizeof(d->why), "%.*s", (int)sizeof(d->why) - 1, read->error);
    } else if (!theirs) {
        d->result = BATCH_NEW;
        out_set(batch->rehearsed, d->name, out_string(d->hash));
    } else {
        d->result = strcmp(theirs, d->hash) == 0 ? BATCH_SAME : BATCH_CONFLICT;
        snprintf(d->request.their_content, sizeof(d->request.their_content), "%s", theirs);
    }
}

static bool rehearse_all(struct batch *batch)
{
    struct cli *cli = batch->cli;
    const char *names[REQUEST_BATCH_MAX], *channels[REQUEST_BATCH_MAX];
    struct reads_delivery *read = xcalloc(REQUEST_BATCH_MAX, sizeof(*read));
    for (size_t i = 0; i < batch->count; i++) {
        names[i] = batch->deliveries[i].name;
        channels[i] = batch->deliveries[i].channel;
    }
    bool ok =
        reads_deliveries(&cli->ledger, cli->link, names, channels, batch->count, read, cli_limit_ms(cli), &cli->err);
    for (size_t i = 0; ok && i < batch->count; i++) {
        compare(batch, &batch->deliveries[i], &read[i]);
        reads_delivery_fini(&read[i]);
    }
    free(read);
    return ok;
}

bool batch_flush(struct batch *batch)
{
    if (batch->count == 0) return true;
    bool ok = batch->dry_run ? rehearse_all(batch) : submit_all(batch);
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_delivery *d = &batch->deliveries[i];
        if (!d->done) d->result = BATCH_NOT_KNOWN;
        batch->told(d, batch->context);
    }
    forget(batch);
    return ok;
}

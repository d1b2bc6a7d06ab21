/* SPDX-License-Identifier: MIT */
/* The typed calls on a real Redis, from end to end: ledger_course UNIX-SOCKET. Prints what is not as it should be; exit
 * code 0 if all is. tests/scripts/test_c_side.py runs it on an empty server. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/agenda.h"
#include "ledger/feed.h"
#include "ledger/alive.h"
#include "ledger/reads.h"
#include "runtime/random.h"

#define LIMIT_MS 5000
#define CH       "blog/main"
#define HASH     "0123456789abcdef0123456789abcdef"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, err.text);                                      \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static int failures;
static struct errbuf err;
static struct ledger ledger = {.environment = "test",
                               .worker = "w1",
                               .outcomes_max = 100,
                               .rejected_keep_ms = 60000,
                               .longest_window_ms = 86400000,
                               .claim_valid_ms = 5000};
static struct redis_link *link_;
static struct ledger_round *round_;
static struct link_address address;
static const struct delivery_policy policy = {.gives_id = true,
                                              .can_read = true,
                                              .key_window_ms = 86400000,
                                              .lease_ms = 60000,
                                              .late_commit_ms = 30000,
                                              .margin_ms = 10000,
                                              .visibility_lag_ms = 60000,
                                              .clean_misses = 1,
                                              .max_attempts = 5,
                                              .backoff_base_ms = 1000,
                                              .backoff_cap_ms = 60000,
                                              .give_up_after_ms = 86400000};

static void run(void)
{
    CHECK(round_run(round_, link_, LIMIT_MS, &err));
}

static struct submit_request submit(const char *delivery, bool hold)
{
    static const char item[] = "{\"id\":\"a\0b\"}"; /* any bytes */
    struct submit_request s = {.base = {.channel = CH, .delivery = delivery},
                               .content = item,
                               .content_len = sizeof item - 1,
                               .content_hash = HASH,
                               .hold = hold};
    round_submit(round_, &s);
    run();
    return s;
}

static struct claim_request claim(const char *delivery, const char *entry, const char *token, int64_t approved_at_ms)
{
    struct claim_request c = {.base = {.channel = CH, .delivery = delivery},
                              .entry = entry,
                              .token = token,
                              .content_hash = HASH,
                              .approved_at_ms = approved_at_ms,
                              .key = "lf-a",
                              .body_hash = HASH,
                              .frozen = "POST \0 body",
                              .frozen_len = 11,
                              .policy = &policy,
                              .burst = 1};
    round_claim(round_, &c);
    run();
    return c;
}

static void read_one(const char *delivery, struct reads_delivery *out)
{
    const char *channel = CH;
    CHECK(reads_deliveries(&ledger, link_, &delivery, &channel, 1, out, LIMIT_MS, &err));
}

/* Decides about the row as it is and sends the decision. */
static struct decide_request decide(void (*round)(struct ledger_round *, struct decide_request *), const char *delivery,
                                    const struct delivery_input *in, const char *token)
{
    static struct reads_delivery now;
    static struct delivery_decision decision;
    reads_delivery_fini(&now);
    read_one(delivery, &now);
    int64_t at_ms = server_clock_now(link_clock(link_), clock_boottime_ms());
    decision = delivery_step(&now.row.core, in, &policy, at_ms);
    struct decide_request d = {.base = {.channel = CH, .delivery = delivery},
                               .row = &now.row.core,
                               .decision = &decision,
                               .lease_token = token,
                               .ext_id = in->ext_id,
                               .detail = "detail",
                               .detail_len = 6,
                               .act = "act",
                               .user = "ann",
                               .host = "desk",
                               .why = "why"};
    CHECK(decision.verdict == VERDICT_CHANGE);
    round(round_, &d);
    run();
    return d;
}

static void submitted_claimed_published(void)
{
    static const char *const a = CH "/a";
    struct submit_request s = submit(a, false);
    CHECK(s.answer == SUBMIT_NEW);
    s = submit(a, false);
    CHECK(s.answer == SUBMIT_SAME && s.state == DS_APPROVED);
    struct reads_delivery d;
    read_one(a, &d);
    snprintf(err.text, sizeof err.text, "%s", d.error);
    CHECK(d.readable && d.row.core.state == DS_APPROVED && d.agenda_ms > 0 && d.content.len == 12);
    struct claim_request c = claim(a, NULL, "aaaaaaaaaaaaaaaa", d.row.core.approved_at_ms);
    CHECK(c.answer == CLAIM_GRANTED && c.attempt == 1 && c.lease_end_ms + 30000 == c.commit_by_ms && !c.in_doubt);
    reads_delivery_fini(&d);
    read_one(a, &d);
    CHECK(strcmp(d.lease_holder, "w1") == 0 && d.lease_attempt == 1 && d.lease_left_ms > 50000);
    CHECK(strcmp(d.lease_token, "aaaaaaaaaaaaaaaa") == 0 && d.frozen.len == 11);
    reads_delivery_fini(&d);

    struct renew_request r = {.base = {.channel = CH, .delivery = a}, .token = "aaaaaaaaaaaaaaaa", .policy = &policy};
    round_renew(round_, &r);
    run();
    CHECK(r.answer == RENEW_OK && r.until_ms >= c.lease_end_ms);

    struct delivery_input in = {.event = EV_COMMITTED, .attempt = 1, .token = "aaaaaaaaaaaaaaaa", .ext_id = "42"};
    struct decide_request p = decide(round_settle, a, &in, in.token);
    CHECK(p.base.result == REQUEST_ANSWERED && p.answer == DECIDE_OK);
    round_settle(round_, &p); /* the same again: the row has changed, and comes along */
    run();
    CHECK(p.answer == DECIDE_STALE && p.current.core.state == DS_PUBLISHED);
    CHECK(strcmp(p.current.core.ext_id, "42") == 0 && p.current.source == SRC_RESPONSE);
    c = claim(a, NULL, "cccccccccccccccc", 1);
    CHECK(c.answer == CLAIM_ALREADY && c.state == DS_PUBLISHED);
}

static void unknown_walked_replayed(void)
{
    static const char *const b = CH "/b";
    struct reads_delivery d;
    submit(b, false);
    read_one(b, &d);
    struct claim_request c = claim(b, NULL, "bbbbbbbbbbbbbbbb", d.row.core.approved_at_ms);
    CHECK(c.answer == CLAIM_GRANTED);
    reads_delivery_fini(&d);
    struct delivery_input unknown = {.event = EV_UNKNOWN, .attempt = 1, .token = "bbbbbbbbbbbbbbbb"};
    struct decide_request u = decide(round_settle, b, &unknown, unknown.token);
    CHECK(u.answer == DECIDE_OK);
    read_one(b, &d);
    CHECK(d.row.core.state == DS_UNCERTAIN && d.in_journal && d.row.core.doubt.count == 1 && d.detail.len == 6);
    reads_delivery_fini(&d);

    struct agenda_walk *walks;
    struct reads_name *names;
    size_t count;
    CHECK(agenda_walks(&ledger, link_, &walks, &count, LIMIT_MS, &err) && count == 1);
    CHECK(count == 1 && strcmp(walks[0].channel, CH) == 0 && walks[0].due_ms > 0);
    free(walks);
    CHECK(reads_uncertain(&ledger, link_, CH, 0, 10, &names, &count, LIMIT_MS, &err) && count == 1);
    free(names);
    struct channel_request walk = {.base = {.channel = CH}, .op = CHANNEL_WALK_BEGIN, .text = "r1", .ttl_ms = 30000};
    round_channel(round_, &walk);
    run();
    CHECK(walk.answer == CHANNEL_OK);
    struct channel_request other = {.base = {.channel = CH}, .op = CHANNEL_WALK_BEGIN, .text = "r2", .ttl_ms = 30000};
    round_channel(round_, &other);
    run();
    CHECK(other.answer == CHANNEL_BUSY && strcmp(other.holder, "r1") == 0);

    struct delivery_input absent = {.event = EV_ABSENT, .attempt = 1, .searched_from_ms = INT64_MAX / 2};
    struct reads_delivery row;
    read_one(b, &row);
    struct delivery_decision decision = delivery_step(&row.row.core, &absent, &policy, 0);
    struct decide_request early = {.base = {.channel = CH, .delivery = b},
                                   .row = &row.row.core,
                                   .decision = &decision,
                                   .searched_from_ms = 1,
                                   .searched_attempt = 1,
                                   .visibility_lag_ms = policy.visibility_lag_ms};
    round_resolve(round_, &early);
    run();
    CHECK(decision.doubt_cleared && early.answer == DECIDE_EARLY && early.until_ms > row.row.core.commit_by_ms);
    reads_delivery_fini(&row);
    struct delivery_input seen = {.event = EV_FOUND, .attempt = 1, .ext_id = "42"};
    struct decide_request foreign = decide(round_resolve, b, &seen, NULL);
    CHECK(foreign.answer == DECIDE_FOREIGN && strcmp(foreign.other, CH "/a") == 0);
    seen.ext_id = "43";
    struct decide_request found = decide(round_resolve, b, &seen, NULL);
    CHECK(found.answer == DECIDE_OK);
    seen.ext_id = "44"; /* another one of the same delivery: both are kept */
    struct decide_request two = decide(round_resolve, b, &seen, NULL);
    CHECK(two.answer == DECIDE_OK);
    read_one(b, &d);
    CHECK(strcmp(d.row.core.ext_id, "43") == 0 && strcmp(d.row.duplicate, "44") == 0);
    reads_delivery_fini(&d);
}

static void held_approved_cancelled(void)
{
    static const char *const c = CH "/c";
    CHECK(submit(c, true).answer == SUBMIT_NEW);
    struct delivery_input approve = {.event = EV_APPROVE};
    CHECK(decide(round_operate, c, &approve, NULL).answer == DECIDE_OK);
    struct delivery_input cancel = {.event = EV_CANCEL};
    CHECK(decide(round_operate, c, &cancel, NULL).answer == DECIDE_OK);
    struct feed_batch audit;
    size_t len;
    CHECK(reads_stream(&ledger, link_, NAMES_AUDIT, "0", 10, &audit, LIMIT_MS, &err) && audit.count == 2);
    CHECK(audit.count == 2 && strcmp(feed_value(&audit.entries[1], "to", &len), "rejected") == 0);
    feed_batch_fini(&audit);
}

static int room_for_two(const char *channel, void *arg)
{
    (void)arg;
    return strcmp(channel, CH) == 0 ? 2 : 0;
}

/* What is due is taken from the agenda and from a waiting list. */
static void due_work(void)
{
    static const char *const names[] = {CH "/d0", CH "/d1", CH "/d2"};
    for (size_t i = 0; i < 3; i++) {
        struct claim_request full = {.base = {.channel = CH, .delivery = names[i]},
                                     .token = "dddddddddddddddd",
                                     .content = "item",
                                     .content_len = 4,
                                     .content_hash = HASH,
                                     .approved_at_ms = 1000 + (int64_t)i,
                                     .policy = &policy,
                                     .hold_back = CLAIM_CHANNEL_FULL,
                                     .burst = 1};
        round_claim(round_, &full);
        run();
        CHECK(full.answer == CLAIM_WAIT && full.reason == RS_CHANNEL_FULL);
    }
    struct agenda_due *due = malloc(sizeof *due);
    int64_t now_ms = server_clock_latest(link_clock(link_), clock_boottime_ms());
    CHECK(agenda_read(&ledger, link_, now_ms, 64, room_for_two, NULL, due, LIMIT_MS, &err));
    CHECK(due->count == 2 && due->item[0].waiting && strcmp(due->item[0].delivery, names[0]) == 0);
    const struct take_channel facts = {.name = CH, .room = 2, .burst = 1};
    struct take_request takes[3] = {0};
    for (size_t i = 0; i < 2; i++) {
        takes[i].base.delivery = due->item[i].delivery;
        takes[i].channel = &facts;
        takes[i].waiting = true;
        takes[i].score_ms = due->item[i].score_ms;
        round_take(round_, &takes[i]);
    }
    takes[2].channel = &facts; /* only the channel */
    round_take(round_, &takes[2]);
    run();
    for (size_t i = 0; i < 2; i++) {
        CHECK(takes[i].answer == TAKE_WORK && takes[i].content.len == 4);
        CHECK(takes[i].approved_at_ms == 1000 + (int64_t)i && strcmp(takes[i].content_hash, HASH) == 0);
        take_fini(&takes[i]);
    }
    CHECK(takes[2].base.result == REQUEST_ANSWERED && takes[2].answer == TAKE_MOVED);
    round_take(round_, &takes[0]);
    run();
    CHECK(takes[0].answer == TAKE_REMOVED && takes[0].content.bytes == NULL);
    free(due);
}

static void one_channel(void)
{
    struct channel_request ops[] = {
        {.base = {.channel = CH}, .op = CHANNEL_PAUSE, .text = "why", .user = "ann", .host = "desk"},
        {.base = {.channel = CH}, .op = CHANNEL_FAIL},
    };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        round_channel(round_, &ops[i]);
    run();
    CHECK(ops[1].answer == CHANNEL_OK && ops[1].value == 1);
    struct reads_channel *channels;
    size_t count;
    CHECK(reads_channels(&ledger, link_, NULL, &channels, &count, LIMIT_MS, &err) && count == 1);
    CHECK(channels[0].paused && strcmp(channels[0].paused_why, "why") == 0 && channels[0].failures == 1);
    CHECK(channels[0].counts[DS_PUBLISHED] == 2 && channels[0].counts[DS_REJECTED] == 1 && channels[0].waiting == 1);
    CHECK(strcmp(channels[0].walker, "r1") == 0 && channels[0].walk_due_ms == 0);
    reads_channels_free(&channels);
    struct reads_overview all;
    CHECK(reads_overview(&ledger, link_, &all, LIMIT_MS, &err) && all.now_ms > 0 && all.journal_length == 0);
    CHECK(strcmp(all.epoch.environment, "test") == 0 && strcmp(all.epoch.run_id, link_run_id(link_)) == 0);
    CHECK(alive_tell(&ledger, link_, "worker", 1, "in_hand=0", LIMIT_MS, &err));
}

/* Steps the feed until something comes or two seconds are over. */
static bool step(struct feed *feed, size_t room, struct feed_batch *out)
{
    for (int64_t end = clock_boottime_ms() + 2000; clock_boottime_ms() < end;) {
        if (!feed_step(feed, room, out, &err)) return false;
        if (out->count > 0) return true;
        struct pollfd fd = {.fd = feed_fd(feed), .events = POLLIN};
        poll(&fd, 1, 50);
    }
    return true;
}

static void new_entries(void)
{
    struct feed *feed = feed_new(&ledger, link_new(&address), "w1");
    struct feed_batch batch;
    CHECK(step(feed, 1, &batch) && batch.count == 1 && !batch.entries[0].again); /* the group was made, from id 0 */
    CHECK(batch.count == 1 && strcmp(feed_value(&batch.entries[0], "channel", NULL), CH) == 0);
    feed_batch_fini(&batch);
    feed_free(&feed);

    feed = feed_new(&ledger, link_new(&address), "w1"); /* the same name comes back: its own pending entry first */
    CHECK(step(feed, 4, &batch) && batch.count == 1 && batch.entries[0].again);
    feed_batch_fini(&batch);
    CHECK(step(feed, 4, &batch) && batch.count == 1 && !batch.entries[0].again);
    feed_batch_fini(&batch);

    struct feed *heir = feed_new(&ledger, link_new(&address), "w2");
    CHECK(feed_reclaim(heir, link_, 0, 8, &batch, LIMIT_MS, &err) && batch.count == 2);
    CHECK(batch.count == 2 && batch.entries[0].handed_out >= 2);
    for (size_t i = 0; i < batch.count; i++)
        CHECK(feed_refuse(&ledger, link_, &batch.entries[i], "not read", LIMIT_MS, &err));
    feed_batch_fini(&batch);
    struct feed_batch refused;
    CHECK(reads_stream(&ledger, link_, NAMES_REFUSED, "0", 10, &refused, LIMIT_MS, &err) && refused.count == 2);
    CHECK(refused.count == 2 && strcmp(feed_value(&refused.entries[0], "why", NULL), "not read") == 0);
    feed_batch_fini(&refused);
    CHECK(feed_leave(feed, link_, LIMIT_MS, &err));
    int64_t gone;
    CHECK(feed_tidy(feed, link_, 60000, &gone, LIMIT_MS, &err) && gone == 0);
    CHECK(feed_tidy(feed, link_, 0, &gone, LIMIT_MS, &err) && gone == 1);
    CHECK(feed_leave(heir, link_, LIMIT_MS, &err));
    feed_free(&feed);
    feed_free(&heir);
}

int main(int argc, char **argv)
{
    char words[KEYS_ERR_BYTES];
    if (argc != 2 || !names_init(&ledger.names, "lf", 3, words)) return 2;
    static char url[256];
    snprintf(url, sizeof url, "unix://%s", argv[1]);
    address = (struct link_address){.url = url, .name = "course"};
    link_ = link_new(&address);
    round_ = round_new(&ledger);
    CHECK(link_open(link_, &err));
    submitted_claimed_published();
    unknown_walked_replayed();
    held_approved_cancelled();
    due_work();
    one_channel();
    new_entries();
    round_free(&round_);
    link_free(&link_);
    return failures > 0;
}

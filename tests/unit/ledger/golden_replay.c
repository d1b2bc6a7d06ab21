/* SPDX-License-Identifier: MIT */
/* Replays every line of the protocol's table through the scripts: golden_replay UNIX-SOCKET, on an empty server.
 *
 * For each line the row is written as the ledger would hold it, moved from the table's moment to the server's now. A
 * claim and a lost lease are decided by the scripts; every other event by core/, and sent the way the programs send it.
 * Then the row that Redis holds must be the row that the table says, in the place that it says. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden_cases.h"
#include "ledger/args.h"
#include "ledger/reads.h"

#define LIMIT_MS 5000
#define CH       "blog/main"
#define NAME     "blog/main/a"
#define FIRST    "blog/main/first"
#define HASH     "0123456789abcdef0123456789abcdef"
#define NEAR_MS  5000 /* between the decision and the script; the table's own distances are larger or exact */

static struct ledger ledger = {.environment = "test", .worker = "w1", .outcomes_max = 100, .claim_valid_ms = 60000};
static struct redis_link *redis;
static struct ledger_round *round_;
static struct errbuf err;
static int lines, sent, failures;

/* One line as it is played. */
struct play {
    const struct golden_line *line;
    struct delivery_row row; /* moved to now */
    struct delivery_input in;
    struct delivery_decision decision;
    int64_t now_ms;
    bool failed;
};

static void fail(struct play *p, const char *what, const char *expected, const char *got)
{
    p->failed = true;
    if (++failures > 40) return;
    printf("%s / %s / %s: %s is \"%s\", the table says \"%s\"\n", p->line->row->name, p->line->input->name,
           p->line->policy->name, what, got, expected);
}

static void expect_text(struct play *p, const char *what, const char *expected, const char *got)
{
    if (strcmp(expected, got) != 0) fail(p, what, expected, got);
}

static void expect_number(struct play *p, const char *what, int64_t expected, int64_t got, int64_t near)
{
    char e[32], g[32];
    int64_t apart = expected > got ? expected - got : got - expected;
    if (apart <= near && (expected == 0) == (got == 0)) return;
    snprintf(e, sizeof e, "%lld", (long long)expected);
    snprintf(g, sizeof g, "%lld", (long long)got);
    fail(p, what, e, g);
}

/* ---- time ---- */

static void move(int64_t *ms, int64_t now_ms)
{
    if (*ms != 0) *ms += now_ms - GOLDEN_NOW_MS;
}

static void move_all(struct play *p)
{
    struct delivery_row *r = &p->row;
    int64_t *const times[] = {&r->since_ms,    &r->approved_at_ms,      &r->not_before_ms,          &r->not_after_ms,
                              &r->dated_ms,    &r->first_send_ms,       &r->commit_by_ms,           &r->missed_at_ms,
                              &p->in.until_ms, &p->in.searched_from_ms, &p->in.no_absence_before_ms};
    /* A little ago, so that what is over by a millisecond in the table is over for the server too. */
    p->now_ms = server_clock_now(link_clock(redis), clock_boottime_ms()) - 5;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        move(times[i], p->now_ms);
}

/* ---- the row as the ledger holds it ---- */

static void put_text(struct args *args, const char *name, const char *text)
{
    if (text[0] == '\0') return;
    args_text(args, name);
    args_text(args, text);
}

static void put_number(struct args *args, const char *name, int64_t number)
{
    if (number == 0) return;
    args_text(args, name);
    args_number(args, number);
}

static void put_row(struct args *args, const struct delivery_row *r)
{
    char doubt[DOUBT_TEXT_MAX];
    doubt_format(&r->doubt, doubt);
    args_command(args, "HSET");
    args_key(args, &ledger.names, NAMES_DELIVERY, NAME);
    put_text(args, "state", delivery_state_name(r->state));
    put_text(args, "reason", delivery_reason_name(r->reason));
    put_text(args, "content", HASH);
    put_text(args, "token", r->token);
    put_text(args, "in_doubt", doubt);
    put_text(args, "ext_id", r->ext_id);
    put_number(args, "rev", r->rev);
    put_number(args, "since", r->since_ms);
    put_number(args, "approved_at", r->approved_at_ms);
    put_number(args, "not_before", r->not_before_ms);
    put_number(args, "not_after", r->not_after_ms);
    put_number(args, "dated", r->dated_ms);
    put_number(args, "gen", r->generation);
    put_number(args, "attempt", r->attempt);
    put_number(args, "tries", r->tries);
    put_number(args, "first_send", r->first_send_ms);
    put_number(args, "commit_by", r->commit_by_ms);
    put_number(args, "misses", r->misses);
    put_number(args, "missed_at", r->missed_at_ms);
    put_number(args, "waived", r->waived);
}

static void put_place(struct args *args, const struct play *p)
{
    enum delivery_state state = p->row.state;
    if (state == DS_APPROVED || state == DS_CLAIMED) {
        args_command(args, "ZADD");
        args_key(args, &ledger.names, NAMES_AGENDA, NULL);
        args_number(args, p->now_ms - 1);
        args_text(args, "delivery:" NAME);
    }
    if (state == DS_UNCERTAIN) {
        args_command(args, "ZADD");
        args_key(args, &ledger.names, NAMES_UNCERTAIN, CH);
        args_number(args, p->row.since_ms);
        args_text(args, NAME);
    }
    if (state == DS_CLAIMED && p->in.event != EV_LEASE_GONE) {
        args_command(args, "SET");
        args_key(args, &ledger.names, NAMES_LEASE, NAME);
        args_joined(args, "w1 2 ", p->row.token);
        args_text(args, "PX");
        args_number(args, 60000);
    }
}

static void put_predecessor(struct args *args, const struct play *p)
{
    if (p->in.predecessor == PREDECESSOR_DONE) return;
    args_command(args, "HSET");
    args_key(args, &ledger.names, NAMES_DELIVERY, FIRST);
    put_text(args, "state", p->in.predecessor == PREDECESSOR_OPEN ? "uncertain" : "rejected");
}

static bool send_plain(const struct args *args)
{
    struct redisReply **replies;
    if (!args_read(args, redis, &replies, LIMIT_MS, &err)) return false;
    args_free_replies(replies, args->command_count);
    return true;
}

static bool prepare(const struct play *p)
{
    struct args args;
    args_init(&args);
    args_command(&args, "FLUSHALL");
    args_text(&args, "SYNC");
    args_command(&args, "HSET");
    args_key(&args, &ledger.names, NAMES_EPOCH, NULL);
    put_text(&args, "environment", ledger.environment);
    put_text(&args, "run_id", link_run_id(redis));
    put_number(&args, "no_absence_before", p->in.no_absence_before_ms);
    if (p->row.state != DS_NONE) {
        put_row(&args, &p->row);
        args_command(&args, "HSET");
        args_key(&args, &ledger.names, NAMES_REQUEST, NAME);
        put_text(&args, "content", "item");
        put_text(&args, "frozen", "frozen");
        put_place(&args, p);
    }
    put_predecessor(&args, p);
    bool ok = send_plain(&args);
    args_fini(&args);
    return ok;
}

/* ---- playing a line ---- */

static bool answered(struct play *p, const struct request *request)
{
    if (request->result == REQUEST_ANSWERED) return true;
    fail(p, "the call", "answered", request->error);
    return false;
}

static void play_claim(struct play *p)
{
    struct claim_request c = {.base = {.channel = CH, .delivery = NAME},
                              .after = p->in.predecessor != PREDECESSOR_DONE ? FIRST : NULL,
                              .token = p->in.token,
                              .content = "item",
                              .content_len = 4,
                              .content_hash = HASH,
                              .approved_at_ms = p->row.approved_at_ms,
                              .not_before_ms = p->row.not_before_ms,
                              .not_after_ms = p->row.not_after_ms,
                              .generation = p->row.generation,
                              .key = "key",
                              .frozen = "frozen",
                              .frozen_len = 6,
                              .policy = &p->line->policy->policy,
                              .burst = 1};
    round_claim(round_, &c);
    if (!round_run(round_, redis, LIMIT_MS, &err) || !answered(p, &c.base)) return;
    bool already = c.answer == CLAIM_ALREADY, busy = c.answer == CLAIM_BUSY;
    if (already != (p->decision.verdict == VERDICT_ALREADY) || busy != (p->decision.verdict == VERDICT_BUSY))
        fail(p, "the claim's answer", "as the verdict", already ? "already" : busy ? "busy" : "a change");
    if ((c.answer == CLAIM_GRANTED) != p->decision.send) fail(p, "SEND", "as granted", "not so");
    claim_fini(&c);
}

static void play_lease_gone(struct play *p)
{
    const struct take_channel facts = {.name = CH, .room = 1, .harmless = p->line->policy->policy.harmless, .burst = 1};
    struct take_request t = {.base = {.channel = CH, .delivery = NAME}, .channel = &facts, .score_ms = p->now_ms - 1};
    if (p->row.state != DS_CLAIMED) return; /* take does other things with these */
    round_take(round_, &t);
    if (round_run(round_, redis, LIMIT_MS, &err)) (void)answered(p, &t.base);
    take_fini(&t);
}

static void play_submit(struct play *p)
{
    struct submit_request s = {.base = {.channel = CH, .delivery = NAME},
                               .content = "item",
                               .content_len = 4,
                               .content_hash = HASH,
                               .hold = p->in.hold,
                               .not_before_ms = p->row.not_before_ms,
                               .not_after_ms = p->row.not_after_ms};
    round_submit(round_, &s);
    if (!round_run(round_, redis, LIMIT_MS, &err) || !answered(p, &s.base)) return;
    if ((s.answer == SUBMIT_NEW) != (p->decision.verdict == VERDICT_CHANGE)) fail(p, "submit", "new", "same");
}

static void play_decision(struct play *p)
{
    enum delivery_event e = p->in.event;
    const struct delivery_decision *d = &p->decision;
    int64_t settled_ms = p->row.commit_by_ms + p->line->policy->policy.visibility_lag_ms;
    bool rests_on_absence = (e == EV_ABSENT || e == EV_GONE) && p->in.searched_from_ms >= settled_ms &&
                            p->in.searched_from_ms >= p->in.no_absence_before_ms;
    struct decide_request r = {.base = {.channel = CH, .delivery = NAME},
                               .row = &p->row,
                               .decision = d,
                               .lease_token = p->in.token,
                               .ext_id = p->in.ext_id,
                               .attempt = p->in.attempt,
                               .token = p->in.token,
                               .key = "key",
                               .content_hash = HASH,
                               .content = "item",
                               .content_len = 4,
                               .searched_from_ms = rests_on_absence ? p->in.searched_from_ms : 0,
                               .searched_attempt = p->in.attempt,
                               .visibility_lag_ms = p->line->policy->policy.visibility_lag_ms,
                               .act = delivery_event_name(e)};
    if (d->verdict != VERDICT_CHANGE) return;
    if (e >= EV_RETRY)
        round_operate(round_, &r);
    else if (e >= EV_FOUND)
        round_resolve(round_, &r);
    else
        round_settle(round_, &r);
    if (!round_run(round_, redis, LIMIT_MS, &err) || !answered(p, &r.base)) return;
    sent++;
    if (r.answer != DECIDE_OK)
        fail(p, "the decision's answer", "ok", r.answer == DECIDE_STALE ? "stale" : r.base.error);
}

/* ---- what must stand there now ---- */

static void check_counters(struct play *p, const struct delivery_row *got)
{
    const struct delivery_decision *d = &p->decision;
    char was[DOUBT_TEXT_MAX], is[DOUBT_TEXT_MAX];
    doubt_format(&d->doubt, was);
    doubt_format(&got->doubt, is);
    expect_text(p, "in_doubt", was, is);
    expect_number(p, "gen", d->generation, got->generation, 0);
    if (d->state == DS_PUBLISHED) return; /* the rest is dropped */
    expect_number(p, "tries", d->tries, got->tries, 0);
    if (d->state == DS_REJECTED) return;
    expect_number(p, "misses", d->misses, got->misses, 0);
    expect_number(p, "missed_at", d->missed_at_ms, got->missed_at_ms, 0);
    expect_number(p, "waived", d->waived, got->waived, 0);
    if (d->drop_times) expect_number(p, "not_after", 0, got->not_after_ms, 0);
    if (d->new_generation) expect_number(p, "first_send", 0, got->first_send_ms, 0);
}

static void check_commit_by(struct play *p, const struct delivery_row *got)
{
    const struct delivery_decision *d = &p->decision;
    const struct delivery_policy *policy = &p->line->policy->policy;
    int64_t expected = p->row.commit_by_ms;
    int64_t cap = p->now_ms + d->commit_cap_ms;
    if (d->state == DS_PUBLISHED) return;
    if (d->commit_cap_ms > 0 && p->row.state == DS_CLAIMED)
        expected = expected > cap ? cap : expected;
    else if (d->commit_cap_ms > 0)
        expected = expected > cap ? expected : cap;
    if (d->send) expected = p->now_ms + policy->lease_ms + policy->late_commit_ms;
    expect_number(p, "commit_by", expected, got->commit_by_ms, NEAR_MS);
}

static void check_place(struct play *p, const struct reads_delivery *got)
{
    const struct delivery_decision *d = &p->decision;
    int64_t due = d->due_ms ? d->due_ms : p->now_ms;
    bool kept = d->verdict != VERDICT_CHANGE || (d->place == PLACE_NONE && d->state == p->row.state);
    bool settled = d->state != DS_APPROVED && d->state != DS_CLAIMED;
    if (kept && !settled) due = p->now_ms - 1;
    bool agenda = !settled && (kept || d->place == PLACE_AGENDA);
    expect_number(p, "agenda", agenda ? due : 0, got->agenda_ms, NEAR_MS);
    expect_number(p, "waiting", !settled && !kept && d->place == PLACE_WAITING ? due : 0, got->waiting_ms, NEAR_MS);
    if (p->row.state != DS_UNCERTAIN || d->verdict == VERDICT_CHANGE)
        expect_number(p, "journal", d->state == DS_UNCERTAIN, got->in_journal, 0);
    if (d->verdict != VERDICT_CHANGE || d->state != DS_UNCERTAIN || d->place != PLACE_WALK) return;
    struct reads_channel *channels;
    size_t count;
    if (!reads_channels(&ledger, redis, CH, &channels, &count, LIMIT_MS, &err)) return;
    expect_number(p, "walk", due, channels[0].walk_due_ms, NEAR_MS);
    reads_channels_free(&channels);
}

static void check(struct play *p)
{
    const char *name = NAME, *channel = CH;
    const struct delivery_decision *d = &p->decision;
    struct reads_delivery got;
    if (!reads_deliveries(&ledger, redis, &name, &channel, 1, &got, LIMIT_MS, &err)) {
        fail(p, "reading", "possible", err.text);
        return;
    }
    if (!got.readable) fail(p, "the row", "readable", got.error);
    expect_text(p, "state", delivery_state_name(d->state), delivery_state_name(got.row.core.state));
    expect_text(p, "reason", delivery_reason_name(d->reason), delivery_reason_name(got.row.core.reason));
    if (d->source != SRC_NONE)
        expect_text(p, "source", delivery_source_name(d->source), delivery_source_name(got.row.source));
    const char *id = p->row.ext_id;
    bool learns = d->verdict == VERDICT_CHANGE && p->in.ext_id && (d->state == DS_PUBLISHED || d->reason == RS_VERIFY);
    expect_text(p, "ext_id", id[0] == '\0' && learns ? p->in.ext_id : id, got.row.core.ext_id);
    bool other = learns && id[0] != '\0' && strcmp(id, p->in.ext_id) != 0;
    expect_text(p, "duplicate", other ? p->in.ext_id : "", got.row.duplicate);
    check_counters(p, &got.row.core);
    check_commit_by(p, &got.row.core);
    check_place(p, &got);
    reads_delivery_fini(&got);
}

static void play(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    struct play p = {.line = line, .row = line->row->row, .in = line->input->in};
    lines++;
    move_all(&p);
    p.decision = delivery_step(&p.row, &p.in, &line->policy->policy, p.now_ms);
    if (p.decision.verdict != line->decision.verdict || p.decision.state != line->decision.state ||
        p.decision.reason != line->decision.reason)
        fail(&p, "core's decision", "the same at any time", "another now");
    if (!prepare(&p)) {
        fail(&p, "preparing", "possible", err.text);
        return;
    }
    if (p.in.event == EV_CLAIM)
        play_claim(&p);
    else if (p.in.event == EV_LEASE_GONE)
        play_lease_gone(&p);
    else if (p.in.event == EV_SUBMIT)
        play_submit(&p);
    else
        play_decision(&p);
    check(&p);
}

int main(int argc, char **argv)
{
    char words[KEYS_ERR_BYTES];
    if (argc != 2 || !names_init(&ledger.names, "lf", 0, words)) return 2;
    char url[256];
    snprintf(url, sizeof url, "unix://%s", argv[1]);
    const struct link_address address = {.url = url};
    redis = link_new(&address);
    round_ = round_new(&ledger);
    if (!link_open(redis, &err)) {
        printf("%s\n", err.text);
        return 2;
    }
    golden_each(play, NULL);
    printf("%d lines, %d decisions sent, %d differences\n", lines, sent, failures);
    round_free(&round_);
    link_free(&redis);
    return failures > 0;
}

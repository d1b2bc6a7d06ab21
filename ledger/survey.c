/* SPDX-License-Identifier: MIT */
#include "ledger/survey.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/survey_keys.h"
#include "runtime/clock.h"
#include "runtime/die.h"

#define AGENDA_PAGE SURVEY_BATCH

/* What one channel's rows add up to. */
struct tally {
    char channel[IDENTITY_CHANNEL_BYTES];
    int64_t n[DS_COUNT];
};

struct walk {
    const struct ledger *ledger;
    struct redis_link *link;
    const struct survey_bounds *bounds;
    int64_t now_ms, deadline_ms;
    struct survey *out;
    struct tally *tallies;
    size_t tally_count, tally_last;
    struct survey_row *suspects; /* to be looked at again */
    size_t suspect_count;
};

/* ---- counting */

static struct tally *tally_of(struct walk *w, const char *channel)
{
    if (w->tally_count > 0 && strcmp(w->tallies[w->tally_last].channel, channel) == 0)
        return &w->tallies[w->tally_last];
    for (size_t i = 0; i < w->tally_count; i++) {
        if (strcmp(w->tallies[i].channel, channel) != 0) continue;
        w->tally_last = i;
        return &w->tallies[i];
    }
    w->tallies = xrealloc_array(w->tallies, w->tally_count + 1, sizeof *w->tallies);
    w->tally_last = w->tally_count++;
    w->tallies[w->tally_last] = (struct tally){{0}, {0}};
    snprintf(w->tallies[w->tally_last].channel, IDENTITY_CHANNEL_BYTES, "%s", channel);
    return &w->tallies[w->tally_last];
}

static bool read_counts(const struct walk *w, struct redisReply ***replies, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    args_command(&args, "HGETALL");
    args_key(&args, &w->ledger->names, NAMES_COUNTS, NULL);
    args_command(&args, "SMEMBERS");
    args_key(&args, &w->ledger->names, NAMES_CHANNELS, NULL);
    bool ok = args_read(&args, w->link, replies, w->bounds->limit_ms, err);
    args_fini(&args);
    return ok;
}

static bool same_pairs(const struct redisReply *a, const struct redisReply *b)
{
    bool same = answer_count(a) == answer_count(b);
    for (size_t i = 0; same && i + 1 < answer_count(a); i += 2) {
        const char *name = answer_text(answer_at(a, i), NULL);
        same = strcmp(answer_text(answer_at(a, i + 1), NULL), answer_text(answer_field(b, 0, name), NULL)) == 0;
    }
    return same;
}

static void differ(struct survey *out, const char *channel, enum delivery_state state, int64_t stated, int64_t found)
{
    if (stated == found) return;
    out->counts = xrealloc_array(out->counts, out->count_count + 1, sizeof *out->counts);
    struct survey_count *one = &out->counts[out->count_count++];
    *one = (struct survey_count){.state = state, .stated = stated, .found = found};
    snprintf(one->channel, sizeof one->channel, "%s", channel);
}

static void compare(struct walk *w, const struct redisReply *counts)
{
    /* Channels that are counted and have no row at all are compared with nothing. */
    for (size_t i = 0; i + 1 < answer_count(counts); i += 2) {
        char channel[IDENTITY_CHANNEL_BYTES];
        const char *field = answer_text(answer_at(counts, i), NULL), *space = strchr(field, ' ');
        if (!space || space - field >= IDENTITY_CHANNEL_BYTES) continue;
        snprintf(channel, sizeof channel, "%.*s", (int)(space - field), field);
        tally_of(w, channel);
    }
    for (size_t i = 0; i < w->tally_count; i++) {
        for (int s = DS_NONE + 1; s < DS_COUNT; s++) {
            char field[IDENTITY_CHANNEL_BYTES + 32];
            const char *state = delivery_state_name((enum delivery_state)s);
            snprintf(field, sizeof field, "%s %s", w->tallies[i].channel, state);
            differ(w->out, w->tallies[i].channel, (enum delivery_state)s,
                   answer_number_or_0(answer_field(counts, 0, field)), w->tallies[i].n[s]);
        }
    }
}

/* ---- rows */

static void take_row(struct walk *w, const struct survey_row *row)
{
    enum survey_fault fault = survey_row_fault(row, w->now_ms, w->bounds->longest_lease_ms);
    w->out->rows++;
    if (fault == FAULT_UNREADABLE)
        survey_list_add(&w->out->unreadable, row->delivery);
    else if (row->state != DS_NONE)
        tally_of(w, row->channel)->n[row->state]++;
    if (row->behind) survey_list_add(&w->out->behind, row->delivery);
    if (fault != FAULT_NOWHERE && fault != FAULT_NO_LEASE) return;
    w->suspects = xrealloc_array(w->suspects, w->suspect_count + 1, sizeof *w->suspects);
    w->suspects[w->suspect_count++] = *row;
}

static size_t fill(struct survey_row *rows, char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf(rows[i].delivery, sizeof rows[i].delivery, "%s", names[i]);
    return count;
}

static size_t page_of(size_t left)
{
    return left < SURVEY_BATCH ? left : SURVEY_BATCH;
}

static bool read_rows(struct walk *w, const struct survey_names *names, struct survey_row *rows, struct errbuf *err)
{
    for (size_t from = 0; from < names->count; from += SURVEY_BATCH) {
        size_t count = fill(rows, names->name + from, page_of(names->count - from));
        if (clock_boottime_ms() >= w->deadline_ms) {
            w->out->complete = false;
            return true;
        }
        if (!survey_rows_read(w->ledger, w->link, rows, count, w->bounds->limit_ms, err)) return false;
        for (size_t i = 0; i < count; i++)
            take_row(w, &rows[i]);
    }
    return true;
}

/* The second look: only what is as wrong as before, in a row that nobody has changed, is wrong. */
static bool look_again(struct walk *w, struct survey_row *rows, struct errbuf *err)
{
    for (size_t from = 0; from < w->suspect_count; from += SURVEY_BATCH) {
        const struct survey_row *before = w->suspects + from;
        size_t count = page_of(w->suspect_count - from);
        memcpy(rows, before, count * sizeof *rows);
        if (!survey_rows_read(w->ledger, w->link, rows, count, w->bounds->limit_ms, err)) return false;
        for (size_t i = 0; i < count; i++) {
            enum survey_fault fault = survey_row_fault(&rows[i], w->now_ms, w->bounds->longest_lease_ms);
            if (rows[i].rev != before[i].rev || rows[i].state != before[i].state) continue;
            if (fault == FAULT_NOWHERE) survey_list_add(&w->out->nowhere, rows[i].delivery);
            if (fault == FAULT_NO_LEASE) survey_list_add(&w->out->no_lease, rows[i].delivery);
        }
    }
    return true;
}

static bool read_leases(struct walk *w, const struct survey_names *leases, struct errbuf *err)
{
    for (size_t from = 0; from < leases->count; from += SURVEY_BATCH) {
        struct args args;
        struct redisReply **replies;
        size_t count = page_of(leases->count - from);
        args_init(&args);
        for (size_t i = 0; i < count; i++) {
            args_command(&args, "PTTL");
            args_key(&args, &w->ledger->names, NAMES_LEASE, leases->name[from + i]);
        }
        bool ok = args_read(&args, w->link, &replies, w->bounds->limit_ms, err);
        args_fini(&args);
        if (!ok) return false;
        for (size_t i = 0; i < count; i++)
            if (answer_number_or_0(replies[i]) == -1) survey_list_add(&w->out->endless, leases->name[from + i]);
        args_free_replies(replies, count);
    }
    return true;
}

/* ---- the agenda */

static bool read_page(struct walk *w, int64_t from, struct redisReply ***replies, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    args_command(&args, "ZRANGE");
    args_key(&args, &w->ledger->names, NAMES_AGENDA, NULL);
    args_number(&args, from);
    args_number(&args, from + AGENDA_PAGE - 1);
    bool ok = args_read(&args, w->link, replies, w->bounds->limit_ms, err);
    args_fini(&args);
    return ok;
}

/* The deliveries among a page's members. */
static size_t take_members(struct survey *out, const struct redisReply *page, struct survey_row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < answer_count(page); i++) {
        struct delivery_id id;
        char words[KEYS_ERR_BYTES];
        const char *member = answer_text(answer_at(page, i), NULL), *name = strchr(member, ':');
        out->agenda++;
        if (strncmp(member, "delivery:", 9) == 0 && identity_parse(name + 1, &id, words))
            snprintf(rows[count++].delivery, sizeof rows[0].delivery, "%s", name + 1);
        else if ((strncmp(member, "channel:", 8) != 0 && strncmp(member, "walk:", 5) != 0) ||
                 !identity_channel_check(name + 1, words))
            survey_list_add(&out->odd, member);
    }
    return count;
}

/* Rows that look at rest are read twice: one that goes on its way between the two has been changed. */
static bool take_stale(struct walk *w, struct survey_row *rows, size_t count, struct errbuf *err)
{
    size_t resting = 0;
    struct survey_row *before = xcalloc(SURVEY_BATCH, sizeof *before);
    bool ok = survey_rows_read(w->ledger, w->link, rows, count, w->bounds->limit_ms, err);
    for (size_t i = 0; ok && i < count; i++)
        if (survey_row_rests(&rows[i]) && rows[i].on_agenda) before[resting++] = rows[i];
    memcpy(rows, before, resting * sizeof *rows);
    ok = ok && survey_rows_read(w->ledger, w->link, rows, resting, w->bounds->limit_ms, err);
    for (size_t i = 0; ok && i < resting; i++)
        if (survey_row_rests(&rows[i]) && rows[i].on_agenda && rows[i].rev == before[i].rev)
            survey_list_add(&w->out->stale, rows[i].delivery);
    free(before);
    return ok;
}

static bool read_agenda(struct walk *w, struct survey_row *rows, struct errbuf *err)
{
    struct redisReply **replies;
    bool ok = true, more = true;
    for (int64_t from = 0; ok && more && from < SURVEY_AGENDA_MAX; from += AGENDA_PAGE) {
        if (clock_boottime_ms() >= w->deadline_ms) break;
        ok = read_page(w, from, &replies, err);
        if (!ok) break;
        more = answer_count(replies[0]) == AGENDA_PAGE;
        size_t count = take_members(w->out, replies[0], rows);
        args_free_replies(replies, 1);
        ok = take_stale(w, rows, count, err);
    }
    w->out->agenda_complete = ok && !more;
    return ok;
}

/* ---- channels */

enum { ASK_WAITING, ASK_UNCERTAIN, ASK_PAUSED, ASK_FACTS, ASK_CHANNEL, ASK_WALK, ASKS };

static void ask_channel(struct args *args, const struct names *names, const char *channel)
{
    args_command(args, "ZCARD");
    args_key(args, names, NAMES_WAITING, channel);
    args_command(args, "ZCARD");
    args_key(args, names, NAMES_UNCERTAIN, channel);
    args_command(args, "HGET");
    args_key(args, names, NAMES_CHANNEL, channel);
    args_text(args, "paused");
    args_command(args, "HMGET");
    args_key(args, names, NAMES_CHANNEL, channel);
    args_text(args, "next_at");
    args_text(args, "blocked_until");
    args_text(args, "ramp");
    args_text(args, "turn_at");
    args_command(args, "ZSCORE");
    args_key(args, names, NAMES_AGENDA, NULL);
    args_joined(args, "channel:", channel);
    args_command(args, "ZSCORE");
    args_key(args, names, NAMES_AGENDA, NULL);
    args_joined(args, "walk:", channel);
}

/* What of it is wrong, bits. */
enum { DEAF = 1, UNWALKED = 2, UNCLEAR = 4 };

/* As scripts read them: where one is no number of at most 15 digits, none of the channel's deliveries is decided about.
 */
static bool facts_are_clear(const struct redisReply *facts)
{
    bool clear = true;
    for (size_t i = 0; i < answer_count(facts); i++) {
        size_t len;
        const char *text = answer_text(answer_at(facts, i), &len);
        const size_t digits = strspn(text + (text[0] == '-'), "0123456789");
        clear = clear &&
                (answer_is_nil(answer_at(facts, i)) || (digits > 0 && len <= 15 && digits + (text[0] == '-') == len));
    }
    return clear;
}

static bool faults_of(struct walk *w, char (*names)[IDENTITY_CHANNEL_BYTES], size_t count, int *faults,
                      struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    if (count == 0) return true;
    args_init(&args);
    for (size_t i = 0; i < count; i++)
        ask_channel(&args, &w->ledger->names, names[i]);
    bool ok = args_read(&args, w->link, &replies, w->bounds->limit_ms, err);
    args_fini(&args);
    if (!ok) return false;
    for (size_t i = 0; i < count; i++) {
        struct redisReply **r = replies + i * ASKS;
        bool waits = answer_number_or_0(r[ASK_WAITING]) > 0 && answer_is_nil(r[ASK_PAUSED]);
        bool doubts = answer_number_or_0(r[ASK_UNCERTAIN]) > 0;
        faults[i] = (waits && answer_is_nil(r[ASK_CHANNEL]) ? DEAF : 0) |
                    (doubts && answer_is_nil(r[ASK_WALK]) ? UNWALKED : 0) |
                    (facts_are_clear(r[ASK_FACTS]) ? 0 : UNCLEAR);
    }
    args_free_replies(replies, count * ASKS);
    return true;
}

/* Looked at twice: scripts set lists and agenda at one moment, but these reads are several. */
static bool read_channels(struct walk *w, const struct redisReply *channels, struct errbuf *err)
{
    char(*names)[IDENTITY_CHANNEL_BYTES] = xcalloc(SURVEY_BATCH, sizeof *names);
    int first[SURVEY_BATCH], second[SURVEY_BATCH];
    bool ok = true;
    for (size_t from = 0; ok && from < answer_count(channels); from += SURVEY_BATCH) {
        size_t count = 0;
        for (size_t i = from; i < answer_count(channels) && i < from + SURVEY_BATCH; i++) {
            char words[KEYS_ERR_BYTES];
            if (answer_copy(answer_at(channels, i), names[count], sizeof names[0]) &&
                identity_channel_check(names[count], words))
                count++;
        }
        ok = faults_of(w, names, count, first, err) && faults_of(w, names, count, second, err);
        for (size_t i = 0; ok && i < count; i++) {
            if (first[i] & second[i] & DEAF) survey_list_add(&w->out->deaf, names[i]);
            if (first[i] & second[i] & UNWALKED) survey_list_add(&w->out->unwalked, names[i]);
            if (first[i] & second[i] & UNCLEAR) survey_list_add(&w->out->unclear, names[i]);
        }
    }
    free(names);
    return ok;
}

/* ---- the whole */

static bool watch(const struct walk *w, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "WATCH");
    args_key(&args, &w->ledger->names, NAMES_COUNTS, NULL);
    args_key(&args, &w->ledger->names, NAMES_AGENDA, NULL);
    bool ok = args_read(&args, w->link, &replies, w->bounds->limit_ms, err);
    if (ok) args_free_replies(replies, 1);
    args_fini(&args);
    return ok;
}

/* From the first count to the second: what is compared did not change in between. */
static bool read_counted(struct walk *w, struct survey_row *rows, struct errbuf *err)
{
    struct survey_names names = {0}, leases = {0};
    struct redisReply **before, **after;
    if (!read_counts(w, &before, err)) return false;
    bool ok = survey_keys_read(w->ledger, w->link, w->bounds, w->deadline_ms, &names, &leases, w->out, err) &&
              read_rows(w, &names, rows, err) && read_counts(w, &after, err);
    if (ok) {
        w->out->counted = w->out->complete && w->out->unreadable.total == 0 && same_pairs(before[0], after[0]);
        if (w->out->counted) compare(w, after[0]);
        args_free_replies(after, 2);
    }
    ok = ok && look_again(w, rows, err) && read_leases(w, &leases, err) && read_channels(w, before[1], err);
    args_free_replies(before, 2);
    survey_names_fini(&names);
    survey_names_fini(&leases);
    return ok;
}

bool survey_read(const struct ledger *ledger, struct redis_link *link, const struct survey_bounds *bounds,
                 int64_t now_ms, struct survey *out, struct errbuf *err)
{
    struct walk w = {.ledger = ledger, .link = link, .bounds = bounds, .now_ms = now_ms, .out = out};
    struct survey_row *rows = xcalloc(SURVEY_BATCH, sizeof *rows);
    memset(out, 0, sizeof *out);
    w.deadline_ms = clock_boottime_ms() + bounds->budget_ms;
    bool ok = (!bounds->watch || watch(&w, err)) && read_counted(&w, rows, err) && read_agenda(&w, rows, err);
    free(rows);
    free(w.suspects);
    free(w.tallies);
    return ok;
}

static void list_fini(struct survey_list *list)
{
    for (size_t i = 0; i < list->kept; i++)
        free(list->names[i]);
    free(list->names);
}

void survey_fini(struct survey *survey)
{
    struct survey_list *lists[] = {&survey->unknown,  &survey->endless, &survey->unreadable, &survey->nowhere,
                                   &survey->no_lease, &survey->stale,   &survey->odd,        &survey->deaf,
                                   &survey->unwalked, &survey->unclear, &survey->behind};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        list_fini(lists[i]);
    free(survey->counts);
    memset(survey, 0, sizeof *survey);
}

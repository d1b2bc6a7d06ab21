/* SPDX-License-Identifier: MIT */
#include "platforms/search.h"

#include <stdlib.h>
#include <string.h>

#include "platforms/answer.h"
#include "platforms/auth.h"
#include "platforms/channel.h"
#include "platforms/entry.h"
#include "platforms/foreign.h"
#include "platforms/form.h"
#include "platforms/limits_answer.h"
#include "platforms/seen.h"
#include "platforms/transfer.h"
#include "platforms/url.h"
#include "runtime/die.h"

#define SESSIONS_MAX 2 /* logins in a row that do not help */
#define PASSES_MAX   2

/* One way through all pages. */
struct pass {
    json_t *cursor; /* of the page that comes next; null at first */
    int page;       /* pages read */
    struct seen cursors;
    bool ordered; /* every entry so far has a time, and none is newer than the one before it */
    int64_t lowest_ms;
    uint64_t *ids; /* hashes, in order, each once; kept only where pages drift */
    size_t id_count, id_capacity;
};

struct search {
    struct channel *channel;
    struct mark_index *index;
    const struct descriptor_listing *listing;
    int64_t floor_ms;
    json_t *input; /* what the programs see; cursor, prepared and answer are set as the walk goes on */
    json_t *prepared;
    size_t step; /* of reads.prepare; behind the last one comes the listing */
    struct pass passes[PASSES_MAX];
    int pass;
    struct seen ids; /* number: 1 + the last pass that saw it */
    char *origin;    /* of the first page */
    bool bad_entry;
    int tries;
    int sessions;
    int64_t wait_ms;
    struct search_result result;
};

/* What the programs of one page say. */
struct page {
    json_t *entries;
    json_t *next; /* NULL: none */
    bool end;
    size_t fresh; /* ids that this pass had not seen */
};

static const struct {
    const char *name;
    const char *meaning;
} ends[] = {
#define X(symbol, word, meaning) {word, meaning},
    SEARCH_ENDS(X)
#undef X
};

const char *search_end_name(enum search_end end)
{
    return ends[end].name;
}

const char *search_end_meaning(enum search_end end)
{
    return ends[end].meaning;
}

static struct pass *current(struct search *search)
{
    return &search->passes[search->pass];
}

static void pass_init(struct pass *pass)
{
    memset(pass, 0, sizeof *pass);
    pass->cursor = json_null();
    pass->ordered = true;
    seen_init(&pass->cursors);
}

static void pass_fini(struct pass *pass)
{
    json_decref(pass->cursor);
    seen_fini(&pass->cursors);
    free(pass->ids);
}

struct search *search_new(struct channel *channel, struct mark_index *index, int64_t floor_ms)
{
    struct search *search = xcalloc(1, sizeof *search);
    search->channel = channel;
    search->index = index;
    search->listing = &channel->descriptor->listing;
    search->floor_ms = search->listing->floor == FLOOR_SERVER_TIME ? floor_ms : 0;
    const struct channel_facts facts = {.attempt_from_ms = floor_ms};
    search->input = channel_input(channel, &facts);
    search->prepared = json_object();
    seen_init(&search->ids);
    for (int i = 0; i < PASSES_MAX; i++)
        pass_init(&search->passes[i]);
    return search;
}

void search_free(struct search **search)
{
    if (*search == NULL) return;
    for (int i = 0; i < PASSES_MAX; i++)
        pass_fini(&(*search)->passes[i]);
    seen_fini(&(*search)->ids);
    json_decref((*search)->input);
    json_decref((*search)->prepared);
    free((*search)->origin);
    free(*search);
    *search = NULL;
}

static enum search_took finish(struct search *search, enum search_end end)
{
    if (search->result.end == SEARCH_RUNNING)
        search->result.end = end == SEARCH_COMPLETE && search->bad_entry ? SEARCH_BAD_ENTRY : end;
    return SEARCH_TOOK_END;
}

void search_give_up(struct search *search, enum search_end why)
{
    (void)finish(search, why == SEARCH_COMPLETE || why == SEARCH_RUNNING ? SEARCH_GIVEN_UP : why);
}

/* The page did not come. The walk stands where it stood. */
static enum search_took again(struct search *search, int64_t wait_ms)
{
    search->wait_ms = wait_ms;
    return ++search->tries >= SEARCH_TRIES_MAX ? finish(search, SEARCH_PAGE_FAILED) : SEARCH_TOOK_AGAIN;
}

/* A credential that is no session cannot be renewed here. */
static enum search_took log_in(struct search *search)
{
    if (!channel_has_session(search->channel)) {
        errbuf_set(&search->result.detail, "the credential has expired");
        return finish(search, SEARCH_CREDENTIAL);
    }
    errbuf_set(&search->result.detail, "the session was refused");
    return ++search->sessions > SESSIONS_MAX ? finish(search, SEARCH_CREDENTIAL) : SEARCH_TOOK_SESSION;
}

static void set_answer(struct search *search, const struct answer *answer)
{
    json_object_set_new(search->input, "answer", answer_to_json(answer));
}

/* ---- requests ---- */

static const struct descriptor_step *current_step(const struct search *search)
{
    const struct descriptor *descriptor = search->channel->descriptor;
    return search->step < descriptor->read_prepare_count ? &descriptor->read_prepare[search->step] : NULL;
}

/* The address of a next page comes from the platform, and our credential goes there: never to another server. */
static bool is_same_origin(struct search *search, const struct form *form)
{
    char *origin = foreign_origin(form);
    if (search->origin == NULL) {
        search->origin = origin;
        return true;
    }
    const bool same = origin != NULL && strcmp(origin, search->origin) == 0;
    free(origin);
    return same;
}

bool search_next_request(struct search *search, struct form *form)
{
    if (search->result.end != SEARCH_RUNNING) return false;
    const struct descriptor_step *step = current_step(search);
    if (step == NULL && !search->listing->given) {
        (void)finish(search, SEARCH_NO_LISTING);
        return false;
    }
    json_object_del(search->input, "answer");
    json_object_set(search->input, "cursor", current(search)->cursor);
    json_object_set(search->input, "prepared", search->prepared);
    if (!form_render(search->channel, DESCRIPTOR_READ, step != NULL ? &step->request : &search->listing->request,
                     search->input, form, &search->result.detail)) {
        (void)finish(search, SEARCH_DESCRIPTOR);
        return false;
    }
    if (step == NULL && !is_same_origin(search, form)) {
        form_fini(form);
        (void)finish(search, SEARCH_FOREIGN_NEXT);
        return false;
    }
    return true;
}

/* ---- pages ---- */

/* Whether the next entry may follow the last one in a list that is newest first. */
static void note_time(struct search *search, int64_t at_ms)
{
    struct pass *pass = current(search);
    if (at_ms == 0 || (pass->lowest_ms != 0 && at_ms > pass->lowest_ms + SEARCH_ORDER_SLACK_MS)) pass->ordered = false;
    if (at_ms == 0) return;
    if (pass->lowest_ms == 0 || at_ms < pass->lowest_ms) pass->lowest_ms = at_ms;
    if (search->result.oldest_ms == 0 || at_ms < search->result.oldest_ms) search->result.oldest_ms = at_ms;
}

static bool is_below_floor(const struct search *search, int64_t at_ms)
{
    return search->floor_ms > 0 && at_ms != 0 && at_ms < search->floor_ms - MARKS_WINDOW_MS;
}

static void keep_in_sequence(struct search *search, uint64_t hash)
{
    struct pass *pass = current(search);
    if (pass->id_count == pass->id_capacity) {
        pass->id_capacity = pass->id_capacity == 0 ? 256 : 2 * pass->id_capacity;
        pass->ids = xrealloc_array(pass->ids, pass->id_capacity, sizeof *pass->ids);
    }
    pass->ids[pass->id_count++] = hash;
}

static void show_entry(struct search *search, struct page *page, const json_t *json)
{
    struct entry_head head;
    if (!entry_head(json, &head)) {
        search->bad_entry = search->bad_entry || !head.skip;
        return;
    }
    note_time(search, head.at_ms);
    const uint64_t number = (uint64_t)search->pass + 1;
    const uint64_t hash = seen_hash(head.id, strlen(head.id));
    const uint64_t before = seen_put(&search->ids, hash, number);
    if (before == number) return;
    page->fresh++;
    if (search->listing->drift && !is_below_floor(search, head.at_ms)) keep_in_sequence(search, hash);
    if (before == 0 && !mark_index_show(search->index, json)) search->bad_entry = true;
}

/* What the second pass saw must be what the first one saw, behind posts that are new. A post that slipped past the
 * first pass did so because one before it went away, and that one is missing now. */
static bool passes_agree(const struct search *search)
{
    const struct pass *first = &search->passes[0];
    const struct pass *second = &search->passes[1];
    if (first->id_count > second->id_count) return false;
    return first->id_count == 0 || memcmp(first->ids, second->ids + (second->id_count - first->id_count),
                                          first->id_count * sizeof *first->ids) == 0;
}

static enum search_took end_pass(struct search *search)
{
    if (search->pass == 0 && search->listing->drift && current(search)->page > 1) {
        search->pass = 1;
        return SEARCH_TOOK_ON;
    }
    return finish(search, search->pass == 0 || passes_agree(search) ? SEARCH_COMPLETE : SEARCH_DRIFTED);
}

static bool is_new_cursor(struct pass *pass, const json_t *cursor)
{
    char *text = json_dumps(cursor, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL) die("out of memory");
    const uint64_t before = seen_put(&pass->cursors, seen_hash(text, strlen(text)), 1);
    free(text);
    return before == 0;
}

/* Where the walk goes from a page that was read. The order of the questions is the order of their weight. */
static enum search_took leave_page(struct search *search, const struct page *page)
{
    struct pass *pass = current(search);
    if (page->end || (pass->ordered && is_below_floor(search, pass->lowest_ms))) return end_pass(search);
    if (page->next == NULL) return finish(search, SEARCH_NO_END);
    if (page->fresh == 0 && json_array_size(page->entries) > 0) return finish(search, SEARCH_NO_PROGRESS);
    if (search->ids.count > SEARCH_IDS_MAX) return finish(search, SEARCH_ID_LIMIT);
    if (!is_new_cursor(pass, page->next)) return finish(search, SEARCH_CURSOR_REPEATED);
    if (pass->page >= search->listing->pages_max) return finish(search, SEARCH_PAGE_LIMIT);
    json_decref(pass->cursor);
    pass->cursor = json_incref(page->next);
    return SEARCH_TOOK_ON;
}

/* Runs the programs of a page. Nothing of the walk has changed if one of them fails: the page can be asked for again.
 */
static bool read_page(struct search *search, struct page *page)
{
    struct descriptor *descriptor = search->channel->descriptor;
    struct errbuf *err = &search->result.detail;
    if (!descriptor_run(descriptor, DESCRIPTOR_READ, search->listing->entries_part, search->input, &page->entries, err))
        return false;
    if (!json_is_array(page->entries)) return errbuf_set(err, "the page has no list of entries");
    if (!descriptor_run(descriptor, DESCRIPTOR_READ, search->listing->next_part, search->input, &page->next, err))
        return false;
    if (json_is_null(page->next) || json_is_false(page->next)) {
        json_decref(page->next);
        page->next = NULL;
    }
    return descriptor_ask(descriptor, DESCRIPTOR_READ, search->listing->end_part, search->input, &page->end, err);
}

static enum search_took take_page(struct search *search)
{
    struct page page = {NULL, NULL, false, 0};
    enum search_took took;
    if (read_page(search, &page)) {
        current(search)->page++;
        search->result.pages++;
        search->tries = 0;
        search->sessions = 0;
        for (size_t i = 0; i < json_array_size(page.entries); i++)
            show_entry(search, &page, json_array_get(page.entries, i));
        search->result.entries = search->ids.count;
        took = leave_page(search, &page);
    } else {
        took = again(search, 0);
    }
    json_decref(page.entries);
    json_decref(page.next);
    return took;
}

static enum search_took take_step(struct search *search, const struct descriptor_step *step)
{
    json_t *kept = NULL;
    if (!descriptor_run(search->channel->descriptor, DESCRIPTOR_READ, step->keep_part, search->input, &kept,
                        &search->result.detail))
        return again(search, 0);
    if (json_is_null(kept)) {
        json_decref(kept);
        errbuf_set(&search->result.detail, "$.%s (%s) gave null: the listing may hide posts", step->keep_part,
                   step->name);
        return finish(search, SEARCH_NOT_PREPARED);
    }
    json_object_set_new(search->prepared, step->name, kept);
    search->step++;
    search->tries = 0;
    search->sessions = 0;
    return SEARCH_TOOK_ON;
}

/* ---- answers ---- */

/* Statuses after which the same request may well be answered. */
static bool may_pass(int status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500;
}

/* An answer that brings no page. */
static enum search_took take_refusal(struct search *search, const struct answer *answer, int64_t now_ms)
{
    if (answer->status == 401 && channel_has_session(search->channel)) return log_in(search);
    errbuf_set(&search->result.detail, "status %d", answer->status);
    const int64_t wait_ms = limits_answer_ms(search->channel->descriptor, DESCRIPTOR_READ, answer, now_ms);
    if (wait_ms > 0 || may_pass(answer->status)) return again(search, wait_ms);
    return finish(search, answer->status == 401 || answer->status == 403 ? SEARCH_CREDENTIAL : SEARCH_PAGE_FAILED);
}

enum search_took search_take_answer(struct search *search, const struct transfer_facts *facts,
                                    const struct answer *answer, int64_t now_ms)
{
    search->wait_ms = 0;
    if (search->result.end != SEARCH_RUNNING) return SEARCH_TOOK_END;
    if (!facts->complete) {
        errbuf_set(&search->result.detail, "%s", facts->error[0] != '\0' ? facts->error : "no complete answer");
        return again(search, 0);
    }
    bool expired = false; /* some say so inside a success */
    if (!auth_expired(search->channel, DESCRIPTOR_READ, answer, &expired, &search->result.detail))
        return finish(search, SEARCH_DESCRIPTOR);
    if (expired) return log_in(search);
    set_answer(search, answer);
    if (answer->status < 200 || answer->status > 299) return take_refusal(search, answer, now_ms);
    if (answer->json == NULL || answer->headers_cut) { /* where a page goes on may stand in a header */
        errbuf_set(&search->result.detail, "%s", answer->json == NULL ? answer->json_error : "too many headers");
        return again(search, 0);
    }
    const struct descriptor_step *step = current_step(search);
    return step != NULL ? take_step(search, step) : take_page(search);
}

int64_t search_wait_ms(const struct search *search)
{
    return search->wait_ms;
}

const struct search_result *search_result(const struct search *search)
{
    return &search->result;
}

const json_t *search_prepared(const struct search *search)
{
    return search->prepared;
}

enum delivery_event search_evidence(const struct search *search, size_t slot, struct mark_finding *finding)
{
    const struct mark_finding found = mark_index_finding(search->index, slot);
    if (finding != NULL) *finding = found;
    if (found.result == MARK_FOUND) return EV_FOUND;
    const bool reached = search->floor_ms == 0 || mark_index_from_ms(search->index, slot) >= search->floor_ms;
    return found.result == MARK_UNSEEN && search->result.end == SEARCH_COMPLETE && reached ? EV_ABSENT : EV_UNSEEN;
}

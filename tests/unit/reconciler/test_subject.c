/* SPDX-License-Identifier: MIT */
/* What is asked about a delivery, and what answers make of it: look-ups, a listing, and content that cannot be read. */
#include "tests/unit/platforms/search_kit.h"

#include "ledger/reads.h"
#include "platforms/lookup.h"
#include "platforms/search.h"
#include "reconciler/subject.h"

#define BY_ID "'by_id': {'request': {'method': 'GET', 'url': '.ext_id'}, 'found': '.answer.body', 'gone': 'false'}"
#define BY_KEY                                                                                                         \
    "'by_key': {'request': {'method': 'GET', 'url': '.key'}, 'found': '.answer.body', 'gone': '.answer.body == []'}"
#define LISTING                                                                                                        \
    "'listing': {'request': {'method': 'GET', 'url': '\\'https://p.test/posts\\''}, 'entries': '.answer.body',"        \
    " 'next': 'null', 'end': 'true', 'floor': 'none', 'pages_max': 3}"

static struct reads_delivery row_of(const char *content)
{
    struct reads_delivery read = {.readable = true};
    struct delivery_row *row = &read.row.core;
    row->state = DS_UNCERTAIN;
    row->approved_at_ms = FROM - 60000;
    row->first_send_ms = FROM;
    row->commit_by_ms = BY;
    row->attempt = 1;
    snprintf(row->token, sizeof row->token, "0123456789abcdef");
    doubt_add(&row->doubt, 1, row->token);
    snprintf(read.row.key, sizeof read.row.key, "ours");
    read.content.bytes = content != NULL ? quoted(content) : NULL;
    read.content.len = content != NULL ? strlen(content) : 0;
    return read;
}

static const char item[] = "{'id': 'it-1', 'content_text': 'Hello'}";

static void attempts_that_the_row_does_not_know_are_older(void **state)
{
    (void)state;
    struct delivery_row row = {.approved_at_ms = 1000, .first_send_ms = 5000};
    assert_int_equal(5000, subject_attempt_from_ms(&row));
    doubt_add(&row.doubt, 1, "0123456789abcdef");
    assert_int_equal(5000, subject_attempt_from_ms(&row));
    snprintf(row.doubt.entry[row.doubt.count++], sizeof row.doubt.entry[0], "rewound");
    assert_int_equal(1000, subject_attempt_from_ms(&row)); /* a ledger that was set back forgot some */
    row.doubt.count = 1;
    row.generation = 1;
    assert_int_equal(1000, subject_attempt_from_ms(&row)); /* those of an older key */
    row.generation = 0;
    row.first_send_ms = 0;
    assert_int_equal(1000, subject_attempt_from_ms(&row));
}

static void the_strongest_evidence_is_asked_for_first(void **state)
{
    (void)state;
    const struct {
        const char *reads, *ext_id, *key;
        enum subject_route route, after; /* after: a look-up that said nothing */
    } cases[] = {
        {"{" BY_ID "," BY_KEY "," LISTING "}", "7", "ours", SUBJECT_BY_ID, SUBJECT_LISTING},
        {"{" BY_ID "," BY_KEY "," LISTING "}", "", "ours", SUBJECT_BY_KEY, SUBJECT_LISTING},
        {"{" BY_ID "," LISTING "}", "", "ours", SUBJECT_LISTING, SUBJECT_LISTING},
        {"{" BY_ID "," BY_KEY "," LISTING "}", "", "", SUBJECT_NONE, SUBJECT_NONE}, /* its marks have no key */
        {"{" BY_KEY "," LISTING "}", "7", "ours", SUBJECT_BY_KEY, SUBJECT_LISTING},
        {"{" BY_ID "," BY_KEY "}", "7", "ours", SUBJECT_BY_ID, SUBJECT_NONE},
        {"{" LISTING "}", "7", "ours", SUBJECT_LISTING, SUBJECT_LISTING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kit kit;
        struct subject subject;
        struct errbuf why;
        struct reads_delivery read = row_of(item);
        kit_open(&kit, parse(cases[i].reads), NULL);
        struct mark_index *table = mark_index_new(false);
        snprintf(read.row.core.ext_id, sizeof read.row.core.ext_id, "%s", cases[i].ext_id);
        snprintf(read.row.key, sizeof read.row.key, "%s", cases[i].key);
        subject_init(&subject, "t/a/it-1", &read, kit.channel, table, &why);
        if (subject.route != cases[i].route) fail_msg("case %zu: route %d", i, subject.route);
        const struct lookup unseen = {.kind = LOOKUP_UNSEEN};
        if (subject.route == SUBJECT_BY_ID || subject.route == SUBJECT_BY_KEY)
            subject_take_lookup(&subject, kit.channel, subject.route == SUBJECT_BY_KEY, &unseen);
        if (subject.route != cases[i].after) fail_msg("case %zu: then %d", i, subject.route);
        assert_int_equal(EV_UNSEEN, subject.event);
        subject_fini(&subject);
        mark_index_free(&table);
        kit_close(&kit);
        free(read.content.bytes);
    }
}

static void a_look_up_says_what_it_says(void **state)
{
    (void)state;
    const struct {
        enum lookup_kind kind;
        bool by_key;
        enum delivery_event event;
    } cases[] = {
        {LOOKUP_FOUND, false, EV_FOUND},      {LOOKUP_FOUND, true, EV_FOUND},   {LOOKUP_GONE, false, EV_GONE},
        {LOOKUP_GONE, true, EV_ABSENT},       {LOOKUP_UNSEEN, true, EV_UNSEEN}, {LOOKUP_UNSEEN, false, EV_UNSEEN},
        {LOOKUP_CREDENTIAL, true, EV_UNSEEN},
    };
    struct kit kit;
    kit_open(&kit, parse("{" BY_ID "," BY_KEY "}"), NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct subject subject;
        struct errbuf why;
        struct reads_delivery read = row_of(item);
        struct mark_index *table = mark_index_new(false);
        struct lookup answer = {.kind = cases[i].kind};
        snprintf(answer.id, sizeof answer.id, "7");
        subject_init(&subject, "t/a/it-1", &read, kit.channel, table, &why);
        subject_take_lookup(&subject, kit.channel, cases[i].by_key, &answer);
        const struct evidence evidence = subject_evidence(&subject, 99);
        if (evidence.event != cases[i].event) fail_msg("case %zu: event %d", i, evidence.event);
        assert_int_equal(SUBJECT_NONE, subject.route);
        assert_int_equal(99, evidence.searched_from_ms);
        assert_int_equal(1, evidence.attempt);
        if (evidence.event == EV_FOUND)
            assert_string_equal("7", evidence.ext_id);
        else
            assert_null(evidence.ext_id);
        subject_fini(&subject);
        mark_index_free(&table);
        free(read.content.bytes);
    }
    kit_close(&kit);
}

/* The programs of a look-up see what the delivery can be recognised by, and may find a second post of it. */
static void a_look_up_by_marks(void **state)
{
    (void)state;
    struct kit kit;
    struct subject subject;
    struct errbuf why;
    struct reads_delivery read = row_of(item);
    kit_open(&kit, parse("{" BY_KEY "," LISTING "}"), NULL);
    struct mark_index *table = mark_index_new(false);
    subject_init(&subject, "t/a/it-1", &read, kit.channel, table, &why);
    json_t *input = subject_input(&subject, kit.channel);
    const json_t *keys = json_object_get(json_object_get(input, "marks"), "keys");
    assert_string_equal("ours", json_string_value(json_array_get(keys, 0)));
    json_decref(input);
    struct lookup answer = {.kind = LOOKUP_FOUND, .id = "7", .duplicate = "8"};
    subject_take_lookup(&subject, kit.channel, true, &answer);
    assert_string_equal("8", subject_evidence(&subject, 99).duplicate_id);
    subject_fini(&subject);
    mark_index_free(&table);
    kit_close(&kit);
    free(read.content.bytes);
}

/* One page, and what a delivery with this key and content is then. */
static enum delivery_event listed(const char *content, const char *ext_id, bool known_id, const char *page)
{
    struct kit kit;
    struct subject subject;
    struct errbuf why;
    struct form form;
    struct answer answer;
    struct transfer_facts facts;
    struct reads_delivery read = row_of(content);
    kit_open(&kit, parse(known_id ? "{" BY_ID "," LISTING "}" : "{" LISTING "}"), NULL);
    struct mark_index *table = mark_index_new(false);
    snprintf(read.row.core.ext_id, sizeof read.row.core.ext_id, "%s", ext_id);
    subject_init(&subject, "t/a/it-1", &read, kit.channel, table, &why);
    subject_no_lookup(&subject, kit.channel);
    struct search *search = search_new(kit.channel, table, 0);
    assert_true(search_next_request(search, &form));
    form_fini(&form);
    answer_of(&answer, &facts, 200, NULL, page);
    assert_int_equal(SEARCH_TOOK_END, search_take_answer(search, &facts, &answer, FROM));
    answer_fini(&answer);
    subject_take_listing(&subject, search);
    const enum delivery_event event = subject.event;
    assert_int_equal(event == EV_FOUND, subject.ext_id != NULL);
    search_free(&search);
    subject_fini(&subject);
    mark_index_free(&table);
    kit_close(&kit);
    free(read.content.bytes);
    return event;
}

static void a_listing_says_what_it_can(void **state)
{
    (void)state;
    assert_int_equal(EV_FOUND, listed(item, "", false, "[{'id': '7', 'keys': ['ours']}]"));
    assert_int_equal(EV_ABSENT, listed(item, "", false, "[{'id': '7', 'keys': ['theirs']}]"));
    assert_int_equal(EV_ABSENT, listed(item, "", false, "[]"));
    /* Content that is gone or broken leaves nothing to recognise it by: never absent. */
    assert_int_equal(EV_UNSEEN, listed(NULL, "", false, "[]"));
    assert_int_equal(EV_UNSEEN, listed("{'id': 'it-1'", "", false, "[]"));
    assert_int_equal(EV_UNSEEN, listed("{'id': 'it-1', 'contnet_text': 'x'}", "", false, "[]"));
    /* But by its id it can be. */
    assert_int_equal(EV_FOUND, listed(NULL, "7", false, "[{'id': '7'}]"));
    /* Where the platform is asked by id, only that answer may say that it is gone. */
    assert_int_equal(EV_UNSEEN, listed(item, "7", true, "[]"));
    assert_int_equal(EV_FOUND, listed(item, "7", true, "[{'id': '7'}]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_that_the_row_does_not_know_are_older),
        cmocka_unit_test(the_strongest_evidence_is_asked_for_first),
        cmocka_unit_test(a_look_up_says_what_it_says),
        cmocka_unit_test(a_look_up_by_marks),
        cmocka_unit_test(a_listing_says_what_it_can),
    };
    return cmocka_run_group_tests_name("reconciler_subject", tests, NULL, NULL);
}

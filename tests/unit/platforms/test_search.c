/* SPDX-License-Identifier: MIT */
/* Walks over scripted histories: what is asked for, how each of them ends, and what is then said of a delivery. */
#include "tests/unit/platforms/search_kit.h"

#include "platforms/search.h"

static struct mark_index *index_of_ours(bool server_times)
{
    struct mark_index *index = mark_index_new(server_times);
    json_t *marks = json_pack("{s:[s]}", "keys", "ours");
    const struct mark_wanted wanted = {marks, NULL, FROM, BY};
    struct errbuf err;
    size_t slot = 0;
    assert_true(mark_index_add(index, &wanted, &slot, &err));
    json_decref(marks);
    return index;
}

/* The listing of a style with further members, the entries in the form that posts have in walks.txt. */
static json_t *reads_of(const char *style, const char *more, const char *reads)
{
    json_t *styles = json_load_file(TREE "/tests/unit/platforms/walk_styles.json", 0, NULL);
    json_t *listing = json_incref(json_object_get(styles, style));
    if (listing == NULL) fail_msg("walk_styles.json has no %s", style);
    json_decref(styles);
    char *entries =
        xformat("%s | map({id, at_ms: (if .t then 1790000000000 + .t * 1000 else null end), keys: .k, skip: .s})",
                json_string_value(json_object_get(listing, "entries")));
    json_object_set_new(listing, "entries", json_string(entries));
    json_object_set_new(listing, "floor", json_string("none"));
    free(entries);
    if (more != NULL) {
        json_t *members = parse(more);
        json_object_update(listing, members);
        json_decref(members);
    }
    json_t *out = reads != NULL ? parse(reads) : json_object();
    json_object_set_new(out, "listing", listing);
    return out;
}

struct turn {
    const char *url; /* that is asked for, behind https://p.test/ */
    int status;
    const char *body;
    const char *headers;
};

/* Asks for one request, checks its address, and answers it. */
static enum search_took take_turn(struct search *search, const char *name, const struct turn *turn)
{
    struct form form;
    if (!search_next_request(search, &form))
        fail_msg("%s: ended with %s (%s) before %s", name, search_end_name(search_result(search)->end),
                 search_result(search)->detail.text, turn->url);
    char *url = url_of(&form);
    form_fini(&form);
    if (strncmp(url, "https://p.test/", 15) != 0 || strcmp(url + 15, turn->url) != 0)
        fail_msg("%s: %s instead of %s", name, url, turn->url);
    free(url);
    struct answer answer;
    struct transfer_facts facts;
    answer_of(&answer, &facts, turn->status, turn->headers, turn->body != NULL ? turn->body : "");
    const enum search_took took = search_take_answer(search, &facts, &answer, FROM);
    answer_fini(&answer);
    return took;
}

/* A walk of walks.txt while it is read, line by line. Texts are copies. */
struct walk {
    char *name, *style, *listing, *reads, *url, *headers;
    struct kit kit;
    struct mark_index *index;
    struct search *search; /* NULL: no request has been asked for yet */
};

static void walk_begin(struct walk *walk)
{
    if (walk->search != NULL) return;
    kit_open(&walk->kit, reads_of(walk->style, walk->listing, walk->reads), NULL);
    walk->index = index_of_ours(walk->kit.channel->descriptor->listing.floor == FLOOR_SERVER_TIME);
    walk->search = search_new(walk->kit.channel, walk->index, FROM);
}

static void walk_fini(struct walk *walk)
{
    if (walk->search != NULL) {
        search_free(&walk->search);
        mark_index_free(&walk->index);
        kit_close(&walk->kit);
    }
    char *const texts[] = {walk->name, walk->style, walk->listing, walk->reads, walk->url, walk->headers};
    for (size_t i = 0; i < COUNT(texts); i++)
        free(texts[i]);
    memset(walk, 0, sizeof *walk);
}

static void walk_answer(struct walk *walk, const char *rest)
{
    char *body = NULL;
    const int status = (int)strtol(rest, &body, 10);
    const struct turn turn = {walk->url, status, body + strspn(body, " "), walk->headers};
    walk_begin(walk);
    (void)!take_turn(walk->search, walk->name, &turn);
    free(walk->headers);
    walk->headers = NULL;
}

static void walk_end(struct walk *walk, const char *wanted)
{
    struct form form;
    if (search_next_request(walk->search, &form)) fail_msg("%s: asks for more", walk->name);
    const struct search_result *result = search_result(walk->search);
    struct mark_finding finding;
    const enum delivery_event said = search_evidence(walk->search, 0, &finding);
    char *end = xformat("%s %s%s%s", search_end_name(result->end), delivery_event_name(said),
                        finding.id[0] != '\0' ? " " : "", finding.id);
    if (strcmp(end, wanted) != 0) fail_msg("%s: %s instead of %s (%s)", walk->name, end, wanted, result->detail.text);
    free(end);
    walk_fini(walk);
}

/* One line; true if a walk ends with it. */
static bool walk_line(struct walk *walk, const char *line)
{
    const char *rest = strchr(line, ' ');
    if (line[0] == '#' || line[0] == '\0') return false;
    assert_non_null(rest);
    const size_t word = (size_t)(rest++ - line);
    const struct {
        const char *word;
        char **text;
    } texts[] = {{"walk", &walk->name},   {"style", &walk->style}, {"listing", &walk->listing},
                 {"reads", &walk->reads}, {"ask", &walk->url},     {"header", &walk->headers}};
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (strlen(texts[i].word) != word || strncmp(texts[i].word, line, word) != 0) continue;
        free(*texts[i].text);
        *texts[i].text = xstrdup(rest);
        return false;
    }
    if (strncmp(line, "answer ", 7) == 0) {
        walk_answer(walk, rest);
        return false;
    }
    if (strncmp(line, "end ", 4) != 0) fail_msg("walks.txt: %s", line);
    walk_end(walk, rest);
    return true;
}

static void test_walks(void **state)
{
    (void)state;
    FILE *file = fopen(TREE "/tests/unit/platforms/walks.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t size = 0;
    int walks = 0;
    struct walk walk;
    memset(&walk, 0, sizeof walk);
    while (getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        walks += walk_line(&walk, line);
    }
    assert_true(walks > 50); /* the file was there and was read */
    assert_null(walk.name);
    free(line);
    fclose(file);
}

/* A walk of six pages that is disturbed on every one of them resumes where it stood, and waits as it was told. */
static void test_disturbed_walk(void **state)
{
    (void)state;
    static const struct {
        struct turn turn;
        enum search_took took;
        int64_t wait_ms;
    } turns[] = {
        {{"top", 200, "{'posts': [{'id': '9'}], 'cursor': 'a'}", NULL}, SEARCH_TOOK_ON, 0},
        {{"a", 0, NULL, NULL}, SEARCH_TOOK_AGAIN, 0},
        {{"a", 429, "{}", "retry-after: 2"}, SEARCH_TOOK_AGAIN, 2000},
        {{"a", 500, "oops", NULL}, SEARCH_TOOK_AGAIN, 0},
        {{"a", 200, "<html>login</html>", "content-type: text/html"}, SEARCH_TOOK_AGAIN, 0},
        {{"a", 200, "{'posts': [{'id': '8'}], 'cursor': 'b'}", NULL}, SEARCH_TOOK_ON, 0},
        {{"b", 200, "{'error': 'ratelimited'}", NULL}, SEARCH_TOOK_AGAIN, 0},
        {{"b", 403, "{}", "retry-after: 60"}, SEARCH_TOOK_AGAIN, 60000},
        {{"b", 200, "{'posts': [{'id': '7', 'k': ['ours']}], 'cursor': 'c'}", NULL}, SEARCH_TOOK_ON, 0},
        {{"c", 503, "", NULL}, SEARCH_TOOK_AGAIN, 0},
        {{"c", 200, "{'posts': [], 'cursor': null}", NULL}, SEARCH_TOOK_END, 0},
    };
    struct kit kit;
    kit_open(&kit, reads_of("cursor", NULL, NULL), NULL);
    struct mark_index *index = index_of_ours(false);
    struct search *search = search_new(kit.channel, index, 0);
    for (size_t i = 0; i < COUNT(turns); i++) {
        assert_int_equal(take_turn(search, "disturbed", &turns[i].turn), turns[i].took);
        assert_int_equal(search_wait_ms(search), turns[i].wait_ms);
    }
    const struct search_result *result = search_result(search);
    assert_int_equal(result->end, SEARCH_COMPLETE);
    assert_int_equal(result->pages, 4);
    assert_int_equal(result->entries, 3);
    assert_int_equal(search_evidence(search, 0, NULL), EV_FOUND);
    search_free(&search);
    mark_index_free(&index);
    kit_close(&kit);
}

static json_t *session_auth(void)
{
    return parse("{'kind': 'session', 'login': {'method': 'POST', 'url': '\\'https://p.test/login\\''},"
                 " 'token': '.answer.body.token'}");
}

static void test_sessions(void **state)
{
    (void)state;
    const struct turn refused = {"top", 401, "{}", NULL};
    const struct turn first = {"top", 200, "{'posts': [{'id': '9'}], 'cursor': 'a'}", NULL};
    const struct turn expired = {"a", 400, "{'error': 'ExpiredToken'}", NULL};
    struct kit kit;
    kit_open(&kit, reads_of("cursor", NULL, NULL), session_auth());
    struct mark_index *index = index_of_ours(false);
    struct search *search = search_new(kit.channel, index, 0);
    assert_int_equal(take_turn(search, "session", &refused), SEARCH_TOOK_SESSION);
    assert_int_equal(take_turn(search, "session", &first), SEARCH_TOOK_ON);
    assert_int_equal(take_turn(search, "session", &expired), SEARCH_TOOK_SESSION);
    assert_int_equal(take_turn(search, "session", &expired), SEARCH_TOOK_SESSION);
    assert_int_equal(take_turn(search, "session", &expired), SEARCH_TOOK_END);
    assert_int_equal(search_result(search)->end, SEARCH_CREDENTIAL);
    assert_int_equal(search_evidence(search, 0, NULL), EV_UNSEEN);
    search_free(&search);
    mark_index_free(&index);
    kit_close(&kit);
}

static void test_no_listing(void **state)
{
    (void)state;
    struct kit kit;
    static const char reads[] =
        "{'prepare': [{'name': 'me', 'request': {'method': 'GET', 'url': '\\'https://p.test/me\\''},"
        "  'keep': '.answer.body.id'}],"
        " 'by_key': {'request': {'method': 'GET', 'url': '\\'https://p.test/x\\''}, 'found': 'null', 'gone': 'false'}}";
    kit_open(&kit, parse(reads), NULL);
    struct mark_index *index = index_of_ours(false);
    struct search *search = search_new(kit.channel, index, 0);
    const struct turn me = {"me", 200, "{'id': 'u1'}", NULL};
    assert_int_equal(take_turn(search, "no listing", &me), SEARCH_TOOK_ON);
    struct form form;
    assert_false(search_next_request(search, &form));
    assert_int_equal(search_result(search)->end, SEARCH_NO_LISTING);
    assert_string_equal(json_string_value(json_object_get(search_prepared(search), "me")), "u1");
    assert_int_equal(search_evidence(search, 0, NULL), EV_UNSEEN);
    search_free(&search);
    mark_index_free(&index);
    kit_close(&kit);
}

static void test_given_up(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, reads_of("cursor", NULL, NULL), NULL);
    struct mark_index *index = index_of_ours(false);
    struct search *search = search_new(kit.channel, index, 0);
    search_give_up(search, SEARCH_COMPLETE); /* nobody else can say that a walk is complete */
    struct form form;
    assert_false(search_next_request(search, &form));
    assert_int_equal(search_result(search)->end, SEARCH_GIVEN_UP);
    search_give_up(search, SEARCH_CREDENTIAL); /* it has ended already */
    assert_int_equal(search_result(search)->end, SEARCH_GIVEN_UP);
    assert_int_equal(search_evidence(search, 0, NULL), EV_UNSEEN);
    search_free(&search);
    mark_index_free(&index);
    kit_close(&kit);
}

/* The walk's floor must not lie behind the first attempt of a delivery that it is to judge. */
static void test_floor_and_first_attempt(void **state)
{
    (void)state;
    const struct turn end = {"top", 200, "{'posts': [], 'cursor': null}", NULL};
    struct kit kit;
    kit_open(&kit, reads_of("cursor", "{'floor': 'server_time'}", NULL), NULL);
    for (int late = 0; late < 2; late++) {
        struct mark_index *index = index_of_ours(true);
        struct search *search = search_new(kit.channel, index, FROM + late);
        assert_int_equal(take_turn(search, "floor", &end), SEARCH_TOOK_END);
        assert_int_equal(search_evidence(search, 0, NULL), late ? EV_UNSEEN : EV_ABSENT);
        search_free(&search);
        mark_index_free(&index);
    }
    kit_close(&kit);
}

/* A complete walk proves nothing about a delivery that it could not have recognised, or that it may have seen. */
static void test_what_is_not_absent(void **state)
{
    (void)state;
    static const struct {
        const char *marks;
        enum delivery_event said;
    } cases[] = {{"null", EV_UNSEEN},
                 {"{'urls': ['no address']}", EV_UNSEEN},
                 {"{'keys': ['shared']}", EV_UNSEEN},
                 {"{'keys': ['shared']}", EV_UNSEEN},
                 {"{'text': 'A text that the platform cuts somewhere'}", EV_UNSEEN},
                 {"{'text': 'Another text that stands nowhere at all'}", EV_ABSENT}};
    const struct turn page = {
        "top", 200, "{'posts': [{'id': '2', 'k': ['shared']}, {'id': '1', 'k': ['x']}], 'cursor': 'a'}", NULL};
    const struct turn end = {"a", 200, "{'posts': [], 'cursor': null}", NULL};
    struct kit kit;
    json_t *reads = reads_of("cursor", NULL, NULL);
    json_object_set_new(json_object_get(reads, "listing"), "entries",
                        json_string(".answer.body.posts | map({id, keys: .k, text: \"A text that the platf...\"})"));
    kit_open(&kit, reads, NULL);
    struct mark_index *index = mark_index_new(false);
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *marks = parse(cases[i].marks);
        const struct mark_wanted wanted = {marks, NULL, FROM, BY};
        struct errbuf err;
        size_t slot = 0;
        assert_true(mark_index_add(index, &wanted, &slot, &err));
        json_decref(marks);
    }
    struct search *search = search_new(kit.channel, index, 0);
    assert_int_equal(take_turn(search, "not absent", &page), SEARCH_TOOK_ON);
    assert_int_equal(take_turn(search, "not absent", &end), SEARCH_TOOK_END);
    assert_int_equal(search_result(search)->end, SEARCH_COMPLETE);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(search_evidence(search, i, NULL), cases[i].said);
    search_free(&search);
    mark_index_free(&index);
    kit_close(&kit);
}

/* Where the next page's address stands in a header, an answer that lost headers is no page. */
static void test_lost_headers(void **state)
{
    (void)state;
    struct buf headers;
    buf_init(&headers, 1 << 16);
    for (int i = 0; i <= ANSWER_HEADERS_MAX; i++)
        buf_append_format(&headers, "x-%d: y\n", i);
    buf_append_text(&headers, "link: <https://p.test/list?max_id=4>; rel=\"next\"");
    const struct turn page = {"list", 200, "[{'id': '4'}]", buf_text(&headers)};
    struct kit kit;
    kit_open(&kit, reads_of("link", NULL, NULL), NULL);
    struct mark_index *index = index_of_ours(false);
    struct search *search = search_new(kit.channel, index, 0);
    assert_int_equal(take_turn(search, "lost headers", &page), SEARCH_TOOK_AGAIN);
    assert_int_equal(search_result(search)->pages, 0);
    search_free(&search);
    mark_index_free(&index);
    kit_close(&kit);
    buf_fini(&headers);
}

/* Whatever comes, a walk ends: within its pages, times the answers that may fail for each of them. */
static void test_any_answers(void **state)
{
    (void)state;
    static const char *const bodies[] = {"",
                                         "null",
                                         "[]",
                                         "{}",
                                         "{'posts': null}",
                                         "{'posts': {}, 'cursor': 1}",
                                         "{'posts': [null], 'cursor': 'x'}",
                                         "{'posts': [{'id': {}}], 'cursor': {'a': [1]}}",
                                         "{'posts': [{'id': 5}], 'cursor': false}",
                                         "{'posts': [{'id': 'a', 't': 'x'}], 'cursor': 'y'}",
                                         "{'posts': [{'id': 'b', 't': 1e300}], 'cursor': 'z'}",
                                         "{'posts': [], 'cursor': ''}",
                                         "{'posts': [], 'cursor': null}",
                                         "[[[[[[",
                                         "\xff\xfe",
                                         "{'posts': [{'id': 'k', 'k': 7}], 'cursor': 'k'}"};
    static const int statuses[] = {200, 200, 200, 200, 200, 201, 204, 0, 500, 429, 302, 401};
    struct kit kit;
    kit_open(&kit, reads_of("cursor", "{'floor': 'server_time', 'pages_max': 6}", NULL), NULL);
    srandom(20260921);
    for (int round = 0; round < 400; round++) {
        struct mark_index *index = index_of_ours(true);
        struct search *search = search_new(kit.channel, index, FROM);
        struct form form;
        int turns = 0;
        for (; search_next_request(search, &form); turns++) {
            form_fini(&form);
            struct answer answer;
            struct transfer_facts facts;
            char numbered[128]; /* every second page is a good one */
            const int n = (int)(random() % 1000);
            snprintf(numbered, sizeof numbered, "{'posts': [{'id': '%d', 't': %d}], 'cursor': 'c%d'}", n, 500 - n, n);
            answer_of(&answer, &facts, statuses[(size_t)random() % (round % 2 ? COUNT(statuses) : 5)], NULL,
                      random() % 2 ? numbered : bodies[(size_t)random() % COUNT(bodies)]);
            const enum search_took took = search_take_answer(search, &facts, &answer, FROM);
            assert_int_equal(took == SEARCH_TOOK_END, search_result(search)->end != SEARCH_RUNNING);
            answer_fini(&answer);
        }
        assert_true(turns <= 6 * SEARCH_TRIES_MAX);
        assert_int_not_equal(search_result(search)->end, SEARCH_RUNNING);
        if (search_evidence(search, 0, NULL) == EV_ABSENT)
            assert_int_equal(search_result(search)->end, SEARCH_COMPLETE);
        search_free(&search);
        mark_index_free(&index);
    }
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_disturbed_walk),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_no_listing),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_floor_and_first_attempt),
        cmocka_unit_test(test_what_is_not_absent),
        cmocka_unit_test(test_lost_headers),
        cmocka_unit_test(test_any_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

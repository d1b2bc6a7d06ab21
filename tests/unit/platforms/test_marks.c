/* SPDX-License-Identifier: MIT */
/* One pass over an account's entries says of every delivery what can be said: found, ambiguous, near, unseen. */
#include "tests/unit/keys/test.h"

#include <time.h>

#include "platforms/marks.h"
#include "runtime/buf.h"
#include "runtime/die.h"

#define FROM INT64_C(1790000000000)
#define BY   (FROM + 90000)
#define DAY  INT64_C(86400000)

/* Up to three deliveries and three entries, and what is said of each delivery. Marks and entries are JSON with ' for ".
 * An entry's time is written by the test: @ is FROM. */
static const struct {
    const char *name;
    bool server_times;
    const char *marks[3];
    const char *entries[3];
    const char *said[3]; /* "result kind id duplicate" */
} cases[] = {
    {"key", true, {"{'keys': ['k1']}"}, {"{'id': '1', 'url': 'https://m.test/1', 'keys': ['k1']}"}, {"found key 1 -"}},
    {"key as a number",
     true,
     {"{'keys': [17]}"},
     {"{'id': 9007199254740993, 'keys': ['17']}"},
     {"found key 9007199254740993 -"}},
    {"another key", true, {"{'keys': ['k1']}"}, {"{'id': '1', 'keys': ['k2']}"}, {"unseen - - -"}},
    {"no entries", true, {"{'keys': ['k1']}"}, {NULL}, {"unseen - - -"}},
    {"an address in another spelling",
     true,
     {"{'urls': ['https://Ex.test:443/p?utm_source=m#x']}"},
     {"{'id': '1', 'at_ms': @, 'html': '<p>x <a href=\\'https://ex.test/p\\'>p</a></p>'}"},
     {"found url 1 -"}},
    {"escaped and hidden parts",
     true,
     {"{'urls': ['https://ex.test/a?x=1&y=2#s']}"},
     {"{'id': '1', 'at_ms': @, 'html': '<p>..<a href=\\'https://ex.test/a?x=1&amp;y=2#s\\'><span class=\\'invisible\\'>"
      "https://</span><span class=\\'ellipsis\\'>ex.test/a?x=1&amp;</span></a></p>'}"},
     {"found url 1 -"}},
    {"numeric entities",
     true,
     {"{'urls': ['https://ex.test/a?x=1&y=2#s']}"},
     {"{'id': '1', 'at_ms': @, 'html': '<p><a href=\\'https://ex.test/a?x=1&#38;y=2#s\\'>a</a></p>'}"},
     {"found url 1 -"}},
    {"percent-encoding in another case",
     true,
     {"{'urls': ['https://ex.test/caf%C3%A9']}"},
     {"{'id': '1', 'at_ms': @, 'html': '<a href=\\'https://ex.test/caf%c3%a9\\'>a</a>'}"},
     {"found url 1 -"}},
    {"a shortener's address, and the target only as a piece of its text",
     true,
     {"{'urls': ['https://ex.test/a/b/c?x=1&y=2']}"},
     {"{'id': '1', 'at_ms': @, 'html': '<a href=\\'https://t.test/x\\'>ex.test/a/b/c?x=1\xe2\x80\xa6</a>'}"},
     {"near - - -"}},
    {"an address in plain text",
     true,
     {"{'urls': ['https://ex.test/p']}"},
     {"{'id': '1', 'at_ms': @, 'text': 'See https://ex.test/p.'}"},
     {"found url 1 -"}},
    {"an address in a card",
     true,
     {"{'urls': ['https://ex.test/p']}"},
     {"{'id': '1', 'at_ms': @, 'text': 'See https://t.test/x', 'urls': ['https://ex.test/p']}"},
     {"found url 1 -"}},
    {"http is not https",
     true,
     {"{'urls': ['https://ex.test/p']}"},
     {"{'id': '1', 'at_ms': @, 'urls': ['http://ex.test/p']}"},
     {"unseen - - -"}},
    {"an elder post with that address",
     true,
     {"{'urls': ['https://ex.test/p']}"},
     {"{'id': '1', 'at_ms': @ - 700000, 'urls': ['https://ex.test/p']}"},
     {"unseen - - -"}},
    {"clocks that differ a little",
     true,
     {"{'urls': ['https://ex.test/p']}"},
     {"{'id': '1', 'at_ms': @ - 500000, 'urls': ['https://ex.test/p']}"},
     {"found url 1 -"}},
    {"times that clients set",
     false,
     {"{'urls': ['https://ex.test/p']}"},
     {"{'id': '1', 'at_ms': @ - 700000, 'urls': ['https://ex.test/p']}"},
     {"found url 1 -"}},
    {"text at its time",
     true,
     {"{'text': 'Hello  w\xc3\xb6rld\\n'}"},
     {"{'id': '1', 'at_ms': @, 'html': '<p>Hello<br>wo\xcc\x88rld</p>'}"},
     {"found text 1 -"}},
    {"text long after",
     true,
     {"{'text': 'Good morning'}"},
     {"{'id': '1', 'at_ms': @ + 86400000, 'text': 'Good morning'}"},
     {"unseen - - -"}},
    {"text without a time proves nothing",
     true,
     {"{'text': 'Good morning'}"},
     {"{'id': '1', 'text': 'Good morning'}"},
     {"near - - -"}},
    {"text at a time that a client set",
     false,
     {"{'text': 'Good morning'}"},
     {"{'id': '1', 'at_ms': @ - 86400000, 'text': 'Good morning'}"},
     {"near - - -"}},
    {"two deliveries with one text",
     true,
     {"{'text': 'Good morning'}", "{'text': 'Good morning'}"},
     {"{'id': '1', 'at_ms': @, 'text': 'Good morning'}"},
     {"ambiguous - - -", "ambiguous - - -"}},
    {"two deliveries with one address",
     true,
     {"{'urls': ['https://ex.test/p']}", "{'urls': ['https://ex.test/p?']}"},
     {"{'id': '1', 'at_ms': @, 'urls': ['https://ex.test/p']}"},
     {"ambiguous - - -", "ambiguous - - -"}},
    {"one address, told apart by text",
     true,
     {"{'urls': ['https://ex.test/p'], 'text': 'One'}", "{'urls': ['https://ex.test/p'], 'text': 'Two'}"},
     {"{'id': '1', 'at_ms': @, 'urls': ['https://ex.test/p'], 'text': 'Two'}"},
     {"unseen - - -", "found url 1 -"}},
    {"one address, told apart by key",
     true,
     {"{'urls': ['https://ex.test/p'], 'keys': ['a']}", "{'urls': ['https://ex.test/p'], 'keys': ['b']}"},
     {"{'id': '1', 'at_ms': @, 'urls': ['https://ex.test/p'], 'keys': ['b']}"},
     {"unseen - - -", "found key 1 -"}},
    {"an entry with the addresses of two",
     true,
     {"{'urls': ['https://ex.test/a']}", "{'urls': ['https://ex.test/b']}"},
     {"{'id': '1', 'at_ms': @, 'text': 'https://ex.test/a https://ex.test/b'}"},
     {"ambiguous - - -", "ambiguous - - -"}},
    {"both addresses of one delivery",
     true,
     {"{'urls': ['https://ex.test/a', 'https://ex.test/b']}"},
     {"{'id': '1', 'at_ms': @, 'text': 'https://ex.test/a https://ex.test/b'}"},
     {"found url 1 -"}},
    {"one address and one text",
     true,
     {"{'urls': ['https://ex.test/p'], 'text': 'One'}", "{'urls': ['https://ex.test/p'], 'text': 'One'}"},
     {"{'id': '1', 'at_ms': @, 'urls': ['https://ex.test/p'], 'text': 'One'}"},
     {"ambiguous - - -", "ambiguous - - -"}},
    {"ambiguous, and found elsewhere",
     true,
     {"{'urls': ['https://ex.test/a']}", "{'urls': ['https://ex.test/b']}"},
     {"{'id': '1', 'at_ms': @, 'text': 'https://ex.test/a https://ex.test/b'}",
      "{'id': '2', 'at_ms': @, 'text': 'https://ex.test/a'}"},
     {"found url 2 -", "ambiguous - - -"}},
    {"two entries for one: the elder is kept",
     true,
     {"{'keys': ['k']}"},
     {"{'id': '2', 'at_ms': @ + 2000, 'keys': ['k']}", "{'id': '1', 'at_ms': @ + 1000, 'keys': ['k']}"},
     {"found key 1 2"}},
    {"three entries for one",
     true,
     {"{'keys': ['k']}"},
     {"{'id': '1', 'at_ms': @ + 1000, 'keys': ['k']}", "{'id': '2', 'at_ms': @ + 2000, 'keys': ['k']}",
      "{'id': '0', 'at_ms': @, 'keys': ['k']}"},
     {"found key 0 1"}},
    {"a stronger mark ends a weaker one",
     true,
     {"{'keys': ['k'], 'urls': ['https://ex.test/a']}"},
     {"{'id': '2', 'at_ms': @, 'urls': ['https://ex.test/a']}", "{'id': '1', 'at_ms': @, 'keys': ['k']}",
      "{'id': '3', 'at_ms': @, 'urls': ['https://ex.test/a']}"},
     {"found key 1 -"}},
    {"boosts and replies",
     true,
     {"{'urls': ['https://ex.test/a']}"},
     {"{'id': '1', 'at_ms': @, 'urls': ['https://ex.test/a'], 'skip': true}"},
     {"unseen - - -"}},
    {"a text that was cut",
     true,
     {"{'text': 'A long text that the platform cuts somewhere'}"},
     {"{'id': '1', 'at_ms': @, 'text': 'A long text that the platf'}"},
     {"near - - -"}},
    {"a text that was cut, with dots",
     true,
     {"{'text': 'A long text that the platform cuts somewhere'}"},
     {"{'id': '1', 'at_ms': @, 'text': 'A long text that the \xe2\x80\xa6'}"},
     {"near - - -"}},
    {"a cut text at another time",
     true,
     {"{'text': 'A long text that the platform cuts somewhere'}"},
     {"{'id': '1', 'at_ms': @ + 86400000, 'text': 'A long text that the platf'}"},
     {"unseen - - -"}},
    {"a short beginning",
     true,
     {"{'text': 'A long text that the platform cuts somewhere'}"},
     {"{'id': '1', 'at_ms': @, 'text': 'A long'}"},
     {"unseen - - -"}},
    {"a link that was cut",
     true,
     {"{'urls': ['https://ex.test/a/b/c?x=1&y=2']}"},
     {"{'id': '1', 'at_ms': @, 'html': '<p>See ex.test/a/b\xe2\x80\xa6</p>'}"},
     {"near - - -"}},
    {"a link that was cut in its query",
     true,
     {"{'urls': ['https://ex.test/a/b/c?x=1&y=2']}"},
     {"{'id': '1', 'at_ms': @, 'text': 'See https://ex.test/a/b/c?x=1&...'}"},
     {"near - - -"}},
    {"another link that was cut",
     true,
     {"{'urls': ['https://ex.test/a/b/c']}"},
     {"{'id': '1', 'at_ms': @, 'text': 'See https://ex.test/b...'}"},
     {"unseen - - -"}},
    {"a cut text with its key",
     true,
     {"{'keys': ['k'], 'text': 'A long text that the platform cuts somewhere'}"},
     {"{'id': '1', 'at_ms': @, 'keys': ['k'], 'text': 'A long text that the platf'}"},
     {"found key 1 - changed"}},
    {"no marks",
     true,
     {"null", "{}", "{'urls': ['no address'], 'text': ' ', 'keys': ['']}"},
     {"{'id': '1', 'at_ms': @, 'text': ''}"},
     {"unmarked - - -", "unmarked - - -", "unmarked - - -"}},
};

static json_t *parse(const char *text, int64_t at_ms)
{
    struct buf json;
    buf_init(&json, 4096);
    for (const char *c = text; *c != '\0'; c++) {
        const bool escaped = c[0] == '\\' && c[1] == '\'';
        if (*c == '@') {
            const long offset = c[1] == ' ' && strchr("+-", c[2]) != NULL ? strtol(c + 3, NULL, 10) : 0;
            buf_append_format(&json, "%lld",
                              (long long)(offset == 0   ? at_ms
                                          : c[2] == '-' ? at_ms - offset
                                                        : at_ms + offset));
            c += strcspn(c, ",}") - 1;
        } else if (escaped) {
            buf_append_text(&json, "\\\"");
            c++;
        } else {
            buf_append(&json, *c == '\'' ? "\"" : c, 1);
        }
    }
    json_error_t error;
    json_t *value = json_loads(buf_text(&json), JSON_DECODE_ANY, &error);
    if (value == NULL) fail_msg("%s: %s", buf_text(&json), error.text);
    buf_fini(&json);
    return value;
}

static size_t add(struct mark_index *index, json_t *own_marks, const char *ext_id, int64_t from_ms)
{
    const struct mark_wanted wanted = {own_marks, ext_id, from_ms, from_ms + BY - FROM};
    struct errbuf err;
    size_t slot = SIZE_MAX;
    if (!mark_index_add(index, &wanted, &slot, &err)) fail_msg("%s", err.text);
    json_decref(own_marks);
    return slot;
}

static void show(struct mark_index *index, json_t *own_entry)
{
    assert_true(mark_index_show(index, own_entry));
    json_decref(own_entry);
}

static const char *say(const struct mark_index *index, size_t slot, char out[200])
{
    static const char *const results[] = {"unseen", "found", "ambiguous", "near", "unmarked"};
    static const char *const kinds[] = {"-", "text", "url", "key", "id"};
    const struct mark_finding finding = mark_index_finding(index, slot);
    snprintf(out, 200, "%s %s %s %s%s", results[finding.result], kinds[finding.kind], finding.id[0] ? finding.id : "-",
             finding.duplicate_id[0] ? finding.duplicate_id : "-",
             finding.result == MARK_FOUND && finding.changed && finding.kind == MARK_KEY ? " changed" : "");
    return out;
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mark_index *index = mark_index_new(cases[i].server_times);
        for (size_t k = 0; k < 3 && cases[i].marks[k] != NULL; k++)
            assert_int_equal(add(index, parse(cases[i].marks[k], FROM), NULL, FROM), k);
        for (size_t k = 0; k < 3 && cases[i].entries[k] != NULL; k++)
            show(index, parse(cases[i].entries[k], FROM));
        for (size_t k = 0; k < 3 && cases[i].marks[k] != NULL; k++) {
            char said[200];
            if (strcmp(say(index, k, said), cases[i].said[k]) != 0)
                fail_msg("%s, %zu: %s instead of %s", cases[i].name, k, said, cases[i].said[k]);
        }
        mark_index_free(&index);
        assert_null(index);
    }
}

static void test_ids(void **state)
{
    (void)state;
    struct mark_index *index = mark_index_new(true);
    add(index, json_pack("{s:[s]}", "keys", "k"), "id-1", FROM);
    add(index, json_pack("{s:[s]}", "urls", "https://ex.test/a"), "", FROM);
    show(index, parse("{'id': 'id-0', 'keys': ['k']}", FROM));
    show(index, parse("{'id': 'id-1'}", FROM));
    char said[200];
    assert_string_equal(say(index, 0, said), "found id id-1 -");
    assert_string_equal(say(index, 1, said), "unseen - - -");
    mark_index_free(&index);
}

static void test_bad_shapes(void **state)
{
    (void)state;
    static const char *const entries[] = {"null",
                                          "[]",
                                          "{}",
                                          "{'id': ''}",
                                          "{'id': null}",
                                          "{'id': 1.5}",
                                          "{'id': ['a']}",
                                          "{'id': '1', 'urls': 'https://ex.test'}",
                                          "{'id': '1', 'text': 5}",
                                          "{'id': '1', 'keys': {}}",
                                          "{'id': '1', 'html': []}",
                                          "{'id': '1', 'url': 7}"};
    static const struct {
        const char *marks;
        const char *error;
    } marks[] = {{"'x'", "marks: an object"},
                 {"{'keys': 'k'}", "marks.keys: a list"},
                 {"{'keys': ['k', null]}", "marks.keys[1]: a string"},
                 {"{'urls': [{}]}", "marks.urls[0]: a string"},
                 {"{'text': ['x']}", "marks.text: a string"}};
    struct mark_index *index = mark_index_new(true);
    for (size_t i = 0; i < COUNT(entries); i++) {
        json_t *entry = parse(entries[i], FROM);
        if (mark_index_show(index, entry)) fail_msg("%s was taken", entries[i]);
        json_decref(entry);
    }
    for (size_t i = 0; i < COUNT(marks); i++) {
        json_t *json = parse(marks[i].marks, FROM);
        const struct mark_wanted wanted = {json, NULL, FROM, BY};
        struct errbuf err;
        size_t slot = 0;
        assert_false(mark_index_add(index, &wanted, &slot, &err));
        assert_contains(err.text, marks[i].error);
        json_decref(json);
    }
    json_t *good = json_pack("{s:[s]}", "keys", "k");
    assert_int_equal(add(index, good, NULL, FROM), 0); /* nothing was added before */
    mark_index_free(&index);
}

/* 10,000 deliveries, 25,000 entries, one pass: every tenth delivery is missing, every hundredth was posted twice. */
static void test_many(void **state)
{
    (void)state;
    enum { DELIVERIES = 10000, ENTRIES = 25000 };
    struct mark_index *index = mark_index_new(true);
    char url[64], id[32];
    const clock_t start = clock();
    for (int i = 0; i < DELIVERIES; i++) {
        snprintf(url, sizeof url, "https://blog.test/2026/09/post-%d", i);
        char *text = xformat("Post number %d of the blog", i);
        assert_int_equal(add(index, json_pack("{s:[s], s:s}", "urls", url, "text", text), NULL, FROM + i * 1000), i);
        free(text);
    }
    for (int i = ENTRIES - 1; i >= 0; i--) {
        const bool again = i >= DELIVERIES && i % 100 == 1 && i < 2 * DELIVERIES;
        const int number = again ? i - DELIVERIES : i;
        snprintf(id, sizeof id, "%d", i);
        snprintf(url, sizeof url, "https://blog.test/2026/09/post-%d", number % 10 == 0 ? -1 - number : number);
        show(index, json_pack("{s:s, s:I, s:[s], s:s}", "id", id, "at_ms", (json_int_t)(FROM + i * 1000), "urls", url,
                              "text", "a text that the platform has changed\xe2\x80\xa6"));
    }
    for (int i = 0; i < DELIVERIES; i++) {
        const struct mark_finding finding = mark_index_finding(index, (size_t)i);
        assert_int_equal(finding.result, i % 10 == 0 ? MARK_UNSEEN : MARK_FOUND);
        if (i % 10 == 0) continue;
        assert_int_equal(strtol(finding.id, NULL, 10), i);
        assert_true((finding.duplicate_id[0] != '\0') == (i % 100 == 1));
    }
    assert_true(clock() - start < 20 * CLOCKS_PER_SEC); /* a table, not 250 million comparisons */
    mark_index_free(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_bad_shapes),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "cli/items.h"

/* What comes of a source: "id|" for an item, "line!|" for what is bad, "END". */
static void read_all(const struct items_source *source, char *out, size_t out_size)
{
    struct items *items;
    struct errbuf err;
    struct item item;
    size_t line, used = 0;
    assert_true(items_open(source, &items, &err));
    for (enum input_result result; (result = items_next(items, &item, &line, &err)) != INPUT_END;) {
        assert_true(result != INPUT_FAILED);
        const char *id = result == INPUT_VALUE ? json_string_value(json_object_get(item.json, "id")) : NULL;
        used += id ? (size_t)snprintf(out + used, out_size - used, "%s|", id)
                   : (size_t)snprintf(out + used, out_size - used, "%zu!|", line);
        assert_true(used < out_size);
    }
    snprintf(out + used, out_size - used, "END");
    items_close(&items);
}

static void from_bytes(const void *bytes, size_t len, const char *map, char *out, size_t out_size)
{
    char path[32];
    bytes_file(bytes, len, path);
    struct items_source source = {.path = path, .map = map};
    read_all(&source, out, out_size);
    unlink(path);
}

static void test_file(void **state)
{
    (void)state;
    static const char in[] =
        "{\"id\":\"1\"}\n{\"id\":\"2\",}\n{\"id\":\"3\",\"n\":9007199254740993}\n{\"id\":\"\xff\"}\n"
        "{\"id\":\"a\0b\"}\n{\"id\":\"4\",\"id\":\"5\"}\n{\"id\":\"6\"}\n";
    char out[200];
    from_bytes(in, sizeof(in) - 1, NULL, out, sizeof(out));
    assert_string_equal(out, "1|2!|3!|4!|5!|6!|6|END");
    static const char array[] = "[{\"id\":\"1\"},\n7,\n{\"id\":\"2\"}]";
    from_bytes(array, sizeof(array) - 1, NULL, out, sizeof(out));
    assert_string_equal(out, "1|2!|2|END");
}

static void test_map(void **state)
{
    (void)state;
    static const char in[] =
        "{\"posts\":[{\"n\":1},{\"n\":2}]}\n{\"posts\":[]}\n{\"posts\":[7]}\nnope\n{\"posts\":[{\"n\":3}]}\n";
    char out[200];
    from_bytes(in, sizeof(in) - 1, "[.posts[] | if type == \"object\" then {id: \"p\\(.n)\"} else . end] # a comment",
               out, sizeof(out));
    assert_string_equal(out, "p1|p2|3!|4!|p3|END");
    from_bytes("[1,2]", 5, "{id: \"n\\(length)\"}", out, sizeof(out));
    assert_string_equal(out, "n2|END");
    struct items_source broken = {.path = "-", .map = ".posts[) | ("};
    struct items *items;
    struct errbuf err = {""};
    assert_false(items_open(&broken, &items, &err));
    assert_contains(err.text, "--map");
}

static void test_text(void **state)
{
    (void)state;
    char out[200], again[200];
    struct items_source source = {.text = "Hello", .id = "greeting"};
    read_all(&source, out, sizeof(out));
    assert_string_equal(out, "greeting|END");
    source.id = NULL;
    read_all(&source, out, sizeof(out));
    read_all(&source, again, sizeof(again));
    assert_string_equal(out, again); /* the same text is the same item */
    assert_int_equal(strncmp(out, "text-", 5), 0);
    source.text = "Hello!";
    read_all(&source, again, sizeof(again));
    assert_string_not_equal(out, again);
    source.text = "\xff";
    read_all(&source, out, sizeof(out));
    assert_string_equal(out, "1!|END");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_file), cmocka_unit_test(test_map),
                                       cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

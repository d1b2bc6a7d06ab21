/* SPDX-License-Identifier: MIT */
/* Members are made once, when somebody looks; what was put counts; and the object of a caller is not touched. */
#include "support.h"

#include "platforms/pick.h"
#include "platforms/program.h"
#include "platforms/program_input.h"
#include "runtime/die.h"

static const char *const names[] = {"a", "b", NULL};
static const char printed_a[] = "{\"x\":1}";

static json_t *make(const void *facts, size_t i)
{
    (**(int *const *)facts)++;
    return i == 0 ? json_pack("{s:i}", "x", 1) : json_string("made");
}

static bool strings_only;

static bool printed(const void *facts, size_t i, struct program_printed *out)
{
    (void)facts;
    *out = (struct program_printed){printed_a, strlen(printed_a), strings_only};
    return i == 0;
}

static const struct program_members members = {names, make, printed};

static struct program_input *lazy(int *count)
{
    int **facts = xmalloc(sizeof *facts);
    *facts = count;
    *count = 0;
    return program_input_lazy(&members, facts);
}

static void members_are_made_once(void **state)
{
    (void)state;
    int count;
    struct program_input *input = lazy(&count);
    assert_null(program_input_get(input, "c"));
    assert_int_equal(count, 0);
    json_t *b = program_input_get(input, "b");
    assert_string_equal(json_string_value(b), "made");
    assert_ptr_equal(program_input_get(input, "b"), b);
    assert_int_equal(count, 1);
    json_t *whole = program_input_json(input);
    assert_int_equal(json_object_size(whole), 2);
    assert_int_equal(count, 2);
    assert_ptr_equal(program_input_get(input, "b"), b);
    assert_true(program_input_is_object(input));
    program_input_free(&input);
    assert_null(input);
}

static void what_was_put_counts(void **state)
{
    (void)state;
    int count;
    for (int whole = 0; whole < 2; whole++) { /* in the list, and in the object */
        struct program_input *input = lazy(&count);
        if (whole) program_input_json(input);
        program_input_put(input, "b", json_string("put"));
        program_input_put(input, "c", json_true());
        program_input_put(input, "d", json_true());
        program_input_put(input, "d", NULL);
        program_input_put(input, "e", NULL);
        assert_string_equal(json_string_value(program_input_get(input, "b")), "put");
        assert_true(json_is_true(program_input_get(input, "c")));
        assert_null(program_input_get(input, "d"));
        assert_int_equal(json_object_size(program_input_json(input)), 3);
        assert_string_equal(json_string_value(json_object_get(program_input_json(input), "b")), "put");
        program_input_free(&input);
    }
}

static void the_objects_owner_sees_no_change(void **state)
{
    (void)state;
    json_t *object = json_of("{'a': 1}");
    struct program_input *input = program_input_new(object);
    assert_ptr_equal(program_input_json(input), object);
    program_input_put(input, "b", json_true());
    assert_true(json_is_true(program_input_get(input, "b")));
    program_input_free(&input);
    assert_int_equal(json_object_size(object), 1);
    json_decref(object);
}

static char *print(struct program_input *input, const char *text)
{
    struct canonical_text out = {0};
    struct pick *pick = pick_new(text);
    assert_non_null(pick);
    assert_true(pick_print(pick, input, PROGRAM_RESULT_MAX_BYTES, PROGRAM_RESULT_DEPTH_MAX, &out));
    pick_free(&pick);
    return out.bytes;
}

static void assert_prints(struct program_input *input, const char *text, const char *wanted)
{
    char *got = print(input, text);
    assert_string_equal(got, wanted);
    free(got);
}

/* The bytes that are known are those of the whole member, and only as long as it is the same. */
static void known_bytes_stand_for_their_member(void **state)
{
    (void)state;
    int count;
    struct program_printed known;
    struct program_input *input = lazy(&count);
    assert_true(program_input_printed(input, "a", &known));
    assert_ptr_equal(known.bytes, printed_a);
    assert_false(program_input_printed(input, "b", &known));
    assert_false(program_input_printed(input, "c", &known));
    strings_only = true;
    assert_prints(input, "[.a]", "[{\"x\":1}]");
    assert_int_equal(count, 0); /* no value had to be made */
    strings_only = false;
    assert_prints(input, "{d: .a, b: .b}", "{\"b\":\"made\",\"d\":{\"x\":1}}");
    assert_prints(input, "[.a.x]", "[1]");
    program_input_put(input, "a", json_string("other"));
    assert_false(program_input_printed(input, "a", &known));
    assert_prints(input, "[.a]", "[\"other\"]");
    program_input_json(input);
    assert_prints(input, "[.a]", "[\"other\"]");
    program_input_free(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_made_once),
        cmocka_unit_test(what_was_put_counts),
        cmocka_unit_test(the_objects_owner_sees_no_change),
        cmocka_unit_test(known_bytes_stand_for_their_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

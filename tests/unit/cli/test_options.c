/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "cli/options.h"

#define WORDS_MAX 16

/* Splits at single blanks; the words live in storage. */
static bool parse(const char *line, char *storage, struct options *options, struct errbuf *err)
{
    char *argv[WORDS_MAX];
    int argc = 0;
    size_t len = strlen(line) + 1;
    memcpy(storage, line, len);
    for (char *word = storage; word && argc < WORDS_MAX; word = word ? word + 1 : NULL) {
        argv[argc++] = word;
        word = strchr(word, ' ');
        if (word) *word = '\0';
    }
    err->text[0] = '\0';
    return options_parse(argc, argv, options, err);
}

static void test_good(void **state)
{
    (void)state;
    char storage[500];
    struct options options;
    struct errbuf err;
    assert_true(
        parse("landfall submit f.json --to a/b c/d a/b --at 5m --hold --config=x.json", storage, &options, &err));
    assert_int_equal(options.verb, VERB_SUBMIT);
    assert_int_equal(options.operand_count, 1);
    assert_string_equal(options.operand[0], "f.json");
    assert_int_equal(options.to_count, 2); /* each once */
    assert_string_equal(options.to[1], "c/d");
    assert_int_equal(options.when[FLAG_AT_ID].ms, 300000);
    assert_true(options_has(&options, FLAG_HOLD_ID));
    assert_false(options_has(&options, FLAG_JSON_ID));
    assert_string_equal(options.value[FLAG_CONFIG_ID], "x.json");

    assert_true(parse("landfall platform --json try a/b item.json", storage, &options, &err)); /* a verb of two words */
    assert_int_equal(options.verb, VERB_PLATFORM_TRY);
    assert_int_equal(options.operand_count, 2);
    assert_string_equal(options.operand[0], "a/b");

    assert_true(parse("landfall --json status", storage, &options, &err)); /* flags may come first */
    assert_int_equal(options.verb, VERB_STATUS);
    assert_true(options_has(&options, FLAG_JSON_ID));

    assert_true(parse("landfall submit --to a/b -- -f.json", storage, &options, &err));
    assert_string_equal(options.operand[0], "-f.json");
    assert_true(parse("landfall submit --to a/b --json -", storage, &options, &err));
    assert_string_equal(options.operand[0], "-");
    assert_true(
        parse("landfall submit --text -- --to a/b", storage, &options, &err)); /* a value may look like a flag */
    assert_string_equal(options.value[FLAG_TEXT_ID], "--");
    assert_true(parse("landfall report --expect 12 --since 2026-09-01T09:00:00Z", storage, &options, &err));
    assert_int_equal(options.number[FLAG_EXPECT_ID], 12);
    assert_false(options.when[FLAG_SINCE_ID].span);
    assert_true(parse("landfall drain --config x --until-idle --what", storage, &options, &err));
    assert_int_equal(options.operand_count, 4); /* all of it belongs to the program that is started */
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"landfall", "a verb"},
        {"landfall publish", "\"publish\" is no verb"},
        {"landfall platform", "missing: its second word; see landfall platform --help"},
        {"landfall platform submit", "\"submit\" is no verb of platform"},
        {"landfall list", "\"list\" is no verb"},
        {"landfall platform try a/b", "missing: CHANNEL ITEM; see landfall platform try --help"},
        {"landfall submit --frobnicate", "\"--frobnicate\" is no flag"},
        {"landfall submit --to", "--to needs a value"},
        {"landfall submit --to --json", "--to needs a value"},
        {"landfall submit --to nochannel", "\"nochannel\" is no channel"},
        {"landfall submit --to a/b f.json", "\"f.json\" is no channel"},
        {"landfall submit a b", "\"b\" is one word too many"},
        {"landfall submit --at", "--at needs a value"},
        {"landfall submit --at soon", "\"soon\" is no time"},
        {"landfall submit --hold=yes", "--hold takes no value"},
        {"landfall submit --json --json", "--json was given twice"},
        {"landfall submit --channel a/b", "--channel does not belong to landfall submit"},
        {"landfall report --expect -1", "\"-1\" is no whole number"},
        {"landfall report --expect 9999999999999999999", "is no whole number"},
        {"landfall show", "missing: DELIVERY"},
        {"landfall status \x1b[2J", "\\x1b[2J"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char storage[500];
        struct options options;
        struct errbuf err;
        if (parse(cases[i].line, storage, &options, &err)) fail_msg("%s: taken", cases[i].line);
        assert_contains(err.text, cases[i].says);
        assert_contains(err.text, "--help");
        assert_null(strchr(err.text, '\x1b'));
    }
}

static void test_help_wins(void **state)
{
    (void)state;
    char storage[500];
    struct options options;
    struct errbuf err;
    assert_true(parse("landfall submit --frobnicate --help", storage, &options, &err));
    assert_true(options.help);
    assert_int_equal(options.verb, VERB_SUBMIT);
    assert_true(parse("landfall --help", storage, &options, &err));
    assert_int_equal(options.verb, VERB_COUNT);
    assert_true(parse("landfall --version", storage, &options, &err));
    assert_true(options.version);
    assert_false(parse("landfall status -- --help", storage, &options, &err));
}

/* Names are given once, in a form that the parser can read, and everything has words for people. */
static void test_table(void **state)
{
    (void)state;
    for (int i = 0; i < VERB_COUNT; i++) {
        const struct verb *verb = &verb_table[i];
        assert_int_equal(verb_find(verb->name), i);
        assert_true(strlen(verb->summary) > 10 && strlen(verb->details) > 10);
        assert_int_equal(strncmp(verb->example, "landfall ", 9), 0);
        assert_true(verb->operands_min <= verb->operands_max && verb->operands_max <= OPTIONS_OPERANDS_MAX);
    }
    for (int i = 0; i < FLAG_COUNT; i++) {
        const struct flag *flag = &flag_table[i];
        assert_int_equal(flag_find(flag->name, strlen(flag->name)), i);
        assert_int_equal(strncmp(flag->name, "--", 2), 0);
        assert_int_equal(flag->kind == FLAG_SWITCH, flag->value[0] == '\0');
        assert_true(flag->verbs != 0 && flag->verbs < 1u << VERB_COUNT);
        assert_true(strlen(flag->help) > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
                                       cmocka_unit_test(test_help_wins), cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

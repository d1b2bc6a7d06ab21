/* SPDX-License-Identifier: MIT */
/* Redis key names, all of them, and the spread of channels over partitions. */
#include "tests/unit/keys/test.h"

#include "keys/names.h"

static void test_all_names(void **state)
{
    (void)state;
    static const struct {
        enum names_kind kind;
        const char *suffix;
        const char *key;
    } cases[] = {
        {NAMES_QUEUE, NULL, "lf:{0}:queue"},
        {NAMES_DELIVERY, "mastodon/brand/a:b c", "lf:{0}:delivery:mastodon/brand/a:b c"},
        {NAMES_REQUEST, "mastodon/brand/a", "lf:{0}:request:mastodon/brand/a"},
        {NAMES_LEASE, "mastodon/brand/a", "lf:{0}:lease:mastodon/brand/a"},
        {NAMES_AGENDA, NULL, "lf:{0}:agenda"},
        {NAMES_WAITING, "mastodon/brand", "lf:{0}:waiting:mastodon/brand"},
        {NAMES_JOURNAL, NULL, "lf:{0}:journal"},
        {NAMES_UNCERTAIN, "mastodon/brand", "lf:{0}:uncertain:mastodon/brand"},
        {NAMES_WALK, "mastodon/brand", "lf:{0}:walk:mastodon/brand"},
        {NAMES_POSTS, "mastodon/brand", "lf:{0}:posts:mastodon/brand"},
        {NAMES_CHANNEL, "mastodon/brand", "lf:{0}:channel:mastodon/brand"},
        {NAMES_SESSION, "mastodon/brand", "lf:{0}:session:mastodon/brand"},
        {NAMES_LOGIN, "mastodon/brand", "lf:{0}:login:mastodon/brand"},
        {NAMES_CHANNELS, NULL, "lf:{0}:channels"},
        {NAMES_COUNTS, NULL, "lf:{0}:counts"},
        {NAMES_EPOCH, NULL, "lf:{0}:epoch"},
        {NAMES_OUTCOMES, NULL, "lf:{0}:outcomes"},
        {NAMES_REFUSED, NULL, "lf:{0}:refused"},
        {NAMES_AUDIT, NULL, "lf:{0}:audit"},
        {NAMES_WORKER, "host-1", "lf:{0}:worker:host-1"},
    };
    struct names names;
    char err[KEYS_ERR_BYTES];
    assert_true(names_init(&names, NAMES_DEFAULT_PREFIX, 0, err));
    assert_int_equal(COUNT(cases), NAMES_KIND_COUNT);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char key[NAMES_KEY_BYTES];
        assert_int_equal(cases[i].kind, i);
        assert_int_equal(names_key(&names, cases[i].kind, cases[i].suffix, key, sizeof(key)), strlen(cases[i].key));
        assert_string_equal(key, cases[i].key);
        assert_contains(key, names_word(cases[i].kind));
    }
}

static void test_longest_name_fits(void **state)
{
    (void)state;
    struct names names;
    char err[KEYS_ERR_BYTES];
    char suffix[IDENTITY_NAME_BYTES];
    char key[NAMES_KEY_BYTES];
    memset(suffix, 'x', sizeof(suffix) - 1);
    suffix[sizeof(suffix) - 1] = '\0';
    assert_true(names_init(&names, "abcdefghij_-1234", NAMES_PARTITIONS_MAX - 1, err));
    assert_true(names_key(&names, NAMES_DELIVERY, suffix, key, sizeof(key)) < sizeof(key));
    assert_memory_equal(key, "abcdefghij_-1234:{16383}:delivery:xxx", 37);
}

static void test_prefixes(void **state)
{
    (void)state;
    static const struct {
        const char *prefix;
        unsigned partition;
        const char *error;
    } cases[] = {
        {"lf", 0, NULL},
        {"a", 7, NULL},
        {"l_f-2", 16383, NULL},
        {"abcdefghijklmnop", 0, NULL},
        {"abcdefghijklmnopq", 0, "must be 1 to 16 of"},
        {"", 0, "must be 1 to 16 of"},
        {"1a", 0, "beginning with a letter"},
        {"_a", 0, "beginning with a letter"},
        {"-a", 0, "beginning with a letter"},
        {"Lf", 0, "prefix \"Lf\""},
        {"l:f", 0, "prefix \"l:f\""},
        {"{lf}", 0, "prefix \"{lf}\""},
        {"lf\n", 0, "prefix \"lf\\x0a\""},
        {"lf", 16384, "partition 16384 does not exist"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct names names;
        char err[KEYS_ERR_BYTES] = "";
        bool ok = names_init(&names, cases[i].prefix, cases[i].partition, err);
        if (ok != !cases[i].error) fail_msg("%s: %s", cases[i].prefix, ok ? "was taken" : err);
        if (ok) continue;
        assert_clean_text(err);
        assert_contains(err, cases[i].error);
    }
}

static void test_partitions(void **state)
{
    (void)state;
    static const struct {
        const char *channel;
        unsigned count;
        unsigned partition;
    } cases[] = {
        /* the check value of CRC-16/XMODEM */
        {"123456789", NAMES_PARTITIONS_MAX, 0x31c3},
        /* what CLUSTER KEYSLOT answers */
        {"foo", NAMES_PARTITIONS_MAX, 12182},
        {"bar", NAMES_PARTITIONS_MAX, 5061},
        {"foo", 3, 12182 % 3},
        {"bar", 3, 5061 % 3},
        {"mastodon/brand", 1, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(names_partition(cases[i].channel, cases[i].count), cases[i].partition);

    /* Many accounts of one platform do not all fall on one partition. */
    unsigned hits[4] = {0};
    for (int i = 0; i < 400; i++) {
        char channel[IDENTITY_CHANNEL_BYTES];
        snprintf(channel, sizeof(channel), "mastodon/account%d", i);
        hits[names_partition(channel, 4)]++;
    }
    for (size_t i = 0; i < COUNT(hits); i++)
        assert_in_range(hits[i], 60, 140);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_names),
        cmocka_unit_test(test_longest_name_fits),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

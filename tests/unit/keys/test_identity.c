/* SPDX-License-Identifier: MIT */
/* Channels, item ids and delivery names: what is taken, what is refused, and with which words. */
#include "tests/unit/keys/test.h"

#include "keys/identity.h"

#define X10 "xxxxxxxxxx"
#define X30 X10 X10 X10
#define X60 X30 X30

/* error NULL: taken; else a part of the error text */
static const struct {
    const char *channel;
    const char *error;
} channels[] = {
    {"mastodon/brand", NULL},
    {"x/y", NULL},
    {"dev-to/Brand.2_b@ex-ample", NULL},
    {"webhook/0", NULL},
    {"a" X30 "/a", NULL},
    {"a/a" X60 "1", NULL},
    {"aa/a" X60, NULL},
    {"a" X30 "/" X30 "12", NULL},
    {"a" X30 "/" X30 "123", "longer than 64 bytes"},
    {"aa" X30 "/a", "the platform before the slash"},
    {"a/a" X60 "123", "longer than 64 bytes"},
    {"", "has no slash"},
    {"mastodon", "write it as platform/account"},
    {"/brand", "the platform before the slash"},
    {"mastodon/", "the account after the slash"},
    {"Mastodon/brand", "the platform before the slash"},
    {"1mastodon/brand", "the platform before the slash"},
    {"-mastodon/brand", "the platform before the slash"},
    {"masto don/brand", "the platform before the slash"},
    {"mastodon/.brand", "the account after the slash"},
    {"mastodon/-brand", "the account after the slash"},
    {"mastodon/@brand", "the account after the slash"},
    {"mastodon/bra/nd", "the account after the slash"},
    {"mastodon/bra nd", "the account after the slash"},
    {"mastodon/brand\n", "\"mastodon/brand\\x0a\""},
    {"mastodon/br\xc3\xa4nd", "br\\xc3\\xa4nd"},
    {"mastodon/{1}", "the account after the slash"},
    {"mastodon/br\xff\x1b[31m", "\\xff\\x1b[31m"},
};

static void test_channels(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(channels); i++) {
        char err[KEYS_ERR_BYTES] = "";
        bool ok = identity_channel_check(channels[i].channel, err);
        if (ok != !channels[i].error) fail_msg("%s: %s", channels[i].channel, ok ? "was taken" : err);
        if (ok) continue;
        assert_clean_text(err);
        assert_contains(err, channels[i].error);
    }
}

static void test_account(void **state)
{
    (void)state;
    assert_string_equal(identity_account("mastodon/brand"), "brand");
}

/* Texts with an embedded NUL give their length, the others are measured. */
static const struct {
    const char *in;
    const char *out;
    const char *error;
    size_t len;
} items[] = {
    {"2026/hello", "2026/hello", NULL, 0},
    {"https://ex.test/a?b=1&c=%20#d", "https://ex.test/a?b=1&c=%20#d", NULL, 0},
    {"tag:ex.test,2026:a b", "tag:ex.test,2026:a b", NULL, 0},
    {"/", "/", NULL, 0},
    {"{0}", "{0}", NULL, 0},
    {"\"quoted\\", "\"quoted\\", NULL, 0},
    /* one character in two spellings */
    {"caf\xc3\xa9", "caf\xc3\xa9", NULL, 0},
    {"cafe\xcc\x81", "caf\xc3\xa9", NULL, 0},
    /* marks in the other order; both with the same result */
    {"q\xcc\x87\xcc\xa3", "q\xcc\xa3\xcc\x87", NULL, 0},
    /* Korean: han-geul as conjoining letters */
    {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xb3\xe1\x86\xaf", "\xed\x95\x9c\xea\xb8\x80", NULL, 0},
    {"\xed\x95\x9c\xea\xb8\x80", "\xed\x95\x9c\xea\xb8\x80", NULL, 0},
    /* an Angstrom sign is the letter, canonically */
    {"\xe2\x84\xab", "\xc3\x85", NULL, 0},
    /* compatibility forms stay: fi ligature, circled one, trade mark, full-width a */
    {"\xef\xac\x81", "\xef\xac\x81", NULL, 0},
    {"\xe2\x91\xa0", "\xe2\x91\xa0", NULL, 0},
    {"\xe2\x84\xa2", "\xe2\x84\xa2", NULL, 0},
    {"\xef\xbd\x81", "\xef\xbd\x81", NULL, 0},
    /* outside the first plane */
    {"\xf0\x9f\x9a\x80", "\xf0\x9f\x9a\x80", NULL, 0},
    {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", NULL, 0},
    /* sharp s, dotless i: case is not touched */
    {"STRASSE \xc3\x9f I\xc4\xb1", "STRASSE \xc3\x9f I\xc4\xb1", NULL, 0},

    {"", NULL, "item id is empty", 0},
    {" a", NULL, "begins or ends with white space (U+0020)", 0},
    {"a ", NULL, "begins or ends with white space (U+0020)", 0},
    {" ", NULL, "trim it", 0},
    {"a\xc2\xa0", NULL, "(U+00A0)", 0},
    {"\xe3\x80\x80"
     "a",
     NULL, "(U+3000)", 0},
    {"\xef\xbb\xbf"
     "a",
     NULL, "(U+FEFF)", 0},
    {"a\nb", NULL, "control character U+000A at byte 2", 0},
    {"a\rb", NULL, "control character U+000D", 0},
    {"a\r\n", NULL, "control character U+000D", 0},
    {"a\tb", NULL, "control character U+0009", 0},
    {"a\x1b[31m", NULL, "\"a\\x1b[31m\"", 0},
    {"a\x7f", NULL, "control character U+007F", 0},
    {"a\xc2\x85"
     "b",
     NULL, "control character U+0085", 0},
    {"a\xc2\x9f", NULL, "control character U+009F", 0},
    {"a\xe2\x80\xa8"
     "b",
     NULL, "control character U+2028", 0},
    {"a\xe2\x80\xa9"
     "b",
     NULL, "control character U+2029", 0},
    {"a\0b", NULL, "control character U+0000 at byte 2", 3},
    {"\0", NULL, "control character U+0000", 1},
    /* not UTF-8: lone bytes, overlong slash and NUL, surrogates, beyond U+10FFFF, cut short, Latin-1 */
    {"\xff", NULL, "not UTF-8 from byte 1 on", 0},
    {"a\x80", NULL, "not UTF-8 from byte 2 on", 0},
    {"\xc0\xaf", NULL, "not UTF-8", 0},
    {"\xc0\x80", NULL, "not UTF-8", 0},
    {"\xe0\x80\xaf", NULL, "not UTF-8", 0},
    {"\xf0\x80\x80\xaf", NULL, "not UTF-8", 0},
    {"\xed\xa0\x80", NULL, "not UTF-8", 0},
    {"\xed\xb0\x80", NULL, "not UTF-8", 0},
    {"\xed\xa0\xbd\xed\xba\x80", NULL, "not UTF-8", 0},
    {"\xf4\x90\x80\x80", NULL, "not UTF-8", 0},
    {"\xf8\x88\x80\x80\x80", NULL, "not UTF-8", 0},
    {"a\xe2\x82", NULL, "not UTF-8 from byte 2 on", 0},
    {"caf\xe9", NULL, "\"caf\\xe9\" is not UTF-8 from byte 4 on", 0},
};

static void test_items(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(items); i++) {
        char out[IDENTITY_ID_BYTES];
        char err[KEYS_ERR_BYTES] = "";
        size_t len = items[i].len ? items[i].len : strlen(items[i].in);
        /* A copy of exactly this length, so that a sanitizer sees a read behind the end. */
        char *copy = malloc(len ? len : 1);
        memcpy(copy, items[i].in, len);
        bool ok = identity_item_normalise(copy, len, out, err);
        free(copy);
        if (ok != !items[i].error) fail_msg("case %zu: %s", i, ok ? "was taken" : err);
        if (ok) {
            assert_string_equal(out, items[i].out);
        } else {
            assert_clean_text(err);
            assert_contains(err, items[i].error);
        }
    }
}

static void test_item_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        size_t count;
        size_t out_len; /* 0: refused */
    } cases[] = {
        {"x", 200, 200},
        {"x", 201, 0},
        {"\xc3\xa9", 100, 200},
        {"\xc3\xa9", 101, 0},
        {"e\xcc\x81", 100, 200}, /* 300 bytes come, 200 stay */
        {"e\xcc\x81", 101, 0},
        {"\xf0\x9f\x9a\x80", 50, 200},
        {"\xf0\x9f\x9a\x80", 51, 0},
        /* the sharpest known shortening: seven bytes become two */
        {"\xe1\xbe\xbe\xcc\x88\xcc\x81", 100, 200},
        {"\xe1\xbe\xbe\xcc\x88\xcc\x81", 101, 0},
        /* U+0958 grows: three bytes become six */
        {"\xe0\xa5\x98", 33, 198},
        {"\xe0\xa5\x98", 34, 0},
        {"x", 1 << 20, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t unit_len = strlen(cases[i].unit);
        char *in = malloc(unit_len * cases[i].count);
        char out[IDENTITY_ID_BYTES];
        char err[KEYS_ERR_BYTES] = "";
        for (size_t n = 0; n < cases[i].count; n++)
            memcpy(in + n * unit_len, cases[i].unit, unit_len);
        bool ok = identity_item_normalise(in, unit_len * cases[i].count, out, err);
        free(in);
        if (ok != (cases[i].out_len > 0)) fail_msg("case %zu: %s", i, ok ? "was taken" : err);
        if (ok) {
            assert_int_equal(strlen(out), cases[i].out_len);
        } else {
            assert_clean_text(err);
            assert_contains(err, "at most 200 are allowed");
        }
    }
}

/* Any bytes: refused with a clean error, or a normal form that is its own normal form and within its bounds. */
static void test_any_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "ae \xcc\x81\xcc\xa3\xc3\xa9\xe1\x84\x92\xe1\x85\xa1\xf0\x9f\x9a\x80\n/";
    uint64_t seed = 0x9e3779b97f4a7c15;
    size_t taken = 0;
    for (int i = 0; i < 20000; i++) {
        char in[12];
        char once[IDENTITY_ID_BYTES];
        char twice[IDENTITY_ID_BYTES];
        char err[KEYS_ERR_BYTES] = "";
        size_t len = 1 + (size_t)i % sizeof(in);
        size_t start = 0;
        for (size_t k = 0; k < len; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            /* mostly the next byte, so that whole characters come about */
            start = seed % 3 ? start + 1 : (size_t)(seed >> 8);
            in[k] = bytes[start % (sizeof(bytes) - 1)];
        }
        if (!identity_item_normalise(in, len, once, err)) {
            assert_clean_text(err);
            continue;
        }
        taken++;
        assert_true(identity_item_normalise(once, strlen(once), twice, err));
        assert_string_equal(once, twice);
    }
    assert_in_range(taken, 1000, 19000);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *channel;
        const char *id;
        const char *error;
    } cases[] = {
        {"mastodon/brand/2026/hello", "mastodon/brand", "2026/hello", NULL},
        {"mastodon/brand/https://ex.test/a", "mastodon/brand", "https://ex.test/a", NULL},
        {"mastodon/brand//", "mastodon/brand", "/", NULL},
        {"mastodon/brand/cafe\xcc\x81", "mastodon/brand", "caf\xc3\xa9", NULL},
        {"", NULL, NULL, "platform/account/item-id"},
        {"mastodon/brand", NULL, NULL, "needs three parts"},
        {"mastodon/brand/", NULL, NULL, "item id is empty"},
        {"//x", NULL, NULL, "the platform before the slash"},
        {"mastodon//x", NULL, NULL, "the account after the slash"},
        {"mastodon/" X60 X10 "/x", NULL, NULL, "longer than 64 bytes"},
        {"mastodon/brand/\xff", NULL, NULL, "not UTF-8"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct delivery_id id;
        char err[KEYS_ERR_BYTES] = "";
        bool ok = identity_parse(cases[i].name, &id, err);
        if (ok != !cases[i].error) fail_msg("%s: %s", cases[i].name, ok ? "was taken" : err);
        if (!ok) {
            assert_clean_text(err);
            assert_contains(err, cases[i].error);
            continue;
        }
        assert_string_equal(id.channel, cases[i].channel);
        assert_string_equal(id.id, cases[i].id);

        /* Writing it and reading it again gives the same delivery. */
        char name[IDENTITY_NAME_BYTES];
        struct delivery_id again;
        size_t len = identity_name(&id, name);
        assert_int_equal(len, strlen(name));
        assert_true(identity_parse(name, &again, err));
        assert_string_equal(again.channel, id.channel);
        assert_string_equal(again.id, id.id);
    }
}

static void test_longest_name_fits(void **state)
{
    (void)state;
    struct delivery_id id = {.channel = "a/a" X60 "1"};
    char name[IDENTITY_NAME_BYTES];
    memset(id.id, 'x', IDENTITY_ID_BYTES - 1);
    assert_int_equal(identity_name(&id, name), 64 + 1 + 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels),          cmocka_unit_test(test_account),   cmocka_unit_test(test_items),
        cmocka_unit_test(test_item_lengths),      cmocka_unit_test(test_any_bytes), cmocka_unit_test(test_names),
        cmocka_unit_test(test_longest_name_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

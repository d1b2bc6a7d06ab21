/* SPDX-License-Identifier: MIT */
/* Which addresses are one address, which are not, and which are none. */
#include "tests/unit/keys/test.h"

#include "platforms/url.h"
#include "runtime/random.h"

static const struct {
    const char *url;
    const char *normal; /* NULL: no address */
} forms[] = {
    {"https://ex.test", "https://ex.test/"},
    {"https://ex.test/", "https://ex.test/"},
    {"https://ex.test?", "https://ex.test/"},
    {"https://ex.test#top", "https://ex.test/"},
    {"HTTPS://Ex.TEST:443/p/?utm_source=a&b=1#top", "https://ex.test/p/?b=1"},
    {"https://ex.test/p/?b=1&utm_campaign=", "https://ex.test/p/?b=1"},
    {"https://ex.test/p/?utm_source=a&&UTM_Medium=b&fbclid=c", "https://ex.test/p/"},
    {"https://ex.test/p?%75tm_source=a", "https://ex.test/p"},
    {"https://ex.test/p?utm=a&utmost_x=1&ref=2", "https://ex.test/p?utm=a&utmost_x=1&ref=2"},
    {"https://ex.test/p?b=2&a=1", "https://ex.test/p?b=2&a=1"},
    {"https://ex.test/p?a=1?b=2", "https://ex.test/p?a=1?b=2"},
    {"http://ex.test:80/a", "http://ex.test/a"},
    {"http://ex.test:0080/a", "http://ex.test/a"},
    {"http://ex.test:/a", "http://ex.test/a"},
    {"http://ex.test:443/a", "http://ex.test:443/a"},
    {"https://ex.test:08443/a", "https://ex.test:8443/a"},
    {" \r\n https://ex.test/a \t", "https://ex.test/a"},
    {"https://ex.test/%7Euser/%c3%a9%2f%20", "https://ex.test/~user/%C3%A9%2F%20"},
    {"https://ex.test/\xc3\xa9", "https://ex.test/%C3%A9"},
    {"https://ex.test/100%", "https://ex.test/100%25"},
    {"https://ex.test/%zz%4", "https://ex.test/%25zz%254"},
    {"https://ex.test/a|b[c]", "https://ex.test/a%7Cb%5Bc%5D"},
    {"https://ex.test/a/./b/../c", "https://ex.test/a/c"},
    {"https://ex.test/a/b/..", "https://ex.test/a/"},
    {"https://ex.test/a/b/.", "https://ex.test/a/b/"},
    {"https://ex.test/../../a", "https://ex.test/a"},
    {"https://ex.test/a/%2e%2E/b", "https://ex.test/b"},
    {"https://ex.test/a//b", "https://ex.test/a//b"},
    {"https://ex.test/a/..b/...", "https://ex.test/a/..b/..."},
    {"https://b\xc3\xbc"
     "cher.example/",
     "https://xn--bcher-kva.example/"},
    {"https://B\xc3\x9c"
     "CHER.example/",
     "https://xn--bcher-kva.example/"},
    {"https://bu\xcc\x88"
     "cher.example/",
     "https://xn--bcher-kva.example/"},
    {"https://XN--bcher-kva.example/", "https://xn--bcher-kva.example/"},
    {"https://fa\xc3\x9f.example/", "https://xn--fa-hia.example/"},
    {"https://a_b.example/", "https://a_b.example/"},
    {"https://[2001:DB8::1]:443/", "https://[2001:db8::1]/"},
    {"https://[::1]:8080/", "https://[::1]:8080/"},
    {"https://User@ex.test/", "https://User@ex.test/"},
    {"https://ex.test\\a", "https://ex.test/a"},
    {"https://ex\xef\xbc\x8e"
     "test/",
     "https://ex.test/"},                    /* a full stop as wide as an ideograph */
    {"https://ex.test\xe2\x80\x80x/", NULL}, /* characters that stand for a space, "/", "@" and ":" */
    {"https://ex.test\xef\xbc\x8fx/", NULL},
    {"https://a\xef\xbc\xa0"
     "ex.test/",
     NULL},
    {"https://ex.test\xef\xbc\x9a"
     "80/",
     NULL},
    {"", NULL},
    {"https://", NULL},
    {"https:///path", NULL},
    {"https://:443/", NULL},
    {"https://ex.test:port/", NULL},
    {"https://ex.test:65536/", NULL},
    {"https://[::1/", NULL},
    {"https://[::1]x/", NULL},
    {"ftp://ex.test/", NULL},
    {"mailto:a@ex.test", NULL},
    {"javascript:alert(1)", NULL},
    {"ex.test/a", NULL},
    {"//ex.test/a", NULL},
    {"https://ex.test/a b", NULL},
    {"https://ex.test/a\nb", NULL},
    {"https://ex.te\x01st/", NULL},
};

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++) {
        char *normal = url_normal(forms[i].url);
        if ((normal == NULL) != (forms[i].normal == NULL) || (normal != NULL && strcmp(normal, forms[i].normal) != 0))
            fail_msg("%s: %s", forms[i].url, normal != NULL ? normal : "(none)");
        if (normal != NULL) { /* a normal form is its own normal form */
            char *again = url_normal(normal);
            assert_non_null(again);
            assert_string_equal(again, normal);
            free(again);
        }
        free(normal);
    }
}

/* Both are addresses, and of one normal form. */
static bool same(const char *a, const char *b)
{
    char *normal_a = url_normal(a);
    char *normal_b = url_normal(b);
    bool equal = normal_a != NULL && normal_b != NULL && strcmp(normal_a, normal_b) == 0;
    free(normal_a);
    free(normal_b);
    return equal;
}

static void test_same(void **state)
{
    (void)state;
    assert_true(same("https://Ex.test:443/p/?utm_source=a&b=1#top", "https://ex.test/p/?b=1"));
    assert_true(same("https://ex.test", "https://ex.test/"));
    assert_true(same("https://ex.test/%C3%A9", "https://ex.test/%c3%a9"));
    assert_false(same("http://ex.test/p/?b=1", "https://ex.test/p/?b=1"));
    assert_false(same("https://ex.test/p?b=1", "https://ex.test/p/?b=1"));
    assert_false(same("https://www.ex.test/", "https://ex.test/"));
    assert_false(same("https://ex.test/A", "https://ex.test/a"));
    assert_false(same("https://ex.test/?q=a+b", "https://ex.test/?q=a%20b"));
    assert_false(same("no address", "no address"));
}

static void test_leaves_the_buffer_alone(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, URL_NORMAL_MAX_BYTES);
    buf_append_text(&out, "kept");
    assert_false(url_normalize("https://:1/", 11, &out));
    assert_false(url_normalize("mailto:a", 8, &out));
    assert_string_equal(buf_text(&out), "kept");
    assert_true(url_normalize("https://ex.test/..", 18, &out));
    assert_string_equal(buf_text(&out), "kepthttps://ex.test/");
    buf_clear(&out);
    assert_true(url_normalize("https://ex.test/%41", 18, &out)); /* len is the end, no NUL is needed */
    assert_string_equal(buf_text(&out), "https://ex.test/%254");
    buf_fini(&out);
}

static void test_bounds(void **state)
{
    (void)state;
    char *url = malloc(URL_MAX_BYTES + 2);
    assert_non_null(url);
    memset(url, '\xff', URL_MAX_BYTES + 1); /* every byte becomes three */
    memcpy(url, "https://e/", 10);
    url[URL_MAX_BYTES] = '\0';
    char *normal = url_normal(url);
    assert_non_null(normal);
    assert_int_equal(strlen(normal), 10 + 3 * (URL_MAX_BYTES - 10));
    free(normal);
    url[URL_MAX_BYTES] = 'a';
    url[URL_MAX_BYTES + 1] = '\0';
    assert_null(url_normal(url));
    free(url);
}

/* Any bytes: an answer that is its own normal form, or none. */
static void test_random_bytes(void **state)
{
    (void)state;
    static const char alphabet[] = "aA0/.?#&=%2eE@:[]\\ \t\xc3\xa9\xff~_-+utm_";
    srandom(20260921);
    for (int round = 0; round < 20000; round++) {
        char url[64] = "https://";
        const size_t len = 8 + (size_t)(random() % 50);
        for (size_t i = 8; i < len; i++)
            url[i] = round % 2 ? alphabet[(size_t)random() % (sizeof alphabet - 1)] : (char)(1 + random() % 255);
        char *normal = url_normal(url);
        if (normal == NULL) continue;
        char *again = url_normal(normal);
        if (again == NULL || strcmp(again, normal) != 0)
            fail_msg("%s: %s, then %s", url, normal, again != NULL ? again : "(none)");
        free(again);
        free(normal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_leaves_the_buffer_alone),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

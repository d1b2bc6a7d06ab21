/* SPDX-License-Identifier: MIT */
/* A listed post's HTML as text and links; any bytes give something bounded. */
#include "tests/unit/keys/test.h"

#include "platforms/html.h"
#include "platforms/url.h"

static const struct {
    const char *html;
    const char *text;
    const char *links; /* joined by "|" */
} cases[] = {
    {"", "", ""},
    {"plain", "plain", ""},
    {"<p>Hello &amp; welcome</p>", "Hello & welcome\n", ""},
    {"<p>a</p><p>b<br>c<br/>d</p>", "a\nb\nc\nd\n", ""},
    {"hello<br>", "hello\n", ""},
    {"<ul><li>one</li><li>two</li></ul>", "one\ntwo\n", ""},
    /* parts of a link that are hidden or shortened for the eye */
    {"<p>Read <a href=\"https://ex.test/a?x=1&amp;y=2#s\"><span class=\"invisible\">https://</span>"
     "<span class=\"ellipsis\">ex.test/a?x=1&amp;</span><span class=\"invisible\">y=2#s</span></a></p>",
     "Read https://ex.test/a?x=1&y=2#s\n", "https://ex.test/a?x=1&y=2#s"},
    {"<a href=\"https://ex.test/?a=1&#38;b=2\">x</a>", "x", "https://ex.test/?a=1&b=2"},
    {"<a href=\"https://ex.test/?a=1&#x26;b=2\">x</a>", "x", "https://ex.test/?a=1&b=2"},
    {"<a href=\"https://ex.test/?a=1&copy=2&lt=3\">x</a>", "x", "https://ex.test/?a=1&copy=2&lt=3"},
    {"<a class='u-url' target=_blank HREF = ' https://ex.test/a ' >x</a>", "x", "https://ex.test/a"},
    {"<a href=https://ex.test/a>x</a><A HREF='https://ex.test/b'>y</A>", "xy", "https://ex.test/a|https://ex.test/b"},
    {"<a title=\"2 > 1\" data-x='</a>' href='https://ex.test/a'>x</a>", "x", "https://ex.test/a"},
    {"<a href=\"https://ex.test/a\" href=\"https://ex.test/b\">x</a>", "x", "https://ex.test/a"},
    {"<a data-href=\"https://ex.test/a\">x</a>", "x", ""},
    {"<a href>x</a><a href=>y</a><a href=\"\">z</a>", "xyz", ""},
    {"<link href=\"https://ex.test/a\">x", "x", ""},
    {"a<!-- <p>no</p> > -->b<!-->c<!DOCTYPE html>d<?php x ?>e", "abcde", ""},
    {"a<![CDATA[b < c & d]]>e", "ab < c & de", ""},
    {"a<script>if (1 < 2) alert('<p>')</script>b<style>p{}</style>c", "abc", ""},
    {"a<SCRIPT>x</p></Script >b", "ab", ""},
    {"1 < 2 and <3 but <> and </ >", "1 < 2 and <3 but <> and </ >", ""},
    {"&lt;p&gt; &quot;&apos;&#39; &eacute;&#233;&#xE9;&#XE9; &hellip;&nbsp;.",
     "<p> \"'' \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \xe2\x80\xa6\xc2\xa0.", ""},
    {"AT&T &unknown; &; &# &#; &#x; &#xg; &#12a; &amp", "AT&T &unknown; &; &# &#; &#x; &#xg; &#12a; &amp", ""},
    {"&#0;&#xD800;&#x110000;&#999999999;", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", ""},
    {"&#00000000000065;", "&#00000000000065;", ""},
    {"&#4294967361;", "\xef\xbf\xbd", ""}, /* 2^32 + 'A' */
    {"x<a href=\"https://ex.test/a", "x", ""},
    {"x<a href=\"https://ex.test/a\"", "x", ""},
    {"x<!-- never ends", "x", ""},
    {"x<script>never ends", "x", ""},
    {"x<", "x<", ""},
    {"x</", "x</", ""},
};

static void join_links(const struct buf *links, char *out, size_t size)
{
    out[0] = '\0';
    for (const char *link = html_next_link(links, NULL); link != NULL; link = html_next_link(links, link)) {
        const size_t len = strlen(out);
        snprintf(out + len, size - len, "%s%s", len > 0 ? "|" : "", link);
    }
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf text, links;
        buf_init(&text, 4096);
        buf_init(&links, 4096);
        html_read(cases[i].html, strlen(cases[i].html), &text, &links);
        char joined[1024];
        join_links(&links, joined, sizeof joined);
        if (strcmp(buf_text(&text), cases[i].text) != 0 || strcmp(joined, cases[i].links) != 0)
            fail_msg("%s: \"%s\" \"%s\"", cases[i].html, buf_text(&text), joined);
        buf_fini(&text);
        buf_fini(&links);
    }
}

static void test_linked_text_is_the_link(void **state)
{
    (void)state;
    const char *html = cases[6].html;
    struct buf links;
    buf_init(&links, 4096);
    html_read(html, strlen(html), NULL, &links);
    char *normal = url_normal(html_next_link(&links, NULL));
    assert_string_equal(normal, "https://ex.test/a?x=1&y=2");
    free(normal);
    buf_fini(&links);
}

static void test_bounds(void **state)
{
    (void)state;
    struct buf text, links;
    buf_init(&text, 4);
    buf_init(&links, 20);
    static const char html[] = "<a href='https://ex.test/a'>hello</a><a href='https://ex.test/b'>x</a>";
    html_read(html, strlen(html), &text, &links);
    assert_string_equal(buf_text(&text), "hell");
    assert_true(text.cut);
    assert_true(links.cut);
    assert_string_equal(html_next_link(&links, NULL),
                        "https://ex.test/a"); /* the second does not fit: not half of it */
    assert_null(html_next_link(&links, html_next_link(&links, NULL)));
    buf_fini(&text);
    buf_fini(&links);
}

/* Whatever comes in, what goes out is no longer than the input allows (the shortest reference of 3 bytes, "&lt;", gives
 * less than it takes), links end with their NUL, and sanitizers see no byte read outside. */
static void test_random_bytes(void **state)
{
    (void)state;
    static const char *const pieces[] = {"<a href=", "\"",       "'",         ">",         "<",   "&", "&#x",
                                         ";",        "<!--",     "-->",       "</",        "p",   "=", " ",
                                         "/",        "<script>", "</script>", "<![CDATA[", "]]>", "a", "\n",
                                         "&amp;",    "&#1",      "\xc3",      "\xff",      "<?"};
    srandom(20260921);
    for (int round = 0; round < 20000; round++) {
        char html[400];
        size_t len = 0;
        while (len < sizeof html - 16 && random() % 40 != 0) {
            const char *piece = pieces[(size_t)random() % COUNT(pieces)];
            if (round % 3 == 0) html[len++] = (char)(random() % 256);
            for (; *piece != '\0'; piece++)
                html[len++] = *piece;
        }
        char *exact = malloc(len + 1); /* so that a read past the end is seen */
        assert_non_null(exact);
        memcpy(exact, html, len);
        struct buf text, links;
        buf_init(&text, 4096);
        buf_init(&links, 4096);
        html_read(exact, len, &text, &links);
        assert_true(text.len <= len && links.len <= len);
        assert_false(text.cut || links.cut);
        for (const char *link = html_next_link(&links, NULL); link != NULL; link = html_next_link(&links, link))
            assert_true(link[0] != '\0');
        buf_fini(&text);
        buf_fini(&links);
        free(exact);
    }
}

static void test_long_hostile_input_is_linear(void **state)
{
    (void)state;
    static const char *const units[] = {"<a href=\"",      "<!--",   "&",  "</",
                                        "<script></scrip", "<a <a ", "&#", "<![CDATA["};
    for (size_t i = 0; i < COUNT(units); i++) {
        const size_t unit = strlen(units[i]);
        const size_t len = unit * 200000;
        char *html = malloc(len);
        assert_non_null(html);
        for (size_t at = 0; at < len; at += unit)
            memcpy(html + at, units[i], unit);
        struct buf text, links;
        buf_init(&text, 1000);
        buf_init(&links, 1000);
        html_read(html, len, &text, &links);
        assert_true(text.len <= 1000 && links.len <= 1000);
        buf_fini(&text);
        buf_fini(&links);
        free(html);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_linked_text_is_the_link),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_long_hostile_input_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

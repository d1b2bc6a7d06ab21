/* SPDX-License-Identifier: MIT */
/*
 * Pairs of addresses and of texts that are one post's, and pairs that are not. On the left what we sent, on the right
 * how a platform shows it. A pair that is taken for equal and is not makes a post of somebody's ours; a pair that is
 * not seen to be equal makes a second post.
 */
#include "tests/unit/keys/test.h"

#include "platforms/html.h"
#include "platforms/text.h"
#include "platforms/url.h"

#define E_NFC "\xc3\xa9"
#define E_NFD "e\xcc\x81"

struct pair {
    const char *sent, *shown;
};

static const struct pair equal_urls[] = {
    {"https://blog.example/p/1", "HTTPS://Blog.EXAMPLE/p/1"},
    {"https://blog.example/p/1", "https://blog.example:443/p/1"},
    {"http://blog.example/p/1", "http://blog.example:80/p/1"},
    {"https://blog.example", "https://blog.example/"},
    {"https://blog.example/p/1", "https://blog.example/p/1#comments"},
    {"https://blog.example/p/1#top", "https://blog.example/p/1"},
    {"https://blog.example/p/1", "https://blog.example/p/1?utm_source=m&utm_medium=social&utm_campaign=x"},
    {"https://blog.example/p/1?a=1", "https://blog.example/p/1?fbclid=z&a=1"},
    {"https://blog.example/a/../p/1", "https://blog.example/p/./1"},
    {"https://blog.example/caf%c3%a9", "https://blog.example/caf%C3%A9"},
    {"https://blog.example/caf\xc3\xa9", "https://blog.example/caf%C3%A9"},
    {"https://blog.example/%7Eme", "https://blog.example/~me"},
    {"https://b\xc3\xbc"
     "cher.example/p",
     "https://xn--bcher-kva.example/p"},
    {"https://bu\xcc\x88"
     "cher.example/p",
     "https://B\xc3\x9c"
     "CHER.example/p"},
    {"https://blog.example/p/1", " https://blog.example/p/1\r\n"},
};

static const struct pair other_urls[] = {
    {"https://blog.example/p/1", "http://blog.example/p/1"},
    {"https://blog.example/p/1", "https://blog.example/p/1/"},
    {"https://blog.example/p/1", "https://blog.example/P/1"},
    {"https://blog.example/p/1", "https://blog.example/p/10"},
    {"https://blog.example/p/1", "https://www.blog.example/p/1"},
    {"https://blog.example/p/1", "https://blog.example:8443/p/1"},
    {"https://blog.example/p/1", "https://blog.example/p/1?page=2"},
    {"https://blog.example/p?a=1&b=2", "https://blog.example/p?b=2&a=1"},
    {"https://blog.example/p?a=1", "https://blog.example/p?a=2"},
    {"https://blog.example/p?q=a+b", "https://blog.example/p?q=a%20b"},
    {"https://blog.example/a%2Fb", "https://blog.example/a/b"},
    {"https://b\xc3\xbc"
     "cher.example/p",
     "https://bucher.example/p"},
    {"https://fa\xc3\x9f.example/", "https://fass.example/"},
    {"https://blog.example/caf" E_NFC, "https://blog.example/cafe"},
    {"https://blog.example/p/1", "https://t.co/abc"}, /* the platform's own short one: its program must resolve it */
};

/* Shown as text. */
static const struct pair equal_texts[] = {
    {"one\r\ntwo", "one\ntwo"},
    {"one\r\n\r\ntwo", "one\n\n\ntwo"},
    {"one\rtwo", "one two"},
    {"caf" E_NFC, "caf" E_NFD},
    {" one  two ", "one two"},
    {"one\xc2\xa0two", "one two"},
    {"It's \"so\" - really...", "It\xe2\x80\x99s \xe2\x80\x9cso\xe2\x80\x9d \xe2\x80\x93 really\xe2\x80\xa6"},
    {"one\xe2\x80\x8btwo", "onetwo"},
    {"one\xc2\xadtwo", "onetwo"},
    {"\xef\xbb\xbfone", "one"},
};

static const struct pair other_texts[] = {
    {"one", "two"},
    {"one", "One"},
    {"one two", "onetwo"},
    {"one", "one."},
    {"caf" E_NFC, "cafe"},
    {"\xef\xac\x81ne", "fine"}, /* a ligature: equal only by compatibility */
    {"\xef\xbc\x91", "1"},      /* a wide digit, the same */
    {"x\xc2\xb2", "x2"},
    {"\xf0\x9f\x91\x8d", "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd"}, /* a thumb, and one with a skin tone */
    {"-1", "1"},
};

/* Shown as HTML. */
static const struct pair equal_html[] = {
    {"one\ntwo", "<p>one<br />two</p>"},
    {"one\r\n\r\ntwo", "<p>one</p><p>two</p>"},
    {"a & b < c > d", "<p>a &amp; b &lt; c &gt; d</p>"},
    {"it's \"so\"", "it&#39;s &quot;so&quot;"},
    {"it's", "it&#x27;s"},
    {"caf" E_NFC, "caf&eacute;"},
    {"caf" E_NFC, "cafe&#769;"},
    {"caf" E_NFC, "caf&#xE9;"},
    {"one two", "one&nbsp;two"},
    {"one two", "one<!-- three <b>four</b> > --> two"},
    {"one two", "<span title=\"a > b\" data-x='>'>one</span> two"},
    {"one two", "one <script>if (1 < 2) three()</script>two"},
    {"one two", "<STYLE>p > a {}</STYLE>one two"},
    {"one & two", "<![CDATA[one & two]]>"},
    {"see https://blog.example/p/1",
     "see <a href=\"https://blog.example/p/1\"><span class=\"invisible\">https://</span>"
     "<span>blog.example/p/1</span></a>"},
};

static const struct pair other_html[] = {
    {"one two", "one"},
    {"a &amp; b", "a &amp; b"}, /* we sent five characters, it shows one */
    {"one two", "one<!-- two -->"},
    {"one two", "one <span title=\"two\"></span>"},
    {"a < b", "a < c"},
    {"one", "<script>one</script>"},
};

static char *shown_as_text(const char *text)
{
    return text_normal(text);
}

static char *shown_as_html(const char *html)
{
    struct buf text;
    buf_init(&text, 4096);
    html_read(html, strlen(html), &text, NULL);
    char *normal = text_normal(buf_text(&text));
    buf_fini(&text);
    return normal;
}

static void check(const struct pair *pairs, size_t count, char *(*sent_form)(const char *),
                  char *(*shown_form)(const char *), bool equal)
{
    for (size_t i = 0; i < count; i++) {
        char *sent = sent_form(pairs[i].sent), *shown = shown_form(pairs[i].shown);
        assert_non_null(sent);
        assert_non_null(shown);
        if ((strcmp(sent, shown) == 0) != equal)
            fail_msg("\"%s\" and \"%s\" are %s", pairs[i].sent, pairs[i].shown, equal ? "not equal" : "equal");
        free(sent);
        free(shown);
    }
}

static void test_addresses(void **state)
{
    (void)state;
    check(equal_urls, COUNT(equal_urls), url_normal, url_normal, true);
    check(other_urls, COUNT(other_urls), url_normal, url_normal, false);
}

static void test_texts(void **state)
{
    (void)state;
    check(equal_texts, COUNT(equal_texts), shown_as_text, shown_as_text, true);
    check(other_texts, COUNT(other_texts), shown_as_text, shown_as_text, false);
}

static void test_html(void **state)
{
    (void)state;
    check(equal_html, COUNT(equal_html), shown_as_text, shown_as_html, true);
    check(other_html, COUNT(other_html), shown_as_text, shown_as_html, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_html),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Items: what is taken, what is refused and with which words, and what one channel gets of them. */
#include "tests/unit/keys/locales.h"

#include "keys/canonical.h"
#include "keys/content.h"

#define CHANNEL "mastodon/brand"

/* Items are written with ' for ", which none of them contains otherwise. */
static bool merge(const char *text, const char *channel, struct content *out, char err[KEYS_ERR_BYTES])
{
    char *json = strdup(text);
    json_t *item;
    for (char *c = json; *c; c++)
        if (*c == '\'') *c = '"';
    if (!canonical_parse(json, strlen(json), &item, err)) fail_msg("%s: %s", text, err);
    free(json);
    bool ok = content_merge(item, channel, out, err);
    json_decref(item);
    return ok;
}

static void assert_canonical(const struct content *content, const char *expected)
{
    char *json = strdup(expected);
    char hash[HASH_HEX_BYTES];
    for (char *c = json; *c; c++)
        if (*c == '\'') *c = '"';
    assert_string_equal(content->canonical, json);
    assert_int_equal(content->canonical_len, strlen(json));
    hash_bytes_hex(json, strlen(json), hash);
    assert_string_equal(content->hash, hash);
    free(json);
}

#define IN_CHANNEL(members) "{'id':'a','landfall':{'channels':{'" CHANNEL "':" members "}}}"

static void test_merged(void **state)
{
    (void)state;
    static const struct {
        const char *item;
        const char *merged;
    } cases[] = {
        {"{'id':'a'}", "{'id':'a'}"},
        {"{'title':'T','id':'a','_own':{'x':[1]}}", "{'_own':{'x':[1]},'id':'a','title':'T'}"},
        {"{'id':'a','landfall':{}}", "{'id':'a'}"},
        {"{'id':'a','landfall':null}", "{'id':'a'}"},
        {"{'id':'a','landfall':{'not_before':'2026-09-01T09:00:00Z','after':'b','_x':1}}", "{'id':'a'}"},
        {"{'id':'a','summary':null,'image':null}", "{'id':'a'}"},
        /* an id in normal form, and a number as its text */
        {"{'id':'cafe\xcc\x81','title':'cafe\xcc\x81'}", "{'id':'caf\xc3\xa9','title':'cafe\xcc\x81'}"},
        {"{'id':7}", "{'id':'7'}"},
        {"{'id':7.0}", "{'id':'7'}"},
        {"{'id':1e21}", "{'id':'1e+21'}"},
        /* the channel's fields win; those of others stay out; null takes away */
        {"{'id':'a','title':'T','landfall':{'channels':{'" CHANNEL "':{'title':'U','tags':['x']},"
         "'blog/main':{'title':'V','summary':'S'}}}}",
         "{'id':'a','tags':['x'],'title':'U'}"},
        {"{'id':'a','title':'T','tags':['x','y'],'landfall':{'channels':{'" CHANNEL "':{'title':null,'tags':['z']}}}}",
         "{'id':'a','tags':['z']}"},
        {IN_CHANNEL("{}"), "{'id':'a'}"},
        {IN_CHANNEL("{'not_before':'2026-09-01T09:00:00Z','not_after':null,'after':null}"), "{'id':'a'}"},
        {IN_CHANNEL("{'text':'hello','visibility':'unlisted','_x':1}"),
         "{'_x':1,'id':'a','text':'hello','visibility':'unlisted'}"},
        {"{'id':'a','landfall':{'channels':null}}", "{'id':'a'}"},
        {"{'id':'a','attachments':[{'url':'u','mime_type':'m','size_in_bytes':1,'duration_in_seconds':0.5,'title':'t',"
         "'_x':1}]}",
         "{'attachments':[{'_x':1,'duration_in_seconds':0.5,'mime_type':'m','size_in_bytes':1,'title':'t','url':'u'}],"
         "'id':'a'}"},
        {"{'id':'a','author':{'name':'N'},'authors':[{'name':'N'}],'url':'u','external_url':'e','content_html':'<p>',"
         "'content_text':'','banner_image':'b','date_published':'2026-09-01T09:00:00Z',"
         "'date_modified':'2026-09-01T09:00:00+01:00','language':'de','tags':[]}",
         "{'author':{'name':'N'},'authors':[{'name':'N'}],'banner_image':'b','content_html':'<p>','content_text':'',"
         "'date_modified':'2026-09-01T09:00:00+01:00','date_published':'2026-09-01T09:00:00Z','external_url':'e',"
         "'id':'a','language':'de','tags':[],'url':'u'}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct content content;
        char err[KEYS_ERR_BYTES] = "";
        if (!merge(cases[i].item, CHANNEL, &content, err)) fail_msg("%s: %s", cases[i].item, err);
        assert_canonical(&content, cases[i].merged);
        assert_string_equal(content.id, json_string_value(json_object_get(content.fields, "id")));
        content_fini(&content);
    }
}

static const struct {
    const char *item;
    const char *error;
} refused[] = {
    {"[]", "an item must be a JSON object"},
    {"'a'", "an item must be a JSON object"},
    {"null", "an item must be a JSON object"},
    {"{}", "id is missing"},
    {"{'url':'https://ex.test/'}", "id is missing"},
    {"{'id':null}", "id is missing"},
    {"{'id':''}", "id: item id is empty"},
    {"{'id':true}", "id: must be a string"},
    {"{'id':['a']}", "id: must be a string"},
    {"{'id':' a'}", "id: item id \" a\" begins or ends with white space"},
    {"{'id':'a\\nb'}", "control character U+000A"},
    {"{'id':'a','titel':'T'}", "member \"titel\" is not known; correct it"},
    {"{'id':'a','Title':'T'}", "member \"Title\""},
    {"{'id':'a','text':'T'}", "member \"text\""},
    {"{'id':'a','\\u001b[31m':'T'}", "member \"\\x1b[31m\""},
    {"{'id':'a','':'T'}", "member \"\""},
    {"{'id':'a','title':7}", "title must be a string"},
    {"{'id':'a','url':{}}", "url must be a string"},
    {"{'id':'a','content_text':['x']}", "content_text must be a string"},
    {"{'id':'a','tags':'x'}", "tags must be an array of strings"},
    {"{'id':'a','tags':['x',null]}", "tags must be an array of strings"},
    {"{'id':'a','author':'N'}", "author must be an object"},
    {"{'id':'a','authors':{'name':'N'}}", "authors must be an array of objects"},
    {"{'id':'a','authors':['N']}", "authors must be an array of objects"},
    {"{'id':'a','attachments':{}}", "attachments must be an array of objects"},
    {"{'id':'a','attachments':['u']}", "attachments must be an array of objects"},
    {"{'id':'a','attachments':[{'url':'u','mime_type':'m'},{'url':'u'}]}", "attachments[1].mime_type is missing"},
    {"{'id':'a','attachments':[{'mime_type':'m'}]}", "attachments[0].url is missing"},
    {"{'id':'a','attachments':[{'url':1,'mime_type':'m'}]}", "attachments[0].url must be a string"},
    {"{'id':'a','attachments':[{'url':'u','mime_type':'m','size_in_bytes':'1'}]}",
     "attachments[0].size_in_bytes must be a number"},
    {"{'id':'a','attachments':[{'url':'u','mime_type':'m','alt':'x'}]}", "attachments[0]: member \"alt\""},
    {"{'id':'a','date_published':1788246000}", "date_published must be a string"},
    {"{'id':'a','date_published':'2026-09-01T09:00:00'}", "date_published: \"2026-09-01T09:00:00\" has no offset"},
    {"{'id':'a','date_modified':'2016-12-31T23:59:60Z'}", "date_modified: \"2016-12-31T23:59:60Z\" is a leap second"},
    {"{'id':'a','landfall':[]}", "landfall must be an object"},
    {"{'id':'a','landfall':{'not_befor':'x'}}", "landfall: member \"not_befor\""},
    {"{'id':'a','landfall':{'not_before':'2026-02-29T00:00:00Z'}}", "landfall.not_before: \"2026-02-29T00:00:00Z\""},
    {"{'id':'a','landfall':{'not_after':5}}", "landfall.not_after must be a string"},
    {"{'id':'a','landfall':{'after':''}}", "landfall.after: item id is empty"},
    {"{'id':'a','landfall':{'after':'a'}}", "landfall.after names the item itself"},
    {"{'id':'a','landfall':{'not_before':'2026-09-01T09:00:00Z','not_after':'2026-09-01T09:00:00Z'}}",
     "not_after is not later than landfall.not_before"},
    {"{'id':'a','landfall':{'channels':[]}}", "landfall.channels must be an object"},
    {"{'id':'a','landfall':{'channels':{'mastodon':{}}}}", "landfall.channels: channel \"mastodon\" has no slash"},
    {IN_CHANNEL("[]"), "landfall.channels[\"mastodon/brand\"] must be an object"},
    {IN_CHANNEL("null"), "landfall.channels[\"mastodon/brand\"] must be an object"},
    {IN_CHANNEL("{'id':'b'}"), "may not have the members id and landfall"},
    {IN_CHANNEL("{'landfall':{}}"), "may not have the members id and landfall"},
    {IN_CHANNEL("{'title':7}"), "landfall.channels[\"mastodon/brand\"].title must be a string"},
    {IN_CHANNEL("{'not_before':'soon'}"), "landfall.channels[\"mastodon/brand\"].not_before: \"soon\""},
    {IN_CHANNEL("{'attachments':[{}]}"), "landfall.channels[\"mastodon/brand\"].attachments[0].url is missing"},
    /* what stands there for another channel is checked as well */
    {"{'id':'a','landfall':{'channels':{'blog/main':{'tags':[1]}}}}", "landfall.channels[\"blog/main\"].tags must be"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct content content;
        char err[KEYS_ERR_BYTES] = "";
        if (merge(refused[i].item, CHANNEL, &content, err)) fail_msg("%s was taken", refused[i].item);
        assert_clean_text(err);
        assert_contains(err, refused[i].error);
    }
}

static void test_schedule(void **state)
{
    (void)state;
    static const struct {
        const char *item;
        struct content_schedule schedule;
        int64_t dated_ms;
    } cases[] = {
        {"{'id':'a'}", {CONTENT_NO_TIME, CONTENT_NO_TIME, ""}, CONTENT_NO_TIME},
        {"{'id':'a','date_published':'2026-09-01T09:00:00+02:00'}",
         {CONTENT_NO_TIME, CONTENT_NO_TIME, ""},
         1788246000000},
        {"{'id':'a','landfall':{'not_before':'1970-01-01T00:00:01Z','not_after':'1970-01-01T00:00:02Z',"
         "'after':'cafe\xcc\x81'}}",
         {1000, 2000, "caf\xc3\xa9"},
         CONTENT_NO_TIME},
        {"{'id':'a','landfall':{'after':12}}", {CONTENT_NO_TIME, CONTENT_NO_TIME, "12"}, CONTENT_NO_TIME},
        {"{'id':'a','landfall':{'not_after':'1960-01-01T00:00:00Z'}}",
         {CONTENT_NO_TIME, -315619200000, ""},
         CONTENT_NO_TIME},
        /* the channel's schedule wins, member by member */
        {"{'id':'a','date_published':'1970-01-01T00:00:09Z','landfall':{'not_before':'1970-01-01T00:00:01Z',"
         "'not_after':'1970-01-01T00:00:02Z','after':'b','channels':{'" CHANNEL
         "':{'not_after':'1970-01-01T00:00:03Z','date_published':'1970-01-01T00:00:08Z'},"
         "'blog/main':{'not_before':'1970-01-01T00:00:04Z'}}}}",
         {1000, 3000, "b"},
         8000},
        {"{'id':'a','landfall':{'not_before':'1970-01-01T00:00:01Z','not_after':'1970-01-01T00:00:02Z','after':'b',"
         "'channels':{'" CHANNEL "':{'not_before':null,'not_after':null,'after':null}}}}",
         {CONTENT_NO_TIME, CONTENT_NO_TIME, ""},
         CONTENT_NO_TIME},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct content content;
        char err[KEYS_ERR_BYTES] = "";
        if (!merge(cases[i].item, CHANNEL, &content, err)) fail_msg("%s: %s", cases[i].item, err);
        assert_true(content.schedule.not_before_ms == cases[i].schedule.not_before_ms);
        assert_true(content.schedule.not_after_ms == cases[i].schedule.not_after_ms);
        assert_string_equal(content.schedule.after, cases[i].schedule.after);
        assert_true(content.dated_ms == cases[i].dated_ms);
        content_fini(&content);
    }
}

/* 0 is none in the ledger: a time before it was that would lift a limit that was given. */
static void test_a_time_of_long_ago_is_stored_as_one(void **state)
{
    (void)state;
    assert_true(content_stored_time(CONTENT_NO_TIME) == 0);
    assert_true(content_stored_time(0) == 1);
    assert_true(content_stored_time(-315619200000) == 1);
    assert_true(content_stored_time(2000) == 2000);
}

/* Pairs of items: the same content, or another one. */
static void test_same_or_other(void **state)
{
    (void)state;
    static const struct {
        const char *one;
        const char *two;
        bool same;
    } cases[] = {
        {"{'id':'a','title':'T','url':'u'}", "{'url':'u','title':'T','id':'a'}", true},
        {"{'id':'a','title':'\\u00e9\\/'}", "{'id':'a','title':'\xc3\xa9/'}", true},
        {"{'id':'a','_n':1}", "{'id':'a','_n':1.0}", true},
        {"{'id':'a','_n':1}", "{'id':'a','_n':1e0}", true},
        {"{'id':'a','_n':1}", "{'id':'a','_n':'1'}", false},
        {"{'id':'a'}", "{'id':'a','landfall':{'not_before':'2026-09-01T09:00:00Z'}}", true},
        {"{'id':'a','title':'T'}", IN_CHANNEL("{'title':'T'}"), true},
        {"{'id':'a','title':'T'}", "{'id':'a','title':'T '}", false},
        {"{'id':'a','tags':['x','y']}", "{'id':'a','tags':['y','x']}", false},
        {"{'id':'caf\xc3\xa9'}", "{'id':'cafe\xcc\x81'}", true},
        {"{'id':'a','title':'caf\xc3\xa9'}", "{'id':'a','title':'cafe\xcc\x81'}", false},
        {"{'id':'a','title':'I'}", "{'id':'a','title':'i'}", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct content one;
        struct content two;
        char err[KEYS_ERR_BYTES] = "";
        assert_true(merge(cases[i].one, CHANNEL, &one, err));
        assert_true(merge(cases[i].two, CHANNEL, &two, err));
        if ((strcmp(one.hash, two.hash) == 0) != cases[i].same) fail_msg("%s and %s", cases[i].one, cases[i].two);
        content_fini(&one);
        content_fini(&two);
    }
}

static void test_item_is_not_changed(void **state)
{
    (void)state;
    char err[KEYS_ERR_BYTES] = "";
    struct content content;
    json_t *item = json_pack("{s:i, s:s, s:n, s:{s:{s:{s:s, s:n}}}}", "id", 7, "title", "T", "summary", "landfall",
                             "channels", CHANNEL, "title", "U", "url");
    json_t *before = json_deep_copy(item);
    assert_true(content_merge(item, CHANNEL, &content, err));
    assert_true(json_equal(item, before));
    json_decref(item); /* the content outlives it */
    assert_string_equal(json_string_value(json_object_get(content.fields, "title")), "U");
    content_fini(&content);
    json_decref(before);
}

static void test_item_members(void **state)
{
    (void)state;
    assert_true(content_is_item_member("id"));
    assert_true(content_is_item_member("attachments"));
    assert_true(content_is_item_member("_mine"));
    assert_false(content_is_item_member("landfall"));
    assert_false(content_is_item_member("visibility"));
    assert_false(content_is_item_member("not_before"));
    assert_false(content_is_item_member(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_a_time_of_long_ago_is_stored_as_one),
        cmocka_unit_test(test_same_or_other),
        cmocka_unit_test(test_item_members),
        cmocka_unit_test(test_item_is_not_changed),
    };
    return RUN_IN_ALL_LOCALES(tests);
}

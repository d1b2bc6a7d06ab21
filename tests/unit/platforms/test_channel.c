/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <stdio.h>
#include <unistd.h>

#include "platforms/channel.h"

static char folder[] = "/tmp/channel.XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool load(const char *channels, struct channel_set **set, struct descriptor_set **descriptors,
                 struct errbuf *err)
{
    const char *dirs[] = {DESCRIPTORS};
    char config[100];
    snprintf(config, sizeof(config), "%s/landfall.json", folder);
    setenv("TEST_TOKEN", "token-of-mastodon", 1);
    setenv("TEST_HOOK", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", 1);
    *descriptors = descriptor_set_new(dirs, 1);
    json_t *json = json_of(channels);
    bool ok = channel_set_load(json, config, *descriptors, &test_defaults, set, err);
    json_decref(json);
    return ok;
}

#define M "'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}, 'credential': {'env': 'TEST_TOKEN'}"

static void test_what_follows_from_a_descriptor(void **state)
{
    (void)state;
    struct channel_set *set;
    struct descriptor_set *descriptors;
    struct errbuf err;
    if (!load("{'$comment': 'x', 'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': "
              "'HTTPS://M.Example:443/'},"
              "'credential': {'env': 'TEST_TOKEN'}}, 'indexnow/site': {'platform': 'indexnow', 'credential': {'env': "
              "'TEST_TOKEN'}},"
              "'bluesky/brand': {'platform': 'bluesky', 'settings': {'identifier': 'brand.example'}, 'credential': "
              "{'env': 'TEST_TOKEN'}},"
              "'forem/me': {'platform': 'forem', 'credential': {'env': 'TEST_TOKEN'}}}",
              &set, &descriptors, &err))
        fail_msg("%s", err.text);
    assert_int_equal(channel_set_count(set), 4);
    assert_string_equal(channel_set_at(set, 0)->name, "bluesky/brand");
    assert_null(channel_find(set, "mastodon/bran"));
    struct channel *channel = channel_find(set, "mastodon/brand");
    assert_string_equal(channel->account, "brand");
    assert_string_equal(channel->instance, "https://m.example");
    assert_string_equal(json_string_value(json_object_get(channel->settings, "instance")), "https://m.example");
    assert_string_equal(json_string_value(json_object_get(channel->settings, "visibility")), "public");
    const struct delivery_policy *p = &channel->policy;
    assert_int_equal(channel->tier, TIER_KEY);
    assert_true(!p->harmless && p->gives_id && p->can_read && !p->verify && !p->stores_failures && !p->hold_absent);
    assert_int_equal(p->key_window_ms, 3600000);
    assert_int_equal(p->lease_ms, 60000);
    assert_int_equal(p->late_commit_ms, 60000);
    assert_int_equal(p->visibility_lag_ms, 60000);
    assert_int_equal(p->clean_misses, 2);
    assert_int_equal(p->max_attempts, 5);
    assert_int_equal(p->give_up_after_ms, 604800000);
    assert_int_equal(channel->write_limit_ms, 20000);
    assert_int_equal(channel->spacing_ms, 1000);
    assert_int_equal(channel->burst, 10);

    p = &channel_find(set, "bluesky/brand")->policy;
    assert_int_equal(p->key_window_ms, DELIVERY_FOREVER);
    assert_true(p->can_read && p->gives_id && !p->harmless);
    p = &channel_find(set, "indexnow/site")->policy;
    assert_true(p->harmless && !p->can_read && !p->gives_id);
    assert_int_equal(p->key_window_ms, 0);
    p = &channel_find(set, "forem/me")->policy;
    assert_true(!p->harmless && p->can_read && p->gives_id);
    assert_int_equal(p->key_window_ms, 0);
    assert_string_equal(channel_find(set, "forem/me")->instance, "https://dev.to");
    channel_set_free(&set);
    assert_null(set);
    descriptor_set_free(&descriptors);
}

static void test_what_a_channel_changes(void **state)
{
    (void)state;
    struct channel_set *set;
    struct descriptor_set *descriptors;
    struct errbuf err;
    if (!load("{'mastodon/brand': {" M ", 'pace': {'spacing_ms': 5, 'burst': 3}, 'max_age_ms': 1000, 'on_absent': "
              "'hold', 'handed_back_per_minute': 6,"
              "'max_attempts': 2, 'write_limit_ms': 200, 'paused': true, 'times': {'late_commit_ms': 1, "
              "'visibility_lag_ms': 0,"
              "'clean_misses': 1, 'lease_ms': 1000, 'margin_ms': 50, 'key_window_ms': 7000}}}",
              &set, &descriptors, &err))
        fail_msg("%s", err.text);
    struct channel *channel = channel_find(set, "mastodon/brand");
    const struct delivery_policy *p = &channel->policy;
    assert_true(p->hold_absent && channel->paused);
    assert_int_equal(p->max_age_ms, 1000);
    assert_int_equal(p->turn_ms, 10000);
    assert_int_equal(p->max_attempts, 2);
    assert_int_equal(p->late_commit_ms, 1);
    assert_int_equal(p->visibility_lag_ms, 0);
    assert_int_equal(p->clean_misses, 1);
    assert_int_equal(p->lease_ms, 1000);
    assert_int_equal(p->margin_ms, 50);
    assert_int_equal(p->key_window_ms, 7000);
    assert_int_equal(channel->write_limit_ms, 200);
    assert_int_equal(channel->spacing_ms, 5);
    assert_int_equal(channel->burst, 3);
    channel_set_free(&set);
    descriptor_set_free(&descriptors);
}

/* Whether a repeat does harm may be for the operator to say. */
static void test_window_from_a_setting(void **state)
{
    (void)state;
    struct channel_set *set;
    struct descriptor_set *descriptors;
    struct errbuf err;
    if (!load("{'webhook/a': {'platform': 'webhook', 'settings': {'url': 'https://h.example/in'}, 'credential': "
              "{'env': 'TEST_HOOK'}},"
              "'webhook/b': {'platform': 'webhook', 'settings': {'url': 'https://h.example/in', "
              "'receiver_keeps_ids_s': 300},"
              "'credential': {'env': 'TEST_HOOK'}}}",
              &set, &descriptors, &err))
        fail_msg("%s", err.text);
    const struct channel *a = channel_find(set, "webhook/a"), *b = channel_find(set, "webhook/b");
    assert_int_equal(a->tier, TIER_PING);
    assert_true(a->policy.harmless);
    assert_int_equal(a->policy.key_window_ms, 0);
    assert_int_equal(b->tier, TIER_KEY);
    assert_false(b->policy.harmless);
    assert_int_equal(b->policy.key_window_ms, 300000);
    assert_false(b->policy.can_read);
    assert_string_equal(b->instance, "https://h.example/in");
    channel_set_free(&set);
    descriptor_set_free(&descriptors);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *channels, *message;
    } cases[] = {
        {"[]", "$.channels: must be an object"},
        {"{'Mastodon/brand': {" M "}}", "$.channels.Mastodon/brand: "},
        {"{'mastodon': {" M "}}", "$.channels.mastodon: "},
        {"{'mastodon/brand': []}", "$.channels.mastodon/brand: must be an object"},
        {"{'mastodon/brand': {}}", "$.channels.mastodon/brand.platform: missing"},
        {"{'forem/brand': {" M "}}", "$.channels.forem/brand: platform: must be what stands in front of the slash"},
        {"{'masto/brand': {" M "}}", "in front of the slash in the channel's name, \"masto\", not \"mastodon\""},
        {"{'webhook/a': {'platform': 'webhook', 'settings': {'url': 'https://h.example'}, 'credential': {'env': "
         "'TEST_TOKEN'}}}",
         "$.channels.webhook/a: credential: the signing secret must be whsec_ and 24 to 64 bytes in base64"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'credentials': {'file': 'a'}}}",
         "$.channels.mastodon/brand.credentials.file: must be an object: credentials is for platforms with several"},
        {"{'myspace/tom': {'platform': 'myspace'}}",
         "$.channels.myspace/tom: platform: no descriptor myspace.json in "},
        {"{'mastodon/brand': {" M ", 'colour': 1}}", "$.channels.mastodon/brand.colour: there is no such member"},
        {"{'mastodon/brand': {" M ", 'repeats': 'harmless'}}", "brand.repeats: there is no such member"},
        {"{'mastodon/brand': {" M ", 'times': {'lease_s': 1}}}", "brand.times.lease_s: there is no such member"},
        {"{'mastodon/brand': {" M ", 'times': {'lease_ms': 20000}}}",
         "write_limit_ms (20000) and times.margin_ms (10000) together must stay below times.lease_ms (20000)"},
        {"{'mastodon/brand': {" M ", 'write_limit_ms': 50000}}",
         "write_limit_ms (50000) and times.margin_ms (10000) together must stay below times.lease_ms (60000)"},
        {"{'mastodon/brand': {" M ", 'on_absent': 'panic'}}", "brand.on_absent: must be one of: default, retry, hold"},
        {"{'mastodon/brand': {" M ", 'max_attempts': 0}}", "brand.max_attempts: must be a whole number from 1 to 20"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'credential': {'env': 'TEST_TOKEN'}}}",
         "brand.settings.instance: missing: The account's server"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'm.example'}, 'credential': {'env': "
         "'TEST_TOKEN'}}}",
         "brand.settings.instance: must be an http or https address"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://me:pw@m.example'}}}",
         "brand.settings.instance: must be an http or https address"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example', 'visibility': "
         "'secret'}}}",
         "brand.settings.visibility: must be one of the setting's values"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example', 'max_characters': "
         "-1}}}",
         "brand.settings.max_characters: must be a number"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instanz': 'https://m.example'}}}",
         "settings.instanz: Mastodon has no such setting"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': 7}}", "settings must be an object"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}}}",
         "missing: Mastodon needs the credential \"secret\"; write \"credential\": {\"env\": \"NAME\"}"},
        {"{'mastodon/brand': {" M ", 'credentials': {'secret': {'env': 'TEST_TOKEN'}}}}",
         "has credential and credentials"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}, 'credentials':"
         "{'secret': {'env': 'TEST_TOKEN'}, 'other': {'env': 'TEST_TOKEN'}}}}",
         "Mastodon takes 1 credentials, not 2"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}, 'credential': "
         "{}}}",
         "brand.credential: must say where it is"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}, 'credential':"
         "{'env': 'TEST_TOKEN', 'file': 'x'}}}",
         "brand.credential: must say where it is"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}, 'credential':"
         "{'value': 'x'}}}",
         "brand.credential.value: there is no such member"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}, 'credential':"
         "{'env': 'TEST_NOT_SET'}}}",
         "brand.credential: env: the environment has no variable of this name"},
        {"{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}, 'credential':"
         "{'file': 'nosuch.txt'}}}",
         "brand.credential: file: there is no such file"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct channel_set *set;
        struct descriptor_set *descriptors;
        struct errbuf err = {""};
        if (load(cases[i].channels, &set, &descriptors, &err)) fail_msg("%s was taken", cases[i].channels);
        assert_null(set);
        assert_has(err.text, "landfall.json: $.channels");
        assert_has(err.text, cases[i].message);
        assert_null(strstr(err.text, "token-of"));
        descriptor_set_free(&descriptors);
    }
}

static void test_credentials(void **state)
{
    (void)state;
    struct channel_set *set;
    struct descriptor_set *descriptors;
    struct errbuf err;
    write_file("token.txt", "first-token\n");
    if (!load("{'mastodon/brand': {'platform': 'mastodon', 'settings': {'instance': 'https://m.example'}, "
              "'credential': {'file': 'token.txt'}}}",
              &set, &descriptors, &err))
        fail_msg("%s", err.text);
    struct credentials *credentials = &channel_find(set, "mastodon/brand")->credentials;
    assert_string_equal(secret_text(credentials_get(credentials, "secret")), "first-token");
    assert_null(credentials_get(credentials, "other"));
    bool changed;
    assert_true(credentials_reload(credentials, &changed, &err));
    assert_false(changed);
    write_file("token.txt", "");
    assert_false(credentials_reload(credentials, &changed, &err));
    assert_has(err.text, "credential secret: ");
    assert_has(err.text, "token.txt");
    assert_string_equal(secret_text(credentials_get(credentials, "secret")), "first-token");
    write_file("token.txt", "second-token");
    assert_true(credentials_reload(credentials, &changed, &err));
    assert_true(changed);
    assert_string_equal(secret_text(credentials_get(credentials, "secret")), "second-token");
    channel_set_free(&set);
    descriptor_set_free(&descriptors);
}

static void test_input_and_text(void **state)
{
    (void)state;
    struct channel_set *set;
    struct descriptor_set *descriptors;
    struct errbuf err;
    if (!load("{'mastodon/a': {" M "}, 'mastodon/b': {" M ", 'text': '.item.title + \\u0022!\\u0022'},"
              "'mastodon/c': {" M ", 'text': '7'}, 'mastodon/d': {" M ", 'text': 'env'},"
              "'webhook/e': {'platform': 'webhook', 'settings': {'url': 'https://h.example/in'}, 'credential': {'env': "
              "'TEST_HOOK'}}}",
              &set, &descriptors, &err))
        fail_msg("%s", err.text);
    json_t *item = json_of("{'id': 'it-1', 'title': 'T', 'content_text': 'C'}");
    struct channel_facts facts = {
        .item = item, .key = "k", .approved_at_ms = 1790000000123, .generation = 2, .replay = true};
    json_t *input = channel_input(channel_find(set, "mastodon/a"), &facts);
    json_t *expected =
        json_of("{'item': {'id': 'it-1', 'title': 'T', 'content_text': 'C'}, 'text': null, 'text_facts': null,"
                "'settings': {'instance': 'https://m.example', 'visibility': 'public', 'max_characters': 500},"
                "'channel': 'mastodon/a', 'account': 'a', 'key': 'k', 'gen': 2, 'approved_at_ms': 1790000000123,"
                "'approved_at': '2026-09-21T14:13:20.123Z', 'dated_ms': 0, 'attempt_from_ms': 0, 'ext_id': null,"
                "'replay': true, 'after': null}");
    assert_json_equal(input, expected, "input");
    json_decref(expected);
    facts.after_id = "41";
    facts.after_url = "https://m.example/@a/41";
    json_t *second = channel_input(channel_find(set, "mastodon/a"), &facts);
    expected = json_of("{'ext_id': '41', 'url': 'https://m.example/@a/41'}");
    assert_json_equal(json_object_get(second, "after"), expected, "after");
    json_decref(expected);
    json_decref(second);
    char *text;
    assert_true(channel_text(channel_find(set, "mastodon/a"), DESCRIPTOR_READ, input, &text, &err));
    assert_string_equal(text, "C");
    free(text);
    for (int i = 0; i < 2; i++) {
        assert_true(channel_text(channel_find(set, "mastodon/b"), DESCRIPTOR_WRITE, input, &text, &err));
        assert_string_equal(text, "T!");
        free(text);
    }
    assert_false(channel_text(channel_find(set, "mastodon/c"), DESCRIPTOR_WRITE, input, &text, &err));
    assert_has(err.text, "mastodon/c: the text is not a string");
    assert_false(channel_text(channel_find(set, "mastodon/d"), DESCRIPTOR_WRITE, input, &text, &err));
    assert_has(err.text, "$.channels.mastodon/d.text: env is not available");
    assert_true(channel_text(channel_find(set, "webhook/e"), DESCRIPTOR_WRITE, input, &text, &err));
    assert_null(text);
    json_decref(input);
    json_decref(item);
    channel_set_free(&set);
    descriptor_set_free(&descriptors);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char path[100];
    snprintf(path, sizeof(path), "%s/token.txt", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_follows_from_a_descriptor),
        cmocka_unit_test(test_what_a_channel_changes),
        cmocka_unit_test(test_window_from_a_setting),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_input_and_text),
    };
    return cmocka_run_group_tests_name("channel", tests, make_folder, drop_folder);
}

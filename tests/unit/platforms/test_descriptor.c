/* SPDX-License-Identifier: MIT */
/*
 * Loading: every shipped descriptor loads, and every way to break one is refused with a text that names the file, the
 * JSON path and what to do. The published schema says the same as the tables.
 */
#include "support.h"

#include <stdio.h>
#include <unistd.h>

#include "platforms/descriptor_table.h"
#include "platforms/shape.h"

static char folder[] = "/tmp/descriptor.XXXXXX";

/* The member at a path such as "accept[0].id", or NULL; *parent and the last name for setting it. */
static json_t *walk(json_t *json, const char *path, json_t **parent, char last[64], size_t *index)
{
    json_t *at = json;
    while (*path) {
        *parent = at;
        last[0] = '\0';
        if (*path == '[') {
            char *end;
            *index = strtoul(path + 1, &end, 10);
            at = json_array_get(at, *index);
            path = end + 1;
        } else {
            size_t len = strcspn(path, ".[");
            snprintf(last, 64, "%.*s", (int)len, path);
            at = json_object_get(at, last);
            path += len;
        }
        if (*path == '.') path++;
    }
    return at;
}

/* Set the member, or take it out where value is NULL. */
static void patch(json_t *json, const char *path, const char *value)
{
    json_t *parent = NULL;
    char last[64];
    size_t index = 0;
    walk(json, path, &parent, last, &index);
    assert_non_null(parent);
    if (value && last[0])
        assert_int_equal(json_object_set_new(parent, last, json_of(value)), 0);
    else if (value)
        assert_int_equal(json_array_set_new(parent, index, json_of(value)), 0);
    else if (last[0])
        assert_int_equal(json_object_del(parent, last), 0);
    else
        assert_int_equal(json_array_remove(parent, index), 0);
}

static const struct {
    const char *platform, *path, *value, *message;
} broken[] = {
    /* unknown, missing, of another type */
    {"mastodon", "colour", "1", "$.colour: there is no such member"},
    {"mastodon", "write.request.methods", "1", "$.write.request.methods: there is no such member"},
    {"mastodon", "accept[0].outcom", "1", "$.accept[0].outcom: there is no such member"},
    {"mastodon", "settings.visibility.typ", "1", "$.settings.visibility.typ: there is no such member"},
    {"mastodon", "title", NULL, "$.title: missing: write the platform's name"},
    {"mastodon", "title", "7", "$.title: must be a string"},
    {"mastodon", "title", "''", "$.title: must be a string, not empty"},
    {"mastodon", "title", "'a\\u0000b'", "\\u0000 is not allowed"},
    {"mastodon", "docs", "[]", "$.docs: must be a list of names"},
    {"mastodon", "verify", "'yes'", "$.verify: must be true or false"},
    {"mastodon", "write", "[]", "$.write: must be an object"},
    {"mastodon", "write.request", NULL, "$.write.request: missing: write the request that publishes"},
    {"mastodon", "write.request.url", "5", "$.write.request.url: must be a jq program"},
    {"mastodon", "accept", "{}", "$.accept: must be a list"},
    {"mastodon", "accept", NULL, "$.accept: missing"},
    {"mastodon", "tier", "'magic'", "$.tier: must be one of: key, upsert, read, blind, ping"},
    {"mastodon", "repeats", NULL, "$.repeats: missing"},
    {"mastodon", "accept[0].outcome", "'done'", "$.accept[0].outcome: must be one of: committed"},
    {"mastodon", "accept[0].status", "[]", "$.accept[0].status: must be a list of 1 to 16 HTTP statuses"},
    {"mastodon", "accept[0].status", "[99]", "$.accept[0].status: must be HTTP statuses"},
    {"mastodon", "times.clean_misses", "0", "$.times.clean_misses: must be a whole number from 1 to 10"},
    {"mastodon", "times.late_commit_s", "1.5", "$.times.late_commit_s: must be a whole number"},
    {"mastodon", "item.needs", "['title']", "$.item.needs[0]: must be a list of names"},
    /* the file's name */
    {"mastodon", "platform", "'pixelfed'", "$.platform: must be the name of the file"},
    {"mastodon", "platform", "'Mastodon'", "$.platform: must begin with a-z"},
    /* proof of absence */
    {"mastodon", "reads.listing.end", NULL,
     "$.reads.listing.end: missing: without a proof of the end no search is complete"},
    {"mastodon", "reads.listing.floor", NULL, "$.reads.listing.floor: missing: write \"server_time\""},
    {"mastodon", "reads.listing.next", NULL, "$.reads.listing.next: missing"},
    {"mastodon", "reads.listing.request.anonymous", "true",
     "$.reads.listing.request.anonymous: the history is read as the account that posts"},
    {"mastodon", "reads.by_id.gone", NULL, "$.reads.by_id.gone: missing"},
    {"mastodon", "marks", NULL, "$.marks: reads.listing and marks need each other"},
    {"mastodon", "reads.listing", NULL, "$.marks: reads.listing and marks need each other"},
    {"mastodon", "reads.prepare[0].again", "{'if': 'true'}",
     "$.reads.prepare[0]: each, again and keep_bytes are for steps before the write"},
    {"mastodon", "prepare[2].again.if", NULL, "$.prepare[2].again.if: "},
    {"mastodon", "prepare[2].again.times", "0", "$.prepare[2].again.times: "},
    {"mastodon", "limits[1].remaining", "'X-Left'", "$.limits[1]: write in remaining the name of a header"},
    {"mastodon", "item.limits[0].unit", "'words'", "$.item.limits[0].unit: must be one of: graphemes"},
    {"forem", "reads", NULL, "$.reads: tier read needs reads.listing or reads.by_key"},
    {"mastodon", "tier", "'blind'", "$.key.window_s: must be 0 in tier blind"},
    {"forem", "tier", "'blind'", "$.reads: tier blind has neither listing nor by_key"},
    {"mastodon", "verify_after_publish", "true", NULL},
    {"forem", "verify_after_publish", "true", "$.verify_after_publish: needs write.gives_id and reads.by_id"},
    /* keys and tiers */
    {"mastodon", "key", NULL, "$.key: missing: tier key sends a key"},
    {"mastodon", "key.window_s", NULL, "$.key.window_s: missing: write for how long"},
    {"mastodon", "key.window_s", "0", "$.key.window_s: must be above 0 in tier key"},
    {"mastodon", "key.window_s", "-1", "$.key.window_s: must be above 0 in tier key"},
    {"bluesky", "key.window_s", "3600", "$.key.window_s: must be -1 in tier upsert"},
    {"bluesky", "key", NULL, "$.key: missing: tier upsert sends a key"},
    {"webhook", "key.window_s", "300", "$.key.window_s: must be 0 in tier ping: a window is a promise"},
    {"webhook", "key.window_setting", "'nosuch'", "$.key.window_setting: must name a setting of type number"},
    {"webhook", "key.window_setting", "'url'", "$.key.window_setting: must name a setting of type number"},
    {"mastodon", "key.window_setting", "'max_characters'",
     "$.key.window_setting: is for platforms whose window only the operator knows"},
    {"mastodon", "key.max_length", "10", "$.key.max_length: "},
    {"mastodon", "key.format", "'md5'", "$.key.format: must be one of: plain"},
    {"mastodon", "repeats", "'harmless'", "$.repeats: tier ping, and no other, has harmless repeats"},
    {"indexnow", "repeats", "'harmful'", "$.repeats: tier ping, and no other, has harmless repeats"},
    {"forem", "stores_failures", "true", "$.stores_failures: only a platform of tier key"},
    {"webhook", "stores_failures", "true", NULL},
    {"bluesky", "reads.by_key", NULL, NULL},
    /* who it is */
    {"forem", "auth.name", NULL, "$.auth.name: kind header needs the header's name"},
    {"mastodon", "auth.name", "'x'", "$.auth.name: kind header needs the header's name, other kinds must not"},
    {"mastodon", "auth.prefix", "'Bot '", "$.auth.prefix: only kinds header and jwt have a prefix"},
    {"bluesky", "auth.login", NULL, "$.auth.login: kind session needs a login request"},
    {"bluesky", "auth.token", NULL, "$.auth.token: a login request, and a refresh, need a program"},
    {"mastodon", "auth.token", "'1'", "$.auth.token: a login request, and a refresh, need a program"},
    {"x", "auth.refresh", NULL, "$.auth.refresh: kind oauth2 needs the request that renews its token"},
    {"x", "auth.credentials", "['a']", "$.auth.credentials: kind oauth2 has refresh_token, client_id"},
    {"mediawiki", "auth.steps", NULL, "$.auth.login: kind session needs a login request, or steps"},
    {"mediawiki", "auth.token", "'1'", "$.auth.token: a login request, and a refresh, need a program"},
    {"mastodon", "auth.refused", "'true'", "$.auth.refused: only kinds session and oauth2 have logins"},
    {"mastodon", "auth.values", "['a']", "$.auth.values: only kinds session and oauth2 have values"},
    {"mastodon", "auth.kind", "'path'", "$.write.request.url: auth kind path: the address must hold a secret"},
    {"mastodon", "auth.audience", "'/a/'", "$.auth.audience: kind jwt needs the audience of its tokens, other kinds"},
    {"mastodon", "auth", "{'kind': 'jwt', 'lifetime_s': 60}", "$.auth.audience: kind jwt needs the audience"},
    {"mastodon", "auth", "{'kind': 'jwt', 'audience': '/a/'}", "$.auth.lifetime_s: kind jwt needs the lifetime"},
    {"mastodon", "auth", "{'kind': 'jwt', 'audience': 'a\\\\b', 'lifetime_s': 60}",
     "$.auth.audience: must be printable"},
    {"mastodon", "auth", "{'kind': 'jwt', 'audience': '/a/', 'lifetime_s': 60}", NULL},
    {"indexnow", "write.request.body.json", "'{}'",
     "$.write.request.body: auth kind body: the body must hold a secret"},
    {"mastodon", "auth", "{'kind': 'none'}", NULL},
    /* answers */
    {"mastodon", "accept[0]", NULL, "$.accept: needs a rule with the outcome committed"},
    {"mastodon", "accept[0].id", NULL, "$.accept[0]: committed needs id, or write.gives_id must be false"},
    {"indexnow", "accept[0].id", "'1'", "$.accept[0]: has an id although write.gives_id is false"},
    {"mastodon", "accept[1].stored", "'{}'", "$.accept[1]: stored belongs to outcome committed"},
    {"mastodon", "accept[1].duplicate", "'1'", "$.accept[1]: duplicate belongs to outcome committed"},
    {"mastodon", "accept[0].reason", "'whim'", "$.accept[0]: its reason is not in the table"},
    {"mastodon", "accept[1]", "{'outcome': 'unknown'}", "$.accept[1]: needs status or if"},
    /* requests, limits, settings, times */
    {"mastodon", "write.request.method", "'BREW'", "$.write.request: its method must be"},
    {"mastodon", "write.request.body.form", "'1'", "$.write.request: its body must be one of"},
    {"mastodon", "write.request.body", "{'text': '1'}", "$.write.request: a text body needs its content type"},
    {"mastodon", "write.request.body.type", "'text/plain'", "$.write.request: a text body needs its content type"},
    {"mastodon", "reads.by_id.request.body", "{'json': '1'}", "$.reads.by_id.request: a GET has no body"},
    {"mastodon", "limits[0].header", NULL, "$.limits[0]: form body needs at and no header, other forms need header"},
    {"mastodon", "limits[0].form", "'body'", "$.limits[0]: form body needs at"},
    {"mastodon", "limits[0].form", "'hours'", "$.limits[0].form: must be one of: seconds_or_date"},
    {"mastodon", "limits[0].header", "'X-RateLimit-Reset'", "$.limits[0]: write the header's name in lower case"},
    {"mastodon", "item.limits[0].max_setting", "'visibility'", "$.item.limits[0]: must name a setting of type number"},
    {"mastodon", "item.limits[0].max_setting", NULL, "$.item.limits[0]: needs max or max_setting"},
    {"mastodon", "settings.visibility.values", NULL, "$.settings.visibility: an enum needs values"},
    {"mastodon", "settings.instance.values", "['a']",
     "$.settings.instance: an enum needs values, other types must not"},
    {"mastodon", "settings.visibility.default", "'secret'",
     "$.settings.visibility: its default must be one of the setting's values"},
    {"mastodon", "settings.instance.default", "'https://m.example'",
     "$.settings.instance: what is required has no default"},
    {"mastodon", "settings.instance.help", NULL, "$.settings.instance.help: missing"},
    {"mastodon", "settings.Upper", "{'type': 'string', 'help': 'x'}",
     "$.settings.Upper: a setting's name is lower-case"},
    {"mastodon", "instance", "'visibility'", "$.instance: must name a setting of type origin or url"},
    {"webhook", "settings.url.required", NULL, "$.instance: the setting url must be required or have a default"},
    {"mastodon", "reads.prepare[0].name", NULL, "$.reads.prepare[0].name: missing"},
    {"mastodon", "write.limit_ms", "55000",
     "$.times.lease_s: 60 s must be above write.limit_ms (55000 ms) and times.margin_s (10 s) together"},
};

static void test_broken_ones_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        char path[200];
        struct errbuf err = {""};
        struct descriptor *descriptor;
        snprintf(path, sizeof(path), DESCRIPTORS "/%s.json", broken[i].platform);
        json_t *json = json_file(path);
        patch(json, broken[i].path, broken[i].value);
        snprintf(path, sizeof(path), "%s/%s.json", folder, broken[i].platform);
        assert_int_equal(json_dump_file(json, path, 0), 0);
        json_decref(json);
        bool ok = descriptor_load(path, &descriptor, &err);
        unlink(path);
        if (ok != (broken[i].message == NULL)) fail_msg("%s: %s: %s", broken[i].platform, broken[i].path, err.text);
        if (broken[i].message) {
            assert_null(descriptor);
            assert_has(err.text, path);
            assert_has(err.text, broken[i].message);
        }
        descriptor_free(&descriptor);
    }
}

static void test_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {{"{", "line 1, column 1"}, {"{\"a\": 1, \"a\": 2}", "duplicate"}, {"[]", "$: must be an object"}};
    char path[100];
    struct errbuf err;
    struct descriptor *descriptor;
    snprintf(path, sizeof(path), "%s/p.json", folder);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        FILE *file = fopen(path, "w");
        fputs(cases[i].text, file);
        fclose(file);
        assert_false(descriptor_load(path, &descriptor, &err));
        assert_has(err.text, path);
        assert_has(err.text, cases[i].message);
    }
    unlink(path);
    assert_false(descriptor_load(path, &descriptor, &err));
    assert_has(err.text, path);
}

/* A program that does not compile is found at its first run, again and again with the same text. */
static void test_programs_that_do_not_compile(void **state)
{
    (void)state;
    char path[100];
    struct errbuf err;
    struct descriptor *d;
    json_t *json = json_file(DESCRIPTORS "/forem.json"), *input = json_object(), *result;
    patch(json, "reads.listing.next", "'.cursor | nosuch'");
    snprintf(path, sizeof(path), "%s/forem.json", folder);
    assert_int_equal(json_dump_file(json, path, 0), 0);
    json_decref(json);
    if (!descriptor_load(path, &d, &err)) fail_msg("%s", err.text);
    unlink(path);
    for (int i = 0; i < 2; i++) {
        assert_false(descriptor_run(d, DESCRIPTOR_READ, "marks", input, &result, &err));
        assert_has(err.text, "forem.json: $.reads.listing.next: jq does not compile it: nosuch/0 is not defined");
    }
    /* the other half is not touched by it */
    json_object_set_new(input, "item", json_of("{'content_text': 'x'}"));
    assert_true(descriptor_run(d, DESCRIPTOR_WRITE, "text", input, &result, &err));
    json_decref(result);
    json_decref(input);
    descriptor_free(&d);
}

static void test_halves(void **state)
{
    (void)state;
    struct errbuf err;
    struct descriptor *d;
    json_t *input = json_of("{'answer': {'status': 400, 'body': {'error': 'ExpiredToken'}}}"), *result;
    assert_true(descriptor_load(DESCRIPTORS "/bluesky.json", &d, &err));
    assert_false(descriptor_run(d, DESCRIPTOR_READ, "write.request.url", input, &result, &err));
    assert_has(err.text, "$.write.request.url: there is no such program");
    assert_false(descriptor_run(d, DESCRIPTOR_WRITE, "reads.by_key.found", input, &result, &err));
    bool yes;
    for (enum descriptor_half half = 0; half < DESCRIPTOR_HALVES; half++) {
        assert_true(descriptor_ask(d, half, "accept[1].if", input, &yes, &err));
        assert_true(yes);
    }
    assert_false(descriptor_run(d, DESCRIPTOR_READ, "accept[2].if", input, &result, &err));
    json_decref(input);
    descriptor_free(&d);
}

static void test_set(void **state)
{
    (void)state;
    const char *dirs[] = {folder, DESCRIPTORS};
    struct descriptor_set *set = descriptor_set_new(dirs, 2);
    struct descriptor *a, *b;
    struct errbuf err;
    assert_true(descriptor_set_get(set, "mastodon", &a, &err));
    assert_true(descriptor_set_get(set, "mastodon", &b, &err));
    assert_ptr_equal(a, b);
    assert_has(a->file, DESCRIPTORS);
    assert_false(descriptor_set_get(set, "myspace", &b, &err));
    assert_has(err.text, "no descriptor myspace.json in ");
    assert_has(err.text, folder);
    char path[100];
    snprintf(path, sizeof(path), "%s/forem.json", folder); /* the first folder wins, also with a broken file */
    FILE *file = fopen(path, "w");
    fputs("{}", file);
    fclose(file);
    assert_false(descriptor_set_get(set, "forem", &b, &err));
    assert_has(err.text, path);
    unlink(path);
    assert_true(descriptor_set_get(set, "forem", &b, &err));
    descriptor_set_free(&set);
}

/* The object's schema behind "$ref". */
static json_t *resolve(json_t *schema, json_t *node)
{
    const char *ref = json_string_value(json_object_get(node, "$ref"));
    return ref ? json_object_get(json_object_get(schema, "$defs"), strrchr(ref, '/') + 1) : node;
}

static bool listed(const json_t *array, const char *name)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (strcmp(json_string_value(json_array_get(array, i)), name) == 0) return true;
    return false;
}

/* Member by member: the same names, the same required ones, the same words and bounds. */
static void compare(json_t *schema, json_t *node, const struct shape *shape, const char *where)
{
    json_t *properties = json_object_get(node, "properties"), *required = json_object_get(node, "required");
    if (!json_is_false(json_object_get(node, "additionalProperties"))) fail_msg("%s: takes other members", where);
    if (json_object_size(properties) != shape->count + 1)
        fail_msg("%s: has %zu members", where, json_object_size(properties));
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_member *member = &shape->members[i];
        json_t *at = resolve(schema, json_object_get(properties, member->name));
        char path[200];
        snprintf(path, sizeof(path), "%s.%s", where, member->name);
        if (!at) fail_msg("%s: not in the schema", path);
        if (member->required != listed(required, member->name)) fail_msg("%s: required in one of them", path);
        if (!json_object_get(at, "description") &&
            !json_object_get(json_object_get(properties, member->name), "description"))
            fail_msg("%s: no description", path);
        if (member->kind == SHAPE_INTEGER) {
            assert_int_equal(json_integer_value(json_object_get(at, "minimum")), member->min);
            assert_int_equal(json_integer_value(json_object_get(at, "maximum")), member->max);
        }
        for (int k = 0; member->words && member->words[k]; k++) {
            assert_int_equal(json_array_size(json_object_get(at, "enum")) > (size_t)k, 1);
            assert_true(listed(json_object_get(at, "enum"), member->words[k]));
            if (!member->words[k + 1]) assert_int_equal(json_array_size(json_object_get(at, "enum")), k + 1);
        }
        if (member->kind == SHAPE_OBJECT) compare(schema, at, member->shape, path);
        if (member->kind == SHAPE_LIST)
            compare(schema, resolve(schema, json_object_get(at, "items")), member->shape, path);
        if (member->kind == SHAPE_MAP)
            compare(schema, resolve(schema, json_object_get(at, "additionalProperties")), member->shape, path);
    }
}

static void test_schema(void **state)
{
    (void)state;
    json_t *schema = json_file(TREE "/docs/descriptor.schema.json");
    compare(schema, schema, descriptor_shape(), "$");
    json_decref(schema);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_ones_are_refused),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_programs_that_do_not_compile),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_schema),
    };
    return cmocka_run_group_tests_name("descriptor", tests, make_folder, drop_folder);
}

/* SPDX-License-Identifier: MIT */
/* docs/config.schema.json says the same as the table of settings, in both directions, with type, limits, default,
 * variable and help. */
#include "tests/unit/runtime/test.h"

#include "runtime/config.h"

static json_t *schema;

static int load_schema(void **state)
{
    json_error_t problem;
    (void)state;
    schema = json_load_file(TREE "/docs/config.schema.json", JSON_REJECT_DUPLICATES, &problem);
    return schema ? 0 : -1;
}

static int free_schema(void **state)
{
    (void)state;
    json_decref(schema);
    return 0;
}

/* The schema of "redis.url"; NULL if there is none. */
static const json_t *schema_of(const char *path)
{
    const json_t *at = json_object_get(schema, "properties");
    const char *dot = strchr(path, '.');
    if (dot) {
        json_t *section = json_object_getn(at, path, (size_t)(dot - path));
        assert_true(json_is_false(json_object_get(section, "additionalProperties")));
        at = json_object_get(section, "properties");
        path = dot + 1;
    }
    return json_object_get(at, path);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void check_number(const struct config_setting *setting, const json_t *described)
{
    assert_string_equal(text_of(described, "type"), "integer");
    assert_int_equal(json_integer_value(json_object_get(described, "default")), setting->fallback);
    assert_int_equal(json_integer_value(json_object_get(described, "minimum")), setting->min);
    assert_int_equal(json_integer_value(json_object_get(described, "maximum")), setting->max);
}

static void check_choice(const struct config_setting *setting, const json_t *described)
{
    char words[128] = "";
    size_t i = 0;
    json_t *word = NULL;
    json_t *list = json_object_get(described, "enum");
    json_array_foreach(list, i, word)
    {
        size_t len = strlen(words);
        (void)snprintf(words + len, sizeof words - len, "%s%s", i > 0 ? "|" : "", json_string_value(word));
    }
    assert_string_equal(words, setting->text);
    const json_t *fallback = json_array_get(list, (size_t)setting->fallback);
    assert_string_equal(text_of(described, "default"), json_string_value(fallback));
}

static void test_every_setting_is_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        const struct config_setting *setting = config_setting(i);
        const json_t *described = schema_of(setting->path);
        if (!described) fail_msg("%s is not in the schema", setting->path);
        assert_string_equal(text_of(described, "x-variable"), setting->variable);
        if (strncmp(text_of(described, "description"), setting->help, strlen(setting->help)) != 0)
            fail_msg("%s: another description", setting->path);
        switch (setting->kind) {
        case CONFIG_KIND_TEXT:
            assert_string_equal(text_of(described, "type"), "string");
            assert_string_equal(text_of(described, "default"), setting->text);
            break;
        case CONFIG_KIND_NUMBER: check_number(setting, described); break;
        case CONFIG_KIND_CHOICE: check_choice(setting, described); break;
        }
    }
}

static bool is_setting(const char *section, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", name);
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++)
        if (strcmp(config_setting(i)->path, path) == 0) return true;
    return false;
}

static void test_every_description_has_a_setting(void **state)
{
    (void)state;
    const char *name = NULL;
    json_t *described = NULL;
    size_t seen = 0;
    json_object_foreach(json_object_get(schema, "properties"), name, described)
    {
        const char *inner = NULL;
        json_t *field = NULL;
        bool special = name[0] == '$' || strcmp(name, "descriptors") == 0 || strcmp(name, "channels") == 0;
        bool section = !special && strcmp(text_of(described, "type"), "object") == 0;
        if (!special && !section) {
            if (!is_setting("", name)) fail_msg("%s is no setting", name);
            seen++;
        }
        json_object_foreach(section ? json_object_get(described, "properties") : NULL, inner, field)
        {
            if (strcmp(inner, "$comment") == 0) continue;
            if (!is_setting(name, inner)) fail_msg("%s.%s is no setting", name, inner);
            seen++;
        }
    }
    assert_int_equal(seen, CONFIG_SETTING_COUNT);
    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
}

/* The variable's name follows from the path. */
static void test_variables_are_named_by_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "LANDFALL_%s", config_setting(i)->path);
        for (char *c = name; *c; c++)
            *c = (char)(*c == '.' ? '_' : *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
        assert_string_equal(config_setting(i)->variable, name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_setting_is_described),
        cmocka_unit_test(test_every_description_has_a_setting),
        cmocka_unit_test(test_variables_are_named_by_rule),
    };
    return cmocka_run_group_tests(tests, load_schema, free_schema);
}

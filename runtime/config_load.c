/* SPDX-License-Identifier: MIT */
/*
 * From file and environment to a struct config. Errors read "<file>: <JSON path> ..." or "<VARIABLE>: ...", and never
 * quote a value that could be a secret in the wrong place.
 */
#include "runtime/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/die.h"
#include "runtime/file.h"

static const char *const searched[] = {"./landfall.json", "/etc/landfall/landfall.json"};

static void *field_of(struct config *config, const struct config_setting *setting)
{
    return (char *)config + setting->offset;
}

static void set_text(struct config *config, const struct config_setting *setting, const char *value)
{
    char **field = field_of(config, setting);
    free(*field);
    *field = xstrdup(value);
}

static struct config *config_with_defaults(void)
{
    struct config *config = xcalloc(1, sizeof *config);
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        const struct config_setting *setting = config_setting(i);
        switch (setting->kind) {
        case CONFIG_KIND_TEXT: set_text(config, setting, setting->text); break;
        case CONFIG_KIND_NUMBER: *(int64_t *)field_of(config, setting) = setting->fallback; break;
        case CONFIG_KIND_CHOICE: *(int *)field_of(config, setting) = (int)setting->fallback; break;
        }
    }
    config->channels = json_object();
    return config;
}

static bool is_name(const char *text)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    return len > 0 && len <= 64 && text[len] == '\0';
}

/* Values are set by what they are in JSON; the environment's strings are turned into that first. where: "<file>:
 * <path>" or the variable. */
static bool take_text(struct config *config, const struct config_setting *setting, const json_t *value,
                      const char *where, struct errbuf *err)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) != json_string_length(value)) {
        return errbuf_set(err, "%s must be a string", where);
    }
    bool may_be_empty = setting->pattern == CONFIG_OPTIONAL_NAME && *text == '\0';
    if ((setting->pattern == CONFIG_NAME || setting->pattern == CONFIG_OPTIONAL_NAME) && !may_be_empty &&
        !is_name(text)) {
        return errbuf_set(err, "%s must be 1 to 64 letters, digits, '.', '_' or '-'", where);
    }
    set_text(config, setting, text);
    return true;
}

static bool take_number(struct config *config, const struct config_setting *setting, const json_t *value,
                        const char *where, struct errbuf *err)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < setting->min || number > setting->max) {
        return errbuf_set(err, "%s must be a whole number from %" PRId64 " to %" PRId64, where, setting->min,
                          setting->max);
    }
    *(int64_t *)field_of(config, setting) = number;
    return true;
}

static bool take_choice(struct config *config, const struct config_setting *setting, const json_t *value,
                        const char *where, struct errbuf *err)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    int index = 0;
    for (const char *word = setting->text; word; index++) {
        size_t len = strcspn(word, "|");
        if (strlen(text) == len && memcmp(text, word, len) == 0) {
            *(int *)field_of(config, setting) = index;
            return true;
        }
        word = word[len] ? word + len + 1 : NULL;
    }
    return errbuf_set(err, "%s must be one of %s", where, setting->text);
}

static bool take(struct config *config, size_t i, const json_t *value, enum config_source source, const char *where,
                 struct errbuf *err)
{
    const struct config_setting *setting = config_setting(i);
    config->sources[i] = source;
    switch (setting->kind) {
    case CONFIG_KIND_TEXT: return take_text(config, setting, value, where, err);
    case CONFIG_KIND_NUMBER: return take_number(config, setting, value, where, err);
    case CONFIG_KIND_CHOICE: return take_choice(config, setting, value, where, err);
    }
    return false;
}

/* ---- the file ---- */

static bool find_setting(const char *path, size_t *found)
{
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        if (strcmp(config_setting(i)->path, path) == 0) {
            *found = i;
            return true;
        }
    }
    return false;
}

static bool is_section(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        const char *path = config_setting(i)->path;
        if (strncmp(path, name, len) == 0 && path[len] == '.') {
            return true;
        }
    }
    return false;
}

/* What may stand where the unknown field stands: the last names of the settings under the section, or the first ones at
 * the top. */
static bool unknown_field(const struct config *config, const char *section, const char *name, struct errbuf *err)
{
    struct buf known;
    size_t section_len = strlen(section);
    const char *last = "";

    buf_init(&known, 256);
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        const char *path = config_setting(i)->path;
        if (strncmp(path, section, section_len) != 0 || (section_len > 0 && path[section_len] != '.')) {
            continue;
        }
        const char *own = section_len > 0 ? path + section_len + 1 : path;
        size_t own_len = strcspn(own, ".");
        if (strncmp(own, last, own_len) != 0 || last[own_len] != '.') { /* a section once */
            buf_append_format(&known, "%.*s, ", (int)own_len, own);
        }
        last = own;
    }
    buf_append_text(&known, section_len > 0 ? "$comment" : "descriptors, channels, $comment");
    errbuf_set(err, "%s: unknown field %s%s%s; known here: %s", config->path, section, section_len > 0 ? "." : "", name,
               buf_text(&known));
    buf_fini(&known);
    return false;
}

static bool take_at(struct config *config, const char *section, const char *name, const json_t *value,
                    struct errbuf *err)
{
    char *path = xformat("%s%s%s", section, *section ? "." : "", name);
    char *where = xformat("%s: %s", config->path, path);
    size_t i = 0;
    bool done = find_setting(path, &i) ? take(config, i, value, CONFIG_FILE, where, err)
                                       : unknown_field(config, section, name, err);
    free(where);
    free(path);
    return done;
}

static bool read_section(struct config *config, const char *section, json_t *fields, struct errbuf *err)
{
    const char *name = NULL;
    json_t *value = NULL;

    if (!json_is_object(fields)) {
        return errbuf_set(err, "%s: %s must be an object", config->path, section);
    }
    json_object_foreach(fields, name, value)
    {
        if (strcmp(name, "$comment") != 0 && !take_at(config, section, name, value, err)) {
            return false;
        }
    }
    return true;
}

static void add_descriptor_dir(struct config *config, char *own_dir)
{
    config->descriptor_dirs =
        xrealloc_array(config->descriptor_dirs, config->descriptor_dir_count + 1, sizeof *config->descriptor_dirs);
    config->descriptor_dirs[config->descriptor_dir_count++] = own_dir;
}

static bool read_descriptors(struct config *config, const json_t *list, struct errbuf *err)
{
    size_t i = 0;
    json_t *dir = NULL;

    if (!json_is_array(list)) {
        return errbuf_set(err, "%s: descriptors must be a list of folders", config->path);
    }
    json_array_foreach(list, i, dir)
    {
        if (json_string_length(dir) == 0) {
            return errbuf_set(err, "%s: descriptors[%zu] must be the path of a folder", config->path, i);
        }
        add_descriptor_dir(config, file_path_beside(config->path, json_string_value(dir)));
    }
    return true;
}

static bool read_channels(struct config *config, json_t *channels, struct errbuf *err)
{
    const char *name = NULL;
    json_t *channel = NULL;

    if (!json_is_object(channels)) {
        return errbuf_set(err, "%s: channels must be an object with one object for each channel", config->path);
    }
    json_object_del(channels, "$comment");
    json_object_foreach(channels, name, channel)
    {
        if (!json_is_object(channel)) {
            return errbuf_set(err, "%s: channels[\"%s\"] must be an object", config->path, name);
        }
    }
    json_decref(config->channels);
    config->channels = json_incref(channels);
    return true;
}

static bool read_top(struct config *config, json_t *top, struct errbuf *err)
{
    const char *name = NULL;
    json_t *value = NULL;

    if (!json_is_object(top)) {
        return errbuf_set(err, "%s: must hold one JSON object", config->path);
    }
    json_object_foreach(top, name, value)
    {
        bool done = false;
        if (strcmp(name, "$comment") == 0 || strcmp(name, "$schema") == 0) { /* editors look for the schema here */
            done = true;
        } else if (strcmp(name, "descriptors") == 0) {
            done = read_descriptors(config, value, err);
        } else if (strcmp(name, "channels") == 0) {
            done = read_channels(config, value, err);
        } else if (is_section(name)) {
            done = read_section(config, name, value, err);
        } else {
            done = take_at(config, "", name, value, err);
        }
        if (!done) {
            return false;
        }
    }
    return true;
}

static bool read_file(struct config *config, struct errbuf *err)
{
    struct buf text;
    json_error_t problem;
    json_t *top = NULL;
    bool done = false;

    buf_init(&text, CONFIG_FILE_MAX_BYTES);
    if (!file_read(config->path, &text, err)) {
        goto out;
    }
    top = json_loadb(buf_text(&text), text.len, JSON_REJECT_DUPLICATES, &problem);
    if (!top) {
        /* Behind " near " it quotes what stands there, which may be a secret. */
        char *near = strstr(problem.text, " near ");
        if (near) *near = '\0';
        errbuf_set(err, "%s:%d:%d: is not valid JSON: %s", config->path, problem.line, problem.column, problem.text);
        goto out;
    }
    done = read_top(config, top, err);
out:
    json_decref(top);
    buf_fini(&text);
    return done;
}

/* The first file of the search order; NULL if there is none, which only the fixed places may say. */
static const char *find_file(const char *explicit_path)
{
    const char *variable = getenv("LANDFALL_CONFIG");
    if (explicit_path) {
        return explicit_path;
    }
    if (variable && *variable) {
        return variable;
    }
    for (size_t i = 0; i < sizeof searched / sizeof *searched; i++) {
        if (access(searched[i], F_OK) == 0 ||
            errno == EACCES) { /* one that may not be read is an error, not the next one */
            return searched[i];
        }
    }
    return NULL;
}

/* ---- the environment ---- */

static json_t *number_from(const char *text)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool whole = errno == 0 && end != text && *end == '\0' && strchr("-0123456789", *text);
    return whole ? json_integer(number) : json_null();
}

static bool read_variable(struct config *config, size_t i, struct errbuf *err)
{
    const struct config_setting *setting = config_setting(i);
    const char *text = getenv(setting->variable);

    if (!text || *text == '\0') { /* set to nothing is how compose files and unit files leave a variable out */
        return true;
    }
    json_t *value = setting->kind == CONFIG_KIND_NUMBER ? number_from(text) : json_string(text);
    bool done = take(config, i, value, CONFIG_ENVIRONMENT, setting->variable, err);
    json_decref(value);
    return done;
}

static bool read_environment(struct config *config, struct errbuf *err)
{
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        if (!read_variable(config, i, err)) {
            return false;
        }
    }
    return true;
}

/* ---- what needs more than one setting ---- */

static bool check_together(const struct config *config, struct errbuf *err)
{
    if (config->partition >= config->partitions) {
        return errbuf_set(err,
                          "partition is %" PRId64 ", but there are %" PRId64
                          " partitions, numbered from 0; set partition or partitions",
                          config->partition, config->partitions);
    }
    if (config->worker_max_in_flight_per_channel > config->worker_slots) {
        return errbuf_set(err, "worker.max_in_flight_per_channel is %" PRId64 ", more than worker.slots, %" PRId64,
                          config->worker_max_in_flight_per_channel, config->worker_slots);
    }
    if (config->delivery_backoff_base_ms > config->delivery_backoff_cap_ms) {
        return errbuf_set(err, "delivery.backoff_base_ms is %" PRId64 ", more than delivery.backoff_cap_ms, %" PRId64,
                          config->delivery_backoff_base_ms, config->delivery_backoff_cap_ms);
    }
    if (config->redis_wait_fsync == CONFIG_WAIT_FSYNC_ALL && config->redis_wait_replicas == 0) {
        return errbuf_set(err, "redis.wait_fsync is all, but redis.wait_replicas is 0; set it, or say local");
    }
    return true;
}

static bool read_password(const struct config *config, struct secret **password, struct errbuf *err)
{
    if (!secret_from_env("LANDFALL_REDIS_PASSWORD", password, err)) {
        return false;
    }
    if (*password || *config->redis_password_file == '\0') {
        return true;
    }
    return secret_from_file(config->redis_password_file, password, err) ||
           errbuf_prefix(err, "%s%sredis.password_file", config->path ? config->path : "", config->path ? ": " : "");
}

static bool read_sentinel_password(struct config *config, struct errbuf *err)
{
    return *config->redis_sentinel_password_file == '\0' ||
           secret_from_file(config->redis_sentinel_password_file, &config->redis_sentinel_password, err) ||
           errbuf_prefix(err, "%s%sredis.sentinel_password_file", config->path ? config->path : "",
                         config->path ? ": " : "");
}

bool config_reload_password(struct config *config, bool *changed, struct errbuf *err)
{
    struct secret *fresh = NULL;
    *changed = false;
    if (!read_password(config, &fresh, err)) {
        return false;
    }
    if (secret_equal(config->redis_password, fresh)) {
        secret_free(&fresh);
        return true;
    }
    secret_free(&config->redis_password);
    config->redis_password = fresh;
    *changed = true;
    return true;
}

/* Paths in the file are seen from its folder, paths in variables from where the process stands. */
static void resolve_paths(struct config *config)
{
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        const struct config_setting *setting = config_setting(i);
        if (setting->kind == CONFIG_KIND_TEXT && setting->pattern == CONFIG_PATH && config->sources[i] == CONFIG_FILE) {
            char **field = field_of(config, setting);
            char *seen = **field ? file_path_beside(config->path, *field) : xstrdup("");
            free(*field);
            *field = seen;
        }
    }
    if (config->descriptor_dir_count == 0) {
        add_descriptor_dir(config, file_path_beside(config->path ? config->path : "", "descriptors"));
    }
    add_descriptor_dir(config, xstrdup(DESCRIPTOR_DIR));
}

static bool check_and_finish(struct config *config, struct errbuf *err)
{
    resolve_paths(config);
    bool done =
        check_together(config, err) && config_redis_parse(config->redis_url, &config->redis, err) &&
        (address_list_parse(config->fetch_allow, &config->fetch_allowed, err) || errbuf_prefix(err, "fetch.allow")) &&
        (address_list_parse(config->http_only_hosts, &config->only_hosts, err) ||
         errbuf_prefix(err, "http.only_hosts"));
    if (!done && config->path) {
        return errbuf_prefix(err, "%s", config->path);
    }
    return done && read_password(config, &config->redis_password, err) && read_sentinel_password(config, err);
}

bool config_load(const char *explicit_path, struct config **config, struct errbuf *err)
{
    struct config *loaded = config_with_defaults();
    const char *path = find_file(explicit_path);

    *config = NULL;
    if (path) {
        loaded->path = xstrdup(path);
    }
    if ((path && !read_file(loaded, err)) || !read_environment(loaded, err) || !check_and_finish(loaded, err)) {
        config_free(&loaded);
        return false;
    }
    *config = loaded;
    return true;
}

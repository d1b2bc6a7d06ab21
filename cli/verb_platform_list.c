/* SPDX-License-Identifier: MIT */
/* The descriptors that a configuration finds, folder after folder: the first file of a name is the one that counts. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "platforms/descriptor.h"
#include "runtime/buf.h"
#include "runtime/die.h"

static const char *const type_words[] = {
#define X(symbol, word) [symbol] = word,
    DESCRIPTOR_SETTING_TYPES(X)
#undef X
};

struct listing {
    json_t *all, *seen; /* seen: platform -> the file that counts */
    bool broken;
};

static json_t *settings_json(const struct descriptor *d)
{
    json_t *settings = json_array();
    for (size_t i = 0; i < d->setting_count; i++) {
        const struct descriptor_setting *s = &d->settings[i];
        json_t *one = json_object();
        out_set(one, "name", out_string(s->name));
        out_set(one, "type", out_string(type_words[s->type]));
        out_set(one, "required", json_boolean(s->required));
        if (s->fallback) out_set(one, "default", json_incref((json_t *)s->fallback));
        if (s->values) out_set(one, "values", json_incref((json_t *)s->values));
        out_set(one, "help", out_string(s->help));
        out_add(settings, one);
    }
    return settings;
}

static json_t *credentials_json(const struct descriptor *d)
{
    json_t *names = json_array();
    const char *name;
    for (size_t i = 0; (name = descriptor_credential(d, i)) != NULL; i++)
        out_add(names, out_string(name));
    return names;
}

/* What a tier means to who publishes, in a few words. */
static const char *tier_words(enum descriptor_tier tier)
{
    switch (tier) {
    case TIER_KEY: return "a repeat under the same key is dropped";
    case TIER_UPSERT: return "a repeat writes the same post";
    case TIER_READ: return "what was published is read back";
    case TIER_BLIND: return "doubt is for a person";
    case TIER_PING: break;
    }
    return "a repeat does no harm";
}

static void add_descriptor(struct listing *l, const char *name, const char *path)
{
    struct descriptor *d = NULL;
    struct errbuf err;
    json_t *one = json_object();
    const json_t *first = json_object_get(l->seen, name);
    out_set(one, "platform", out_string(name));
    out_set(one, "file", out_string(path));
    if (first) out_set(one, "hidden_by", json_incref((json_t *)first));
    if (descriptor_load(path, &d, &err)) {
        out_set(one, "title", out_string(d->title));
        out_set(one, "tier", out_string(descriptor_tier_name(d->tier)));
        out_set(one, "tier_means", out_string(tier_words(d->tier)));
        out_set(one, "verified", json_boolean(!d->unverified));
        out_set(one, "settings", settings_json(d));
        out_set(one, "credentials", credentials_json(d));
    } else {
        out_set(one, "problem", out_string(err.text));
        l->broken = true;
    }
    if (!first) out_set(l->seen, name, out_string(path));
    descriptor_free(&d);
    out_add(l->all, one);
}

static int is_descriptor(const struct dirent *entry)
{
    const size_t len = strlen(entry->d_name);
    return len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

static void add_folder(struct listing *l, const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_descriptor, alphasort);
    for (int i = 0; i < count; i++) {
        char *name = xstrndup(entries[i]->d_name, strlen(entries[i]->d_name) - 5);
        char *path = xformat("%s/%s", folder, entries[i]->d_name);
        add_descriptor(l, name, path);
        free(name);
        free(path);
        free(entries[i]);
    }
    free(entries);
}

/* ---- for people */

static const char *text_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ": one of public, unlisted" and "; default "public"", the second as it is written in the configuration. */
static void add_choice(struct buf *words, const json_t *setting)
{
    const json_t *values = json_object_get(setting, "values"), *fallback = json_object_get(setting, "default");
    for (size_t i = 0; i < json_array_size(values); i++)
        buf_append_format(words, "%s%s", i > 0 ? ", " : ": one of ", json_string_value(json_array_get(values, i)));
    if (!fallback) return;
    char *text = json_dumps(fallback, JSON_ENCODE_ANY);
    buf_append_format(words, "; default %s", text ? text : "");
    free(text);
}

static void print_needs(const json_t *one)
{
    const json_t *settings = json_object_get(one, "settings"), *credentials = json_object_get(one, "credentials");
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const json_t *s = json_array_get(settings, i);
        struct buf words;
        buf_init(&words, 200);
        buf_append_format(&words, "%s", text_at(s, "type"));
        add_choice(&words, s);
        out_line(stdout, "    %s (%s%s): %s", text_at(s, "name"), buf_text(&words),
                 json_is_true(json_object_get(s, "required")) ? "; required" : "", text_at(s, "help"));
        buf_fini(&words);
    }
    for (size_t i = 0; i < json_array_size(credentials); i++)
        out_line(stdout, "    credential: %s", json_string_value(json_array_get(credentials, i)));
}

static void print(const struct listing *l)
{
    for (size_t i = 0; i < json_array_size(l->all); i++) {
        const json_t *one = json_array_get(l->all, i);
        const char *problem = text_at(one, "problem"), *hidden_by = text_at(one, "hidden_by");
        if (problem) {
            out_line(stderr, "landfall platform list: %s", problem);
            continue;
        }
        out_line(stdout, "%s: %s, %s: %s%s", text_at(one, "platform"), text_at(one, "title"), text_at(one, "tier"),
                 text_at(one, "tier_means"),
                 json_is_true(json_object_get(one, "verified")) ? "" : " (not all of it was seen on a real server)");
        out_line(stdout, "    file: %s%s%s", text_at(one, "file"), hidden_by ? ", hidden by " : "",
                 hidden_by ? hidden_by : "");
        if (!hidden_by) print_needs(one);
    }
}

static json_t *document(const struct config *config, const struct listing *l)
{
    json_t *all = json_object(), *folders = json_array();
    for (size_t i = 0; i < config->descriptor_dir_count; i++)
        out_add(folders, out_string(config->descriptor_dirs[i]));
    out_set(all, "folders", folders);
    out_set(all, "platforms", json_incref(l->all));
    return all;
}

enum cli_exit verb_platform_list(struct cli *cli)
{
    if (!config_load(cli->options.value[FLAG_CONFIG_ID], &cli->config, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    const struct config *config = cli->config;
    struct listing l = {.all = json_array(), .seen = json_object()};
    for (size_t i = 0; i < config->descriptor_dir_count; i++)
        add_folder(&l, config->descriptor_dirs[i]);
    enum cli_exit code = l.broken ? EXIT_USAGE : json_array_size(l.all) == 0 ? EXIT_MISSING : EXIT_FINE;
    if (cli->json) {
        if (!out_json(document(config, &l))) code = EXIT_USAGE;
    } else {
        print(&l);
        for (size_t i = 0; json_array_size(l.all) == 0 && i < config->descriptor_dir_count; i++)
            out_line(stderr, "landfall platform list: no descriptor in %s", config->descriptor_dirs[i]);
    }
    json_decref(l.all);
    json_decref(l.seen);
    return code;
}

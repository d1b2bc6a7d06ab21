/* SPDX-License-Identifier: MIT */
#include "platforms/channel.h"

#include <stdlib.h>
#include <string.h>

#include "keys/content.h"
#include "platforms/channel_load.h"
#include "platforms/program.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"

struct channel_set {
    struct channel **items;
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct channel *const *)a)->name, (*(struct channel *const *)b)->name);
}

static bool load_set(const json_t *channels, const struct channel_load *load, struct channel_set **out,
                     struct errbuf *err)
{
    *out = NULL;
    if (!json_is_object(channels)) return errbuf_set(err, "%s: $.channels: must be an object", load->file);
    struct channel_set *set = xcalloc(1, sizeof(*set));
    set->items = xcalloc(json_object_size(channels), sizeof(struct channel *));
    const char *name;
    json_t *object;
    json_object_foreach((json_t *)channels, name, object)
    {
        if (strcmp(name, "$comment") == 0) continue;
        if (!channel_load_one(load, name, object, &set->items[set->count], err)) {
            channel_set_free(&set);
            return false;
        }
        set->count++;
    }
    qsort(set->items, set->count, sizeof(struct channel *), by_name);
    *out = set;
    return true;
}

static const char *file_of(const char *config_path)
{
    return config_path ? config_path : "configuration";
}

bool channel_set_load(const json_t *channels, const char *config_path, struct descriptor_set *descriptors,
                      const struct delivery_policy *defaults, struct channel_set **out, struct errbuf *err)
{
    const struct channel_load load = {file_of(config_path), config_path, descriptors, defaults, false};
    return load_set(channels, &load, out, err);
}

bool channel_set_load_bare(const json_t *channels, const char *config_path, struct descriptor_set *descriptors,
                           const struct delivery_policy *defaults, struct channel_set **out, struct errbuf *err)
{
    const struct channel_load load = {file_of(config_path), config_path, descriptors, defaults, true};
    return load_set(channels, &load, out, err);
}

void channel_set_free(struct channel_set **set)
{
    if (!*set) return;
    for (size_t i = 0; i < (*set)->count; i++)
        channel_free(&(*set)->items[i]);
    free((*set)->items);
    free(*set);
    *set = NULL;
}

size_t channel_set_count(const struct channel_set *set)
{
    return set->count;
}

struct channel *channel_set_at(const struct channel_set *set, size_t i)
{
    return set->items[i];
}

bool channel_has_session(const struct channel *channel)
{
    return channel->auth == AUTH_SESSION || channel->auth == AUTH_OAUTH2;
}

static int name_against(const void *name, const void *item)
{
    return strcmp(name, (*(struct channel *const *)item)->name);
}

struct channel *channel_find(const struct channel_set *set, const char *name)
{
    struct channel **found = bsearch(name, set->items, set->count, sizeof(struct channel *), name_against);
    return found ? *found : NULL;
}

static void put(json_t *object, const char *name, json_t *own_value)
{
    if (json_object_set_new(object, name, own_value ? own_value : json_null()) != 0) die("out of memory");
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *value_or_null(const json_t *value)
{
    return value ? json_incref((json_t *)value) : json_null();
}

/* What the delivery before it is known by, or null. */
static json_t *after_to_json(const struct channel_facts *facts)
{
    if (!facts->after_id || facts->after_id[0] == '\0') return json_null();
    json_t *after = json_object();
    put(after, "ext_id", json_string(facts->after_id));
    put(after, "url", facts->after_url && facts->after_url[0] != '\0' ? json_string(facts->after_url) : json_null());
    return after;
}

static json_t *time_to_json(int64_t ms)
{
    char text[CLOCK_RFC3339_SIZE];
    return json_string(clock_rfc3339(ms, text));
}

/* What programs see of a delivery: X(name, value of the facts f of the channel c) */
#define MEMBERS(X)                                                                                                     \
    X(item, value_or_null(f->content ? content_fields(f->content) : f->item))                                          \
    X(text, text_or_null(f->text))                                                                                     \
    X(text_facts, value_or_null(f->text_facts))                                                                        \
    X(settings, json_incref(c->settings))                                                                              \
    X(channel, json_string(c->name))                                                                                   \
    X(account, json_string(c->account))                                                                                \
    X(key, text_or_null(f->key))                                                                                       \
    X(gen, json_integer(f->generation))                                                                                \
    X(approved_at_ms, json_integer(f->approved_at_ms))                                                                 \
    X(approved_at, time_to_json(f->approved_at_ms))                                                                    \
    X(dated_ms, json_integer(f->dated_ms))                                                                             \
    X(attempt_from_ms, json_integer(f->attempt_from_ms))                                                               \
    X(ext_id, text_or_null(f->ext_id))                                                                                 \
    X(replay, json_boolean(f->replay))                                                                                 \
    X(after, after_to_json(f))

enum member {
#define X(name, value) MEMBER_##name,
    MEMBERS(X)
#undef X
};

struct own_facts {
    const struct channel *channel;
    struct channel_facts facts;
};

static json_t *make_member(const void *own, size_t i)
{
    const struct channel *c = ((const struct own_facts *)own)->channel;
    const struct channel_facts *f = &((const struct own_facts *)own)->facts;
    switch ((enum member)i) {
#define X(name, value)                                                                                                 \
    case MEMBER_##name: return value;
        MEMBERS(X)
#undef X
    }
    return NULL;
}

static bool printed_member(const void *own, size_t i, struct program_printed *out)
{
    const struct content *content = ((const struct own_facts *)own)->facts.content;
    if (i != MEMBER_item || !content) return false;
    *out = (struct program_printed){content->canonical, content->canonical_len, content->strings_only};
    return true;
}

struct program_input *channel_input_lazy(const struct channel *channel, const struct channel_facts *facts)
{
#define X(name, value) #name,
    static const char *const names[] = {MEMBERS(X) NULL};
#undef X
    static const struct program_members members = {names, make_member, printed_member};
    struct own_facts *own = xmalloc(sizeof *own);
    *own = (struct own_facts){channel, *facts};
    struct program_input *input = program_input_lazy(&members, own);
    if (!facts->content) (void)program_input_get(input, "item"); /* holds it */
    return input;
}

json_t *channel_input(const struct channel *channel, const struct channel_facts *facts)
{
    struct program_input *input = channel_input_lazy(channel, facts);
    json_t *json = json_incref(program_input_json(input));
    program_input_free(&input);
    return json;
}

static void text_path(const struct channel *channel, char path[IDENTITY_CHANNEL_BYTES + 32])
{
    snprintf(path, IDENTITY_CHANNEL_BYTES + 32, "channels.%s.text", channel->name);
}

static bool compile_text(struct channel *channel, struct errbuf *err)
{
    char path[IDENTITY_CHANNEL_BYTES + 32];
    text_path(channel, path);
    struct program_part part = {path, channel->text};
    return channel->text_program || program_new("configuration", &part, 1, &channel->text_program, err);
}

bool channel_reload(struct channel *channel)
{
    struct errbuf err = {{0}};
    bool changed = false;
    if (!credentials_reload(&channel->credentials, &changed, &err))
        log_event(LOG_LEVEL_ERROR, "reload.refused", LOG_S("channel", channel->name), LOG_S("why", err.text));
    else if (changed)
        log_event(LOG_LEVEL_INFO, "reload.credential", LOG_S("channel", channel->name));
    return changed;
}

bool channel_compiles(struct channel *channel, enum descriptor_half half, struct errbuf *err)
{
    return descriptor_compiles(channel->descriptor, half, err) && (!channel->text || compile_text(channel, err));
}

static bool run_text(struct channel *channel, enum descriptor_half half, struct program_input *input, json_t **result,
                     struct errbuf *err)
{
    struct descriptor *descriptor = channel->descriptor;
    if (!channel->text) return descriptor_run_over(descriptor, half, descriptor->text_part, input, result, err);
    char path[IDENTITY_CHANNEL_BYTES + 32];
    text_path(channel, path);
    if (!compile_text(channel, err)) return false;
    return program_run_over(channel->text_program, path, input, result, err);
}

bool channel_text(struct channel *channel, enum descriptor_half half, const json_t *input, char **text,
                  struct errbuf *err)
{
    struct program_input *once = program_input_new(input);
    bool ok = channel_text_over(channel, half, once, text, err);
    program_input_free(&once);
    return ok;
}

bool channel_text_over(struct channel *channel, enum descriptor_half half, struct program_input *input, char **text,
                       struct errbuf *err)
{
    *text = NULL;
    json_t *result = NULL;
    if (!channel->text && !channel->descriptor->text_part) return true;
    if (!run_text(channel, half, input, &result, err)) return false;
    const char *string = json_string_value(result);
    bool ok = string && strlen(string) == json_string_length(result);
    if (ok) *text = xstrdup(string);
    json_decref(result);
    return ok || errbuf_set(err, "%s: the text is not a string without NUL characters", channel->name);
}

/* SPDX-License-Identifier: MIT */
#include "cli/items.h"

#include <stdlib.h>
#include <string.h>

#include "cli/out.h"
#include "keys/canonical.h"
#include "keys/hash.h"
#include "platforms/program.h"
#include "runtime/die.h"

#define MAP_PART "map"

struct items {
    struct input *input; /* NULL: --text */
    struct program *map;
    const char *text, *id; /* NULL: given already */
    json_t *mapped;        /* results of the program for one value */
    size_t mapped_at;
    size_t line;  /* of that value */
    json_t *json; /* the current item */
    char *made;   /* its bytes, where landfall made it */
};

/* The program stands in parentheses on lines of its own, so that a comment at its end ends. */
static bool open_map(const char *text, struct program **out, struct errbuf *err)
{
    char *wrapped = xformat(".value | (%s\n)", text);
    struct program_part part = {MAP_PART, wrapped};
    bool ok = program_new("--map", &part, 1, out, err);
    free(wrapped);
    return ok;
}

bool items_open(const struct items_source *source, struct items **out, struct errbuf *err)
{
    struct items *items = xcalloc(1, sizeof(*items));
    size_t max_bytes = source->map ? PROGRAM_INPUT_MAX_BYTES : CANONICAL_INPUT_MAX_BYTES;
    items->text = source->text;
    items->id = source->id;
    bool ok = !source->map || open_map(source->map, &items->map, err);
    ok = ok && (!source->path || input_open(source->path, source->map != NULL, max_bytes, &items->input, err));
    if (!ok) items_close(&items);
    *out = items;
    return ok;
}

void items_close(struct items **items)
{
    if (!*items) return;
    input_close(&(*items)->input);
    program_free(&(*items)->map);
    json_decref((*items)->mapped);
    json_decref((*items)->json);
    free((*items)->made);
    free(*items);
    *items = NULL;
}

void items_on_wait(struct items *items, input_waits *waits, void *context)
{
    if (items->input) input_on_wait(items->input, waits, context);
}

const char *items_name(const struct items *items)
{
    return items->input ? input_name(items->input) : "--text";
}

/* Takes canonical bytes of what landfall made through the same door as a file's. */
static bool take_made(struct items *items, const json_t *made, struct item *item, struct errbuf *err)
{
    char why[KEYS_ERR_BYTES];
    items->made = canonical_write(made, &item->len);
    if (!canonical_parse(items->made, item->len, &items->json, why)) return errbuf_set(err, "%s", why);
    item->bytes = items->made;
    item->json = items->json;
    return true;
}

static enum input_result from_text(struct items *items, struct item *item, struct errbuf *err)
{
    char hash[HASH_HEX_BYTES];
    char derived[sizeof("text-") + 16];
    if (!items->text) return INPUT_END;
    hash_bytes_hex(items->text, strlen(items->text), hash);
    snprintf(derived, sizeof(derived), "text-%.16s", hash);
    json_t *text = json_string(items->text);
    json_t *id = json_string(items->id ? items->id : derived);
    bool ok = text && id;
    items->text = NULL;
    if (ok) {
        json_t *made = json_object();
        out_set(made, "id", json_incref(id));
        out_set(made, "content_text", json_incref(text));
        ok = take_made(items, made, item, err);
        json_decref(made);
    } else {
        errbuf_set(err, "--text and --id must be UTF-8");
    }
    json_decref(text);
    json_decref(id);
    return ok ? INPUT_VALUE : INPUT_BAD;
}

/* The next of what the program made. */
static enum input_result from_mapped(struct items *items, struct item *item, struct errbuf *err)
{
    const json_t *made = json_array_get(items->mapped, items->mapped_at++);
    if (json_is_object(made)) return take_made(items, made, item, err) ? INPUT_VALUE : INPUT_BAD;
    if (made) {
        errbuf_set(err, "--map: result %zu is no object; an item is one", items->mapped_at);
        return INPUT_BAD;
    }
    json_decref(items->mapped);
    items->mapped = NULL;
    return INPUT_END;
}

static bool map_value(struct items *items, const char *bytes, size_t len, struct errbuf *err)
{
    json_error_t where;
    json_t *value = json_loadb(bytes, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!value) return errbuf_set(err, "not JSON: %s", where.text);
    json_t *input = json_object();
    json_t *result = NULL;
    out_set(input, "value", value);
    bool ok = program_run(items->map, MAP_PART, input, &result, err);
    json_decref(input);
    if (ok && json_is_object(result)) {
        items->mapped = json_array();
        out_add(items->mapped, result);
    } else if (ok && json_is_array(result)) {
        items->mapped = result;
    } else if (ok) {
        json_decref(result);
        ok = errbuf_set(err, "--map: the result is neither an item nor an array of items");
    }
    items->mapped_at = 0;
    return ok;
}

static enum input_result from_file(struct items *items, struct item *item, size_t *line, struct errbuf *err)
{
    char why[KEYS_ERR_BYTES];
    enum input_result result = input_next(items->input, &item->bytes, &item->len, line, err);
    if (result != INPUT_VALUE) return result;
    if (canonical_parse(item->bytes, item->len, &items->json, why)) {
        item->json = items->json;
        if (json_is_object(items->json)) return INPUT_VALUE;
        snprintf(why, sizeof(why), "this is no JSON object; an item is one");
    }
    errbuf_set(err, "%s", why);
    return INPUT_BAD;
}

static enum input_result from_file_mapped(struct items *items, struct item *item, size_t *line, struct errbuf *err)
{
    const char *bytes;
    size_t len;
    enum input_result result = INPUT_END;
    while (result == INPUT_END) {
        if (items->mapped) {
            result = from_mapped(items, item, err);
            continue;
        }
        result = input_next(items->input, &bytes, &len, &items->line, err);
        if (result == INPUT_END) break;
        if (result != INPUT_VALUE || !map_value(items, bytes, len, err)) {
            *line = items->line;
            return result == INPUT_VALUE ? INPUT_BAD : result;
        }
        result = INPUT_END;
    }
    *line = items->line;
    return result;
}

enum input_result items_next(struct items *items, struct item *item, size_t *line, struct errbuf *err)
{
    json_decref(items->json);
    free(items->made);
    items->json = NULL;
    items->made = NULL;
    *line = 1;
    if (!items->input) return from_text(items, item, err);
    return items->map ? from_file_mapped(items, item, line, err) : from_file(items, item, line, err);
}

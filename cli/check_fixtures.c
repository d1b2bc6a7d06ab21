/* SPDX-License-Identifier: MIT */
#include "cli/check_fixtures.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_case.h"
#include "cli/child.h"
#include "cli/out.h"
#include "cli/sample.h"
#include "runtime/die.h"

struct running {
    struct channel *channel;
    struct check_fixtures *out;
    json_t *ran;      /* object: path of a program that ran to true */
    bool *rule_tried; /* of each accept rule */
};

static void take_result(struct running *r, const json_t *result)
{
    const json_t *rule = json_object_get(result, "rule"), *ran = json_object_get(result, "ran");
    if (json_is_integer(rule) && (size_t)json_integer_value(rule) < r->channel->descriptor->rule_count)
        r->rule_tried[json_integer_value(rule)] = true;
    for (size_t i = 0; i < json_array_size(ran); i++)
        out_set(r->ran, json_string_value(json_array_get(ran, i)), json_true());
}

static void run_one(struct running *r, const char *file, const json_t *test, bool walk)
{
    struct check_case one = {.channel = r->channel, .test = test};
    struct errbuf err;
    json_t *result = NULL;
    const char *name = json_string_value(json_object_get(test, "name"));
    r->out->cases++;
    const bool ended = child_run(walk ? check_walk_run : check_case_run, &one, &result, &err);
    const char *problem = ended ? json_string_value(json_object_get(result, "problem")) : err.text;
    if (problem)
        out_add_format(r->out->problems, "%s: %s: %s", file, name ? name : "a case without name", problem);
    else
        r->out->passed++;
    if (walk && !problem && r->channel->descriptor->marks_part)
        out_set(r->ran, r->channel->descriptor->marks_part, json_true());
    take_result(r, result);
    json_decref(result);
}

static void run_file(struct running *r, const char *folder, const char *name)
{
    struct errbuf err;
    char *path = xformat("%s/%s", folder, name);
    json_t *cases = sample_file(path, &err);
    r->out->files++;
    if (!cases)
        out_add(r->out->problems, out_string(err.text));
    else if (json_array_size(cases) == 0)
        out_add_format(r->out->problems, "%s: must be a list of cases, not empty", path);
    for (size_t i = 0; i < json_array_size(cases); i++)
        run_one(r, path, json_array_get(cases, i), strcmp(name, "walks.json") == 0);
    json_decref(cases);
    free(path);
}

/* ---- what no fixture tries */

static void check_part(struct running *r, const char *part)
{
    if (part && !json_object_get(r->ran, part))
        out_add_format(r->out->problems, "%s: $.%s: no fixture runs it", r->channel->descriptor->file, part);
}

static void check_tried(struct running *r)
{
    const struct descriptor *d = r->channel->descriptor;
    for (size_t i = 0; i < d->rule_count; i++)
        if (!r->rule_tried[i])
            out_add_format(r->out->problems, "%s: $.accept[%zu]: no fixture is decided by it", d->file, i);
    for (size_t i = 0; i < d->read_prepare_count; i++)
        check_part(r, d->read_prepare[i].keep_part);
    for (size_t i = 0; i < d->prepare_count; i++) {
        check_part(r, d->prepare[i].keep_part);
        check_part(r, d->prepare[i].again_part);
    }
    for (size_t i = 0; i < d->login_step_count; i++)
        check_part(r, d->login_steps[i].keep_part);
    const char *const parts[] = {d->token_part,        d->by_id.found_part, d->by_id.gone_part,
                                 d->by_key.found_part, d->by_key.gone_part, d->listing.entries_part,
                                 d->listing.next_part, d->listing.end_part, d->marks_part, d->refused_part};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        check_part(r, parts[i]);
}

/* ---- */

static int is_cases(const struct dirent *entry)
{
    const size_t len = strlen(entry->d_name);
    return len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0 && strcmp(entry->d_name, "channel.json") != 0;
}

void check_fixtures_run(struct channel *channel, const char *folder, struct check_fixtures *out)
{
    struct running r = {.channel = channel, .out = out, .ran = json_object()};
    struct dirent **entries = NULL;
    r.rule_tried = xcalloc(channel->descriptor->rule_count, sizeof(*r.rule_tried));
    const int count = scandir(folder, &entries, is_cases, alphasort);
    if (count <= 0) out_add_format(out->problems, "%s: there is no list of cases in it", folder);
    for (int i = 0; i < count; i++) {
        run_file(&r, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    check_tried(&r);
    free(r.rule_tried);
    json_decref(r.ran);
}

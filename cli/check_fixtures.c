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

/* ---- words that nobody would read */

static const char *const CASE_MEMBERS[] = {"name", "kinds",  "answer",  "program",  "request", "input",
                                           "item", "expect", "verdict", "$comment", NULL};
static const char *const VERDICT_MEMBERS[] = {"event", "reason", "wait_ms", "spent_ms", "ext_id", NULL};
static const char *const WALK_MEMBERS[] = {"name",  "item",   "key",      "attempt_from_ms",
                                           "pages", "expect", "$comment", NULL};
static const char *const KINDS[] = {"success", "duplicate", "refusal", "limit",          "expired", "half",
                                    "running", "taken",     "stored",  "stored-failure", "deleted", NULL};

static bool is_one_of(const char *word, const char *const words[])
{
    for (size_t i = 0; words[i]; i++)
        if (word && strcmp(word, words[i]) == 0) return true;
    return false;
}

/* A member that none of these is, or NULL. */
static const char *stray(const json_t *object, const char *const members[])
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        if (!is_one_of(name, members)) return name;
    }
    return NULL;
}

static void check_members(struct running *r, const char *file, const json_t *test, bool walk)
{
    const char *name = json_string_value(json_object_get(test, "name"));
    const char *odd = stray(test, walk ? WALK_MEMBERS : CASE_MEMBERS);
    if (!odd && !walk) odd = stray(json_object_get(test, "verdict"), VERDICT_MEMBERS);
    if (odd)
        out_add_format(r->out->problems, "%s: %s: %s: there is no such member; take it out or correct its name", file,
                       name ? name : "a case", odd);
    if (walk && !json_is_integer(json_object_get(test, "attempt_from_ms")))
        out_add_format(r->out->problems, "%s: %s: attempt_from_ms: missing: write when the delivery was first sent",
                       file, name ? name : "a walk");
    const json_t *kinds = json_object_get(test, "kinds");
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const char *kind = json_string_value(json_array_get(kinds, i));
        if (!is_one_of(kind, KINDS))
            out_add_format(r->out->problems, "%s: %s: kinds: there is no kind %s", file, name ? name : "a case",
                           kind ? kind : "that is not a text");
    }
}

static void run_one(struct running *r, const char *file, const json_t *test, bool walk)
{
    struct check_case one = {.channel = r->channel, .test = test};
    struct errbuf err;
    json_t *result = NULL;
    const char *name = json_string_value(json_object_get(test, "name"));
    r->out->cases++;
    check_members(r, file, test, walk);
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
        out_add_format(r->out->problems, "%s: $.%s: no fixture runs it; write a case with this program",
                       r->channel->descriptor->file, part);
}

static void check_tried(struct running *r)
{
    const struct descriptor *d = r->channel->descriptor;
    for (size_t i = 0; i < d->rule_count; i++)
        if (!r->rule_tried[i])
            out_add_format(r->out->problems,
                           "%s: $.accept[%zu]: no fixture is decided by it; write a case with such an answer", d->file,
                           i);
    for (size_t i = 0; i < d->read_prepare_count; i++)
        check_part(r, d->read_prepare[i].keep_part);
    for (size_t i = 0; i < d->prepare_count; i++) {
        check_part(r, d->prepare[i].keep_part);
        check_part(r, d->prepare[i].again_part);
    }
    for (size_t i = 0; i < d->login_step_count; i++)
        check_part(r, d->login_steps[i].keep_part);
    const char *const parts[] = {
        d->token_part,           d->by_id.found_part,  d->by_id.gone_part,  d->by_key.found_part, d->by_key.gone_part,
        d->listing.entries_part, d->listing.next_part, d->listing.end_part, d->marks_part,        d->refused_part};
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
    if (count <= 0)
        out_add_format(out->problems, "%s: there is no list of cases in it; begin with accept.json", folder);
    for (int i = 0; i < count; i++) {
        run_file(&r, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    check_tried(&r);
    free(r.rule_tried);
    json_decref(r.ran);
}

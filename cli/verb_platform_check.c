/* SPDX-License-Identifier: MIT */
/*
 * Is a descriptor right, and what does it lead to? The file is read and checked, its programs are compiled, the
 * fixtures beside it are run, and what the engine makes of it is told in words. Redis is not asked and nothing is sent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/check_fixtures.h"
#include "cli/check_words.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/out.h"
#include "cli/sample.h"
#include "runtime/die.h"

struct check {
    struct cli *cli;
    char *folder, *platform; /* the file is <folder>/<platform>.json */
    char *fixtures;          /* the folder of its fixtures; NULL: there is none */
    json_t *channel;         /* their channel.json; NULL: none */
    struct sample sample;
    struct check_fixtures run;
    json_t *answers; /* check_words_answers(); NULL: it did not come to an end */
};

/* ---- where it is */

static bool is_file_name(const char *name)
{
    const size_t len = strlen(name);
    return strchr(name, '/') || (len > 5 && strcmp(name + len - 5, ".json") == 0);
}

static bool take_file(struct check *c, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t len = strlen(name);
    if (len <= 5 || strcmp(name + len - 5, ".json") != 0)
        return errbuf_set(&c->cli->err, "%s: a descriptor's file is called <platform>.json", path);
    if (access(path, R_OK) != 0) return errbuf_set(&c->cli->err, "%s: %s", path, strerror(errno));
    c->folder = slash == path ? xstrdup("/") : slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
    c->platform = xstrndup(name, len - 5);
    return true;
}

static bool take_name(struct check *c, const char *name)
{
    const struct config *config = c->cli->config;
    for (size_t i = 0; i < config->descriptor_dir_count && !c->folder; i++) {
        char *path = xformat("%s/%s.json", config->descriptor_dirs[i], name);
        if (access(path, F_OK) == 0) c->folder = xstrdup(config->descriptor_dirs[i]);
        free(path);
    }
    if (!c->folder)
        return errbuf_set(&c->cli->err,
                          "there is no descriptor %s.json; landfall platform list says where one is "
                          "looked for, and a file is named with its path",
                          name);
    c->platform = xstrdup(name);
    return true;
}

static bool find_fixtures(struct check *c)
{
    struct stat found;
    c->fixtures = xformat("%s/fixtures/%s", c->folder, c->platform);
    if (stat(c->fixtures, &found) != 0 || !S_ISDIR(found.st_mode)) {
        free(c->fixtures);
        c->fixtures = NULL;
        return true;
    }
    char *path = xformat("%s/channel.json", c->fixtures);
    if (access(path, F_OK) == 0)
        c->channel = sample_file(path, &c->cli->err);
    else
        errbuf_set(&c->cli->err, "%s: missing: write the settings of the test's channel, such as {\"settings\": {}}",
                   path);
    free(path);
    return c->channel != NULL;
}

/* ---- the check */

static bool open_descriptor(struct check *c, const char *name)
{
    struct errbuf *err = &c->cli->err;
    return (is_file_name(name) ? take_file(c, name) : take_name(c, name)) && find_fixtures(c) &&
           sample_open(c->folder, c->platform, c->channel, c->cli->config, &c->sample, err) &&
           descriptor_compiles(c->sample.channel->descriptor, DESCRIPTOR_READ, err) &&
           descriptor_compiles(c->sample.channel->descriptor, DESCRIPTOR_WRITE, err);
}

static void run(struct check *c)
{
    struct errbuf err;
    json_t *cases = NULL;
    if (c->fixtures) {
        char *path = xformat("%s/accept.json", c->fixtures);
        check_fixtures_run(c->sample.channel, c->fixtures, &c->run);
        cases = access(path, F_OK) == 0 ? sample_file(path, &err) : NULL;
        free(path);
    }
    struct check_words words = {c->sample.channel, cases};
    if (!child_run(check_words_answers, &words, &c->answers, &err))
        out_add_format(c->run.problems, "%s: judging answers: %s", c->sample.channel->descriptor->file, err.text);
    json_decref(cases);
}

/* ---- what is printed */

static json_t *document(const struct check *c)
{
    const struct descriptor *d = c->sample.channel->descriptor;
    json_t *all = json_object(), *fixtures = json_object();
    out_set(fixtures, "folder", out_string(c->fixtures));
    out_set(fixtures, "files", json_integer((json_int_t)c->run.files));
    out_set(fixtures, "cases", json_integer((json_int_t)c->run.cases));
    out_set(fixtures, "passed", json_integer((json_int_t)c->run.passed));
    out_set(all, "platform", out_string(d->platform));
    out_set(all, "title", out_string(d->title));
    out_set(all, "file", out_string(d->file));
    out_set(all, "ok", json_boolean(json_array_size(c->run.problems) == 0));
    out_set(all, "problems", json_incref(c->run.problems));
    out_set(all, "fixtures", fixtures);
    out_set(all, "facts", check_words_facts(c->sample.channel));
    out_set(all, "answers", c->answers ? json_incref(c->answers) : json_null());
    out_set(all, "doubt", check_words_doubt(c->sample.channel));
    return all;
}

static const char *text_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static void print_answers(const char *title, const json_t *list)
{
    if (json_array_size(list) == 0) return;
    out_line(stdout, "%s", title);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *names = json_object_get(one, "answers");
        struct buf text;
        buf_init(&text, 4096);
        for (size_t k = 0; k < json_array_size(names); k++)
            buf_append_format(&text, "%s%s", k ? "; " : "", json_string_value(json_array_get(names, k)));
        out_line(stdout, "  %s", buf_text(&text));
        out_line(stdout, "      %s", text_at(one, "then"));
        buf_fini(&text);
    }
}

static void print(const json_t *all)
{
    const json_t *facts = json_object_get(all, "facts"), *answers = json_object_get(all, "answers"),
                 *doubt = json_object_get(all, "doubt"), *fixtures = json_object_get(all, "fixtures");
    out_line(stdout, "%s (%s): %s", text_at(all, "platform"), text_at(all, "title"), text_at(all, "file"));
    for (size_t i = 0; i < json_array_size(facts); i++)
        out_line(stdout, "  %-13s %s", text_at(json_array_get(facts, i), "name"),
                 text_at(json_array_get(facts, i), "text"));
    print_answers("answers to the first attempt", json_object_get(answers, "first"));
    print_answers("answers to a repeat, while an earlier attempt is in doubt", json_object_get(answers, "again"));
    print_answers("answers of its fixtures", json_object_get(answers, "own"));
    out_line(stdout, "nobody knows whether it was executed, and reading back says");
    for (size_t i = 0; i < json_array_size(doubt); i++)
        out_line(stdout, "  %s: %s", text_at(json_array_get(doubt, i), "seen"),
                 text_at(json_array_get(doubt, i), "then"));
    if (text_at(fixtures, "folder"))
        out_line(stdout, "fixtures: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " cases in %s are as expected",
                 json_integer_value(json_object_get(fixtures, "passed")),
                 json_integer_value(json_object_get(fixtures, "cases")), text_at(fixtures, "folder"));
    else
        out_line(
            stdout,
            "fixtures: none beside it (fixtures/%s/); nothing shows that its programs read this platform's answers",
            text_at(all, "platform"));
}

static enum cli_exit finish(const struct check *c)
{
    const json_t *problems = c->run.problems;
    const enum cli_exit code = json_array_size(problems) == 0 ? EXIT_FINE : EXIT_USAGE;
    json_t *all = document(c);
    if (c->cli->json) return out_json(all) ? code : EXIT_USAGE;
    print(all);
    for (size_t i = 0; i < json_array_size(problems); i++)
        out_line(stderr, "landfall platform check: %s", json_string_value(json_array_get(problems, i)));
    json_decref(all);
    return code;
}

enum cli_exit verb_platform_check(struct cli *cli)
{
    struct check c = {.cli = cli, .run = {.problems = json_array()}};
    enum cli_exit code;
    if (config_load(cli->options.value[FLAG_CONFIG_ID], &cli->config, &cli->err) &&
        open_descriptor(&c, cli->options.operand[0])) {
        run(&c);
        code = finish(&c);
    } else {
        code = cli_fail(cli, EXIT_USAGE);
    }
    sample_fini(&c.sample);
    json_decref(c.answers);
    json_decref(c.run.problems);
    json_decref(c.channel);
    free(c.fixtures);
    free(c.folder);
    free(c.platform);
    return code;
}

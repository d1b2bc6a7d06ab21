/* SPDX-License-Identifier: MIT */
/*
 * The cage around libjq. What a descriptor's text may not reach is either missing (no module folders, no ~/.jq) or
 * redefined by the prelude; own callbacks stand where libjq would call NULL or write to stderr. Tried with jq 1.6:
 * without them `input` crashes and `env` shows the process's environment.
 *
 * Text in parentheses cannot leave them: program_new() checks that its brackets balance, strings and comments looked
 * through, before it is joined.
 */
#include "platforms/program.h"

#include <jq.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/pick.h"
#include "platforms/program_value.h"
#include "runtime/buf.h"
#include "runtime/die.h"

#define PROGRAM_TEXT_MAX_BYTES ((size_t)1 << 20)

struct part {
    char *path;
    struct pick *pick; /* NULL: only jq can run it */
};

struct program {
    jq_state *jq;
    char *file;
    struct part *parts;
    size_t count;
    char message[256]; /* what libjq said last */
};

/* One line, so that line numbers in jq's messages count from the text. What it redefines: whatever looks outside
 * (environment, other inputs, files, clock, time zone), writes, or ends the run; and what fails an assertion inside
 * libjq 1.6 or 1.7 on values that it does not expect. */
#define FORBID(name) "def " name ": error(\"" name " is not available in a descriptor\");"
static const char prelude[] = FORBID("env") FORBID("input") FORBID("inputs") FORBID("debug") FORBID("stderr") FORBID(
    "halt") FORBID("halt_error") FORBID("now") FORBID("localtime") FORBID("get_search_list") FORBID("modulemeta")
    FORBID("input_line_number") FORBID(
        "input_filename") "def debug(f): debug; def halt_error(f): halt_error; def strflocaltime(f): localtime;"
                          "def _lf_implode: implode;"
                          "def implode: if type == \"array\" and all(.[]; type == \"number\" and . >= 0 and . <= "
                          "1114111"
                          " and (. < 55296 or . > 57343)) then _lf_implode else error(\"implode: not an array of code "
                          "points\") end;"
                          "def _lf_instant: if type == \"number\" and . >= -62135596800 and . <= 253402300799 then ."
                          " else error(\"not a time in the years 1 to 9999\") end;"
                          "def _lf_gmtime: gmtime; def gmtime: _lf_instant | _lf_gmtime;"
                          "def _lf_strftime(f): strftime(f); def strftime(f): gmtime | _lf_strftime(f);"
                          "def todateiso8601: strftime(\"%Y-%m-%dT%H:%M:%SZ\"); def todate: todateiso8601; def date: "
                          "todateiso8601;"
                          "def dateadd(u; n): (. + n) | todate; def datesub(u; n): (. - n) | todate;"
                          "null as $ENV | ";

static void keep_message(void *data, jv message)
{
    struct program *program = data;
    if (program->message[0] == '\0') {
        jv text = jq_format_error(message);
        if (jv_get_kind(text) == JV_KIND_STRING)
            snprintf(program->message, sizeof(program->message), "%s", jv_string_value(text));
        jv_free(text);
    } else {
        jv_free(message);
    }
}

static void ignore_message(void *data, jv message)
{
    (void)data;
    jv_free(message);
}

static jv no_more_inputs(jq_state *jq, void *data)
{
    (void)jq;
    (void)data;
    return jv_invalid_with_msg(jv_string("no inputs"));
}

static void out_of_memory(void *data)
{
    (void)data;
    die("out of memory");
}

/* A syntax error quotes the whole program behind its position; only what is in front of it is for people. */
static void trim_message(char *message)
{
    static const char *const ends[] = {" at <top-level>", " (Unix shell quoting issues?)", "\n"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        char *end = strstr(message, ends[i]);
        if (end) *end = '\0';
    }
    const char *start = strncmp(message, "jq: error: ", 11) == 0 ? message + 11 : message;
    memmove(message, start, strlen(start) + 1);
}

/* What is open at a place of a jq text: the closing brackets waited for, '"' for a string. */
struct nesting {
    char closers[128];
    size_t depth;
};

static bool nest(struct nesting *nesting, char closer)
{
    if (nesting->depth == sizeof(nesting->closers)) return false;
    nesting->closers[nesting->depth++] = closer;
    return true;
}

/* Inside a string: \( begins a program. Returns how many bytes were read, 0 if it is nested too deep. */
static size_t read_in_string(struct nesting *nesting, const char *at)
{
    if (*at == '"') nesting->depth--;
    if (*at != '\\' || at[1] == '\0') return 1;
    return at[1] != '(' || nest(nesting, ')') ? 2 : 0;
}

/* Outside of strings; 0 also for a bracket that closes nothing. */
static size_t read_in_program(struct nesting *nesting, char top, const char *at)
{
    static const char openers[] = "([{\"", closers[] = ")]}\"";
    const char *opener = strchr(openers, *at);
    if (*at == '#') return strcspn(at, "\n");
    if (opener) return nest(nesting, closers[opener - openers]) ? 1 : 0;
    if (strchr(closers, *at)) {
        if (*at != top) return 0;
        nesting->depth--;
    }
    return 1;
}

/* True if the brackets of a jq text balance, strings (which may hold programs) and comments looked through. */
static bool brackets_balance(const char *text)
{
    struct nesting nesting = {.depth = 0};
    while (*text) {
        char top = nesting.depth > 0 ? nesting.closers[nesting.depth - 1] : '\0';
        size_t step = top == '"' ? read_in_string(&nesting, text) : read_in_program(&nesting, top, text);
        if (step == 0) return false;
        text += step;
    }
    return nesting.depth == 0;
}

/* libjq reads ~/.jq, which may redefine what it likes, while HOME is set. */
static bool compile_without_home(jq_state *jq, const char *text)
{
    const char *home = getenv("HOME");
    char *kept = home ? xstrdup(home) : NULL;
    unsetenv("HOME");
    bool ok = jq_compile(jq, text) != 0;
    if (kept && setenv("HOME", kept, 1) != 0) die("out of memory");
    free(kept);
    return ok;
}

static bool compile(struct program *program, const char *text)
{
    program->message[0] = '\0';
    program->jq = jq_init();
    if (!program->jq) die("out of memory");
    jq_set_nomem_handler(program->jq, out_of_memory, NULL);
    jq_set_error_cb(program->jq, keep_message, program);
    jq_set_debug_cb(program->jq, ignore_message, NULL);
    jq_set_input_cb(program->jq, no_more_inputs, NULL);
    jq_set_attr(program->jq, jv_string("JQ_LIBRARY_PATH"), jv_array());
    if (compile_without_home(program->jq, text)) return true;
    jq_teardown(&program->jq);
    trim_message(program->message);
    return false;
}

static void append_joined(struct buf *text, const struct program_part *parts, size_t count)
{
    buf_append_text(text, prelude);
    for (size_t i = 0; i < count; i++)
        buf_append_format(text, "%s .part == \"%s\" then (\n%s\n)\n", i == 0 ? "if" : "elif", parts[i].path,
                          parts[i].text);
    const char *none = "error(\"no such part\")"; /* a platform that cannot be read has no part in the read half */
    buf_append_format(text, count > 0 ? "else %s end" : "%s", none);
}

/* The joined text did not compile: find the part that does not compile by itself. */
static bool blame_part(struct program *program, const struct program_part *parts, size_t count, struct errbuf *err)
{
    for (size_t i = 0; i < count; i++) {
        struct buf text;
        buf_init(&text, PROGRAM_TEXT_MAX_BYTES);
        append_joined(&text, &parts[i], 1);
        bool ok = compile(program, buf_text(&text));
        buf_fini(&text);
        if (!ok)
            return errbuf_set(err, "%s: $.%s: jq does not compile it: %s", program->file, parts[i].path,
                              program->message);
        jq_teardown(&program->jq);
    }
    return errbuf_set(err, "%s: its programs do not compile together; take parts out until they do", program->file);
}

static bool check_parts(const char *file, const struct program_part *parts, size_t count, struct errbuf *err)
{
    for (size_t i = 0; i < count; i++)
        if (!brackets_balance(parts[i].text))
            return errbuf_set(err, "%s: $.%s: brackets or quotes do not balance", file, parts[i].path);
    return true;
}

bool program_new(const char *file, const struct program_part *parts, size_t count, struct program **out,
                 struct errbuf *err)
{
    if (!check_parts(file, parts, count, err)) return false;
    struct program *program = xcalloc(1, sizeof(*program));
    program->file = xstrdup(file);
    program->parts = xcalloc(count, sizeof(*program->parts));
    program->count = count;
    for (size_t i = 0; i < count; i++)
        program->parts[i] = (struct part){xstrdup(parts[i].path), pick_new(parts[i].text)};

    struct buf text;
    buf_init(&text, PROGRAM_TEXT_MAX_BYTES);
    append_joined(&text, parts, count);
    bool ok = true;
    if (text.cut) {
        ok = errbuf_set(err, "%s: its programs are longer than %zu bytes together", file, PROGRAM_TEXT_MAX_BYTES);
    } else if (!compile(program, buf_text(&text))) {
        ok = blame_part(program, parts, count, err);
    }
    buf_fini(&text);
    if (!ok) program_free(&program);
    *out = program;
    return ok;
}

void program_free(struct program **program)
{
    if (!*program) return;
    if ((*program)->jq) jq_teardown(&(*program)->jq);
    for (size_t i = 0; i < (*program)->count; i++) {
        free((*program)->parts[i].path);
        pick_free(&(*program)->parts[i].pick);
    }
    free((*program)->parts);
    free((*program)->file);
    free(*program);
    *program = NULL;
}

/* Why a run gave nothing: jq's message, if there is one. Takes the value over. */
static bool no_result(const struct program *program, const char *part, jv own_invalid, struct errbuf *err)
{
    if (!jv_invalid_has_msg(jv_copy(own_invalid))) {
        jv_free(own_invalid);
        return errbuf_set(err, "%s: $.%s: gave no result; it must give exactly one", program->file, part);
    }
    jv message = jv_invalid_get_msg(own_invalid);
    if (jv_get_kind(message) != JV_KIND_STRING) message = jv_dump_string(message, 0);
    errbuf_set(err, "%s: $.%s: %.200s", program->file, part, jv_string_value(message));
    jv_free(message);
    return false;
}

static bool take_only_result(struct program *program, const char *part, json_t **result, struct errbuf *err)
{
    jv value = jq_next(program->jq);
    if (!jv_is_valid(value)) return no_result(program, part, value, err);
    struct program_budget budget = {PROGRAM_RESULT_MAX_BYTES, PROGRAM_RESULT_DEPTH_MAX};
    json_t *converted = program_value_from_jv(value, &budget);
    if (!converted)
        return errbuf_set(
            err, "%s: $.%s: its result is too large or too deep, or holds an infinite number or a NUL in a name",
            program->file, part);
    jv second = jq_next(program->jq);
    bool one = !jv_is_valid(second) && !jv_invalid_has_msg(jv_copy(second));
    if (jv_is_valid(second)) {
        errbuf_set(err, "%s: $.%s: gave more than one result; it must give exactly one", program->file, part);
        jv_free(second);
    } else if (!one) {
        no_result(program, part, second, err);
    } else {
        jv_free(second);
    }
    if (!one) {
        json_decref(converted);
        return false;
    }
    *result = converted;
    return true;
}

static bool run_jq(struct program *program, const char *part, struct program_input *input, json_t **result,
                   struct errbuf *err)
{
    jv value = program_input_jv(input);
    if (!jv_is_valid(value))
        return errbuf_set(err, "%s: $.%s: its input is larger than %zu bytes or deeper than %d levels", program->file,
                          part, PROGRAM_INPUT_MAX_BYTES, PROGRAM_INPUT_DEPTH_MAX);
    program->message[0] = '\0';
    jq_start(program->jq, jv_object_set(value, jv_string("part"), jv_string(part)), 0);
    bool ok = take_only_result(program, part, result, err);
    /* Let go of what the run still holds. */
    jq_start(program->jq, jv_null(), 0);
    return ok;
}

static const struct part *part_of(const struct program *program, const char *path)
{
    for (size_t i = 0; i < program->count; i++)
        if (strcmp(program->parts[i].path, path) == 0) return &program->parts[i];
    return NULL;
}

bool program_sees(const struct program *program, const char *part, const char *member)
{
    const struct part *known = part_of(program, part);
    return !known || !known->pick || pick_names(known->pick, member);
}

static bool is_known(const struct program *program, const struct part *known, const char *part, struct errbuf *err)
{
    return known ||
           errbuf_set(err,
                      "%s: $.%s: there is no such program; it is named by its place, such as reads.prepare[0].keep",
                      program->file, part);
}

bool program_run_over(struct program *program, const char *part, struct program_input *input, json_t **result,
                      struct errbuf *err)
{
    const struct part *known = part_of(program, part);
    *result = NULL;
    if (!is_known(program, known, part, err)) return false;
    if (known->pick) *result = pick_run(known->pick, input, PROGRAM_RESULT_MAX_BYTES, PROGRAM_RESULT_DEPTH_MAX);
    return *result || run_jq(program, part, input, result, err);
}

bool program_print_over(struct program *program, const char *part, struct program_input *input,
                        struct canonical_text *out, struct errbuf *err)
{
    const struct part *known = part_of(program, part);
    json_t *result = NULL;
    if (!is_known(program, known, part, err)) return false;
    if (known->pick && pick_print(known->pick, input, PROGRAM_RESULT_MAX_BYTES, PROGRAM_RESULT_DEPTH_MAX, out))
        return true;
    if (!run_jq(program, part, input, &result, err)) return false;
    canonical_put_value(out, result);
    json_decref(result);
    return true;
}

bool program_run(struct program *program, const char *part, const json_t *input, json_t **result, struct errbuf *err)
{
    struct program_input *once = program_input_new(input);
    bool ok = program_run_over(program, part, once, result, err);
    program_input_free(&once);
    return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * A parser by recursive descent into a tree of nodes, and a walk over the tree. What jq reads as the same text in
 * another way must not get through the parser, so it takes a word or a sign only where nothing else can follow it.
 */
#include "platforms/pick.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/program_budget.h"
#include "runtime/buf.h"
#include "runtime/die.h"
#include "runtime/utf8.h"

#define TEXT_MAX_BYTES   4096
#define NESTING_MAX      32
#define NUMBER_DIGITS    15 /* a double holds every such integer */
#define OBJECT_NAMES_MAX 256

enum kind { PICK_CONSTANT, PICK_PATH, PICK_OBJECT, PICK_LIST, PICK_SUM, PICK_ALTERNATIVE };

struct pick {
    enum kind kind;
    char *name;         /* of an object's member; a step of a path */
    json_t *constant;   /* of PICK_CONSTANT */
    struct pick *inner; /* first of the parts: members in order of their names, terms, steps of the path */
    struct pick *next;
};

/* ---- from text to tree ---- */

struct parser {
    const char *at;
    int nesting;
};

static struct pick *new_pick(enum kind kind)
{
    struct pick *pick = xcalloc(1, sizeof *pick);
    pick->kind = kind;
    return pick;
}

void pick_free(struct pick **pick)
{
    for (struct pick *one = *pick, *next; one; one = next) {
        next = one->next;
        pick_free(&one->inner);
        json_decref(one->constant);
        free(one->name);
        free(one);
    }
    *pick = NULL;
}

static struct pick *give_up(struct pick *own_pick)
{
    pick_free(&own_pick);
    return NULL;
}

static void skip_space(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

/* True, and behind it, where this sign comes next. */
static bool take(struct parser *p, const char *sign)
{
    skip_space(p);
    size_t len = strlen(sign);
    if (strncmp(p->at, sign, len) != 0) return false;
    p->at += len;
    return true;
}

static size_t word_length(const char *at)
{
    size_t len = 0;
    if (!isalpha((unsigned char)*at) && *at != '_') return 0;
    while (isalnum((unsigned char)at[len]) || at[len] == '_')
        len++;
    return len;
}

/* What stands between quotes; NULL for one with a program in it or an escape of another kind. */
static char *parse_quoted(struct parser *p)
{
    static const char escapes[] = "\"\\/nrt", meanings[] = "\"\\/\n\r\t";
    struct buf text;
    if (*p->at != '"') return NULL;
    buf_init(&text, TEXT_MAX_BYTES);
    for (p->at++; *p->at != '"' && *p->at != '\0'; p->at++) {
        const char *escape = *p->at == '\\' && p->at[1] != '\0' ? strchr(escapes, *++p->at) : p->at;
        if (!escape) break;
        buf_append(&text, escape == p->at ? escape : &meanings[escape - escapes], 1);
    }
    if (*p->at != '"') {
        buf_fini(&text);
        return NULL;
    }
    p->at++;
    return buf_take(&text, NULL);
}

static struct pick *constant(json_t *own_value)
{
    if (!own_value) die("out of memory");
    struct pick *pick = new_pick(PICK_CONSTANT);
    pick->constant = own_value;
    return pick;
}

static struct pick *parse_text(struct parser *p)
{
    char *text = parse_quoted(p);
    struct pick *pick = text ? constant(json_string(text)) : NULL;
    free(text);
    return pick;
}

static struct pick *parse_number(struct parser *p)
{
    char *end;
    size_t len = strspn(p->at, "0123456789");
    if (len > NUMBER_DIGITS || (len > 1 && *p->at == '0') || (p->at[len] && strchr(".eE", p->at[len]))) return NULL;
    long long value = strtoll(p->at, &end, 10);
    p->at = end;
    return constant(json_integer(value));
}

static struct pick *parse_word(struct parser *p)
{
    static const char *const words[] = {"null", "false", "true"};
    size_t len = word_length(p->at);
    for (int i = 0; i < 3; i++) {
        if (strlen(words[i]) != len || strncmp(p->at, words[i], len) != 0) continue;
        p->at += len;
        return constant(i == 0 ? json_null() : json_boolean(i == 2));
    }
    return NULL;
}

/* One step of a path: .name or ["name"]. */
static char *parse_step(struct parser *p)
{
    size_t len = *p->at == '.' ? word_length(p->at + 1) : 0;
    char *name = NULL;
    if (len > 0) {
        name = xstrndup(p->at + 1, len);
        p->at += 1 + len;
    } else if (*p->at == '[') {
        p->at++;
        name = parse_quoted(p);
        if (name && *p->at != ']') {
            free(name);
            return NULL;
        }
        if (name) p->at++;
    }
    return name;
}

/* Behind a path jq would read on at a dot, a bracket or a quote. */
static struct pick *parse_path(struct parser *p)
{
    struct pick *path = new_pick(PICK_PATH), **end = &path->inner;
    do {
        char *name = parse_step(p);
        if (!name) return give_up(path);
        *end = new_pick(PICK_PATH);
        (*end)->name = name;
        end = &(*end)->next;
    } while (*p->at == '.' || *p->at == '[');
    if (strcmp(path->inner->name, "part") == 0) return give_up(path); /* which program runs: of jq's input alone */
    while (*p->at == '?')
        p->at++; /* jq passes over an error there; where there is one, it is asked */
    return p->at[-1] == '?' && *p->at == '/' ? give_up(path) : path; /* "?//" is a word of its own */
}

static struct pick *parse_alternative(struct parser *p);

static struct pick *parse_list(struct parser *p)
{
    struct pick *list = new_pick(PICK_LIST);
    p->at++;
    if (take(p, "]")) return list;
    list->inner = parse_alternative(p);
    return list->inner && take(p, "]") ? list : give_up(list);
}

static struct pick *parse_term(struct parser *p);

/* name: term. Members stand in the order of their names, as jq gives them; of two of the same name jq knows which. */
static bool parse_member(struct parser *p, struct pick *object)
{
    skip_space(p);
    size_t len = word_length(p->at);
    char *name = len > 0 ? xstrndup(p->at, len) : parse_quoted(p);
    p->at += len;
    struct pick *value = name && take(p, ":") ? parse_term(p) : NULL, **place = &object->inner;
    while (value && *place && strcmp((*place)->name, name) < 0)
        place = &(*place)->next;
    if (!value || (*place && strcmp((*place)->name, name) == 0)) {
        pick_free(&value);
        free(name);
        return false;
    }
    value->name = name;
    value->next = *place;
    *place = value;
    return true;
}

static struct pick *parse_object(struct parser *p)
{
    struct pick *object = new_pick(PICK_OBJECT);
    p->at++;
    if (take(p, "}")) return object;
    do {
        if (!parse_member(p, object)) return give_up(object);
    } while (take(p, ","));
    return take(p, "}") ? object : give_up(object);
}

static struct pick *parse_parentheses(struct parser *p)
{
    p->at++;
    struct pick *inner = parse_alternative(p);
    return inner && take(p, ")") ? inner : give_up(inner);
}

/* Behind a term may stand what ends it or puts another one to it. What jq would join to it is not known here. */
static bool term_ends(struct parser *p)
{
    skip_space(p);
    return *p->at == '\0' || strchr("+/,)]}", *p->at);
}

static struct pick *parse_term(struct parser *p)
{
    struct pick *term = NULL;
    skip_space(p);
    if (++p->nesting > NESTING_MAX) return NULL;
    switch (*p->at) {
    case '.': term = parse_path(p); break;
    case '"': term = parse_text(p); break;
    case '{': term = parse_object(p); break;
    case '[': term = parse_list(p); break;
    case '(': term = parse_parentheses(p); break;
    default: term = isdigit((unsigned char)*p->at) ? parse_number(p) : parse_word(p);
    }
    p->nesting--;
    return term && term_ends(p) ? term : give_up(term);
}

/* Terms with a sign between them; one alone is itself. */
static struct pick *parse_row(struct parser *p, enum kind kind, const char *sign,
                              struct pick *(*parse)(struct parser *p))
{
    struct pick *first = parse(p), *row, **end;
    if (!first || !take(p, sign)) return first;
    row = new_pick(kind);
    row->inner = first;
    end = &first->next;
    do {
        *end = parse(p);
        if (!*end) return give_up(row);
        end = &(*end)->next;
    } while (take(p, sign));
    return row;
}

static struct pick *parse_sum(struct parser *p)
{
    return parse_row(p, PICK_SUM, "+", parse_term);
}

static struct pick *parse_alternative(struct parser *p)
{
    return parse_row(p, PICK_ALTERNATIVE, "//", parse_sum);
}

static bool is_utf8(const char *text)
{
    for (size_t left = strlen(text), step; left > 0; text += step, left -= step)
        if ((step = utf8_decode(text, left, NULL)) == 0) return false;
    return true;
}

struct pick *pick_new(const char *text)
{
    struct parser p = {.at = text};
    if (strlen(text) > TEXT_MAX_BYTES || !is_utf8(text)) return NULL; /* in bytes that are none jq puts others */
    struct pick *pick = parse_alternative(&p);
    skip_space(&p);
    return *p.at == '\0' ? pick : give_up(pick);
}

bool pick_names(const struct pick *pick, const char *member)
{
    if (pick->kind == PICK_PATH) return strcmp(pick->inner->name, member) == 0;
    for (const struct pick *one = pick->inner; one; one = one->next)
        if (pick_names(one, member)) return true;
    return false;
}

/* ---- over an input ---- */

/* What is left of the bounds. */
struct run {
    const json_t *input;
    struct program_budget budget;
};

static json_t *copy(struct run *run, const json_t *value);

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool set(json_t *object, const char *name, json_t *own_value)
{
    return own_value && json_object_set_new_nocheck(object, name, own_value) == 0;
}

static json_t *copy_object(struct run *run, const json_t *value)
{
    const char *names[OBJECT_NAMES_MAX], *name;
    size_t count = 0;
    json_t *member, *out;
    if (json_object_size(value) > OBJECT_NAMES_MAX) return NULL;
    json_object_foreach((json_t *)value, name, member)
    {
        names[count++] = name;
    }
    qsort(names, count, sizeof *names, by_name);
    out = json_object();
    for (size_t i = 0; out && i < count; i++) {
        bool ok = program_budget_take(&run->budget, strlen(names[i])) &&
                  set(out, names[i], copy(run, json_object_get(value, names[i])));
        if (!ok) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *copy_array(struct run *run, const json_t *value)
{
    json_t *out = json_array();
    for (size_t i = 0; out && i < json_array_size(value); i++) {
        json_t *item = copy(run, json_array_get(value, i));
        if (!item || json_array_append_new(out, item) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

/* Numbers that come out of jq as they went in. */
static bool keeps_number(const json_t *value)
{
    if (json_is_integer(value)) {
        json_int_t number = json_integer_value(value);
        return number >= -PROGRAM_EXACT_INTEGER_MAX && number <= PROGRAM_EXACT_INTEGER_MAX;
    }
    double number = json_real_value(value);
    return isfinite(number) && floor(number) != number;
}

/* A value as it comes out of jq; NULL where that is another one, or too much of it. */
static json_t *copy(struct run *run, const json_t *value)
{
    json_t *out = NULL;
    if (run->budget.depth == 0 || !program_budget_take(&run->budget, json_string_length(value))) return NULL;
    run->budget.depth--;
    if (json_is_object(value))
        out = copy_object(run, value);
    else if (json_is_array(value))
        out = copy_array(run, value);
    else if (!json_is_number(value) || keeps_number(value))
        out = json_incref((json_t *)value);
    run->budget.depth++;
    return out;
}

static json_t *walk(struct run *run, const struct pick *pick);

static json_t *walk_path(struct run *run, const struct pick *pick)
{
    const json_t *value = run->input;
    for (const struct pick *step = pick->inner; step; step = step->next) {
        if (!json_is_object(value) && !json_is_null(value)) return NULL;
        value = json_object_get(value, step->name);
        if (!value) value = json_null();
    }
    return copy(run, value);
}

static json_t *walk_object(struct run *run, const struct pick *pick)
{
    json_t *out = json_object();
    for (const struct pick *member = pick->inner; out && member; member = member->next) {
        if (program_budget_take(&run->budget, strlen(member->name)) && set(out, member->name, walk(run, member)))
            continue;
        json_decref(out);
        return NULL;
    }
    return out;
}

static json_t *walk_list(struct run *run, const struct pick *pick)
{
    json_t *out = json_array(), *item = pick->inner ? walk(run, pick->inner) : NULL;
    if (pick->inner && (!item || json_array_append_new(out, item) != 0)) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* Texts joined; null changes nothing. */
static json_t *walk_sum(struct run *run, const struct pick *pick)
{
    struct buf text;
    bool texts = true, any = false;
    buf_init(&text, run->budget.bytes);
    for (const struct pick *term = pick->inner; term && texts; term = term->next) {
        json_t *value = walk(run, term);
        texts = json_is_string(value) || json_is_null(value);
        any = any || json_is_string(value);
        if (json_is_string(value)) buf_append(&text, json_string_value(value), json_string_length(value));
        json_decref(value);
    }
    bool fits = texts && !text.cut && program_budget_take(&run->budget, text.len);
    json_t *sum = !fits ? NULL : any ? json_stringn_nocheck(buf_text(&text), text.len) : json_null();
    buf_fini(&text);
    return sum;
}

/* The first that is neither null nor false, or the last. */
static json_t *walk_alternative(struct run *run, const struct pick *pick)
{
    const struct pick *one = pick->inner;
    json_t *value = walk(run, one);
    while (one->next && (json_is_null(value) || json_is_false(value))) {
        json_decref(value);
        one = one->next;
        value = walk(run, one);
    }
    return value;
}

static json_t *walk(struct run *run, const struct pick *pick)
{
    json_t *out = NULL;
    if (run->budget.depth == 0 || !program_budget_take(&run->budget, 0)) return NULL;
    run->budget.depth--;
    switch (pick->kind) {
    case PICK_CONSTANT: out = copy(run, pick->constant); break;
    case PICK_PATH: out = walk_path(run, pick); break;
    case PICK_OBJECT: out = walk_object(run, pick); break;
    case PICK_LIST: out = walk_list(run, pick); break;
    case PICK_SUM: out = walk_sum(run, pick); break;
    case PICK_ALTERNATIVE: out = walk_alternative(run, pick); break;
    }
    run->budget.depth++;
    return out;
}

json_t *pick_run(const struct pick *pick, const json_t *input, size_t max_bytes, int max_depth)
{
    struct run run = {input, {max_bytes, max_depth}};
    return json_is_object(input) ? walk(&run, pick) : NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * From a program's text to a tree, by recursive descent. What jq reads as the same text in another way must not get
 * through, so a word or a sign is taken only where nothing else can follow it.
 */
#include "platforms/pick_tree.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/buf.h"
#include "runtime/die.h"
#include "runtime/utf8.h"

#define TEXT_MAX_BYTES 4096
#define NESTING_MAX    32
#define NUMBER_DIGITS  15 /* a double holds every such integer */

struct parser {
    const char *at;
    int nesting;
};

static struct pick *new_pick(enum pick_kind kind)
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
    p->at += strspn(p->at, " \t\n"); /* a carriage return is space from jq 1.7 on */
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

/* From U+E000 on jq, which sorts bytes, and canonical JSON, which sorts UTF-16, have another order. */
static bool sorts_alike(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name >= 0xee) return false;
    return true;
}

/* name: term. Members stand in the order of their names, as jq gives them; of two of the same name jq knows which. */
static bool parse_member(struct parser *p, struct pick *object)
{
    skip_space(p);
    size_t len = word_length(p->at);
    char *name = len > 0 ? xstrndup(p->at, len) : parse_quoted(p);
    p->at += len;
    bool known = name && sorts_alike(name) && take(p, ":");
    struct pick *value = known ? parse_term(p) : NULL, **place = &object->inner;
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
static struct pick *parse_row(struct parser *p, enum pick_kind kind, const char *sign,
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

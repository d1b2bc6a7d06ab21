/* SPDX-License-Identifier: MIT */
#include "ledger/errors.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *words;
    enum errors_action action;
    const char *advice;
} table[] = {
#define X(words, action, advice) {words, action, advice},
    ERRORS_TABLE(X)
#undef X
};

#define TABLE_COUNT (sizeof table / sizeof table[0])

const char *errors_word(const char *text, char out[ERRORS_WORD_BYTES])
{
    size_t len = 0;
    while (len < ERRORS_WORD_BYTES - 1 && text[len] >= 'A' && text[len] <= 'Z') {
        out[len] = text[len];
        len++;
    }
    if (len == 0) out[len++] = '?';
    out[len] = '\0';
    return out;
}

static bool begins_with(const char *text, const char *words)
{
    size_t len = strlen(words);
    return strncmp(text, words, len) == 0 && !(text[len] >= 'A' && text[len] <= 'Z');
}

/* Index into the table, TABLE_COUNT for a text that it does not hold. */
static size_t find(const char *text)
{
    /* These two may stand inside the text: "ERR Error running script ...: -READONLY You can't write". */
    static const char *const anywhere[] = {"NOSCRIPT", "READONLY"};
    for (size_t i = 0; i < sizeof anywhere / sizeof anywhere[0]; i++) {
        if (strstr(text, anywhere[i])) text = anywhere[i];
    }
    size_t i = 0;
    while (i < TABLE_COUNT && !begins_with(text, table[i].words))
        i++;
    return i;
}

enum errors_action errors_action(const char *text)
{
    size_t i = find(text);
    return i < TABLE_COUNT ? table[i].action : ERRORS_WAIT;
}

const char *errors_advice(const char *text)
{
    size_t i = find(text);
    return i < TABLE_COUNT ? table[i].advice : "see the server's text";
}

/* SPDX-License-Identifier: MIT */
#include "ledger/errors.h"

#include <string.h>

static const struct {
    const char *word;
    enum errors_action action;
    const char *advice;
} table[] = {
#define X(word, action, advice) {word, action, advice},
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

/* Index into the table, TABLE_COUNT for a word that it does not hold. */
static size_t find(const char *text)
{
    /* These two may stand inside the text: "ERR Error running script ...: -READONLY You can't write". */
    static const char *const anywhere[] = {"NOSCRIPT", "READONLY"};
    char word[ERRORS_WORD_BYTES];
    errors_word(text, word);
    for (size_t i = 0; i < sizeof anywhere / sizeof anywhere[0]; i++) {
        if (strstr(text, anywhere[i])) memcpy(word, anywhere[i], strlen(anywhere[i]) + 1);
    }
    size_t i = 0;
    while (i < TABLE_COUNT && strcmp(table[i].word, word) != 0)
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

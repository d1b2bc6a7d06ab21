/* SPDX-License-Identifier: MIT */
#include "cli/verbs.h"

#include <string.h>

const struct verb verb_table[VERB_COUNT] = {
#define X(symbol, name_, operands_, min_, max_, summary_, details_, example_, json_)                                   \
    {.name = name_,                                                                                                    \
     .operands = operands_,                                                                                            \
     .operands_min = min_,                                                                                             \
     .operands_max = max_,                                                                                             \
     .summary = summary_,                                                                                              \
     .details = details_,                                                                                              \
     .example = example_,                                                                                              \
     .json = json_},
    VERBS(X)
#undef X
};

const struct flag flag_table[FLAG_COUNT] = {
#define X(symbol, name_, kind_, value_, verbs_, help_)                                                                 \
    {.name = name_, .kind = kind_, .value = value_, .verbs = verbs_, .help = help_},
    FLAGS(X)
#undef X
};

const char *const verb_exit_codes[] = {
    "0  asked and done; nothing needs a person",
    "1  usage or configuration is wrong, or some input was refused (the rest was taken)",
    "2  Redis or a platform is out of reach: nothing is concluded",
    "3  something asked about is uncertain, held or still waiting",
    "4  something asked about was rejected",
    "5  something that should be there is not",
    NULL,
};

enum verb_id verb_find(const char *name)
{
    int i = 0;
    while (i < VERB_COUNT && strcmp(verb_table[i].name, name) != 0)
        i++;
    return (enum verb_id)i;
}

size_t verb_first_word(enum verb_id id)
{
    const char *space = strchr(verb_table[id].name, ' ');
    return space ? (size_t)(space - verb_table[id].name) : 0;
}

bool verb_is_group(const char *word)
{
    const size_t len = strlen(word);
    for (int i = 0; i < VERB_COUNT; i++)
        if (len > 0 && verb_first_word((enum verb_id)i) == len && memcmp(verb_table[i].name, word, len) == 0)
            return true;
    return false;
}

enum verb_id verb_find_words(const char *first, const char *word)
{
    if (!first) return strchr(word, ' ') ? VERB_COUNT : verb_find(word);
    const size_t len = strlen(first);
    for (int i = 0; i < VERB_COUNT; i++)
        if (verb_first_word((enum verb_id)i) == len && memcmp(verb_table[i].name, first, len) == 0 &&
            strcmp(verb_table[i].name + len + 1, word) == 0)
            return (enum verb_id)i;
    return VERB_COUNT;
}

const char *flag_help(enum flag_id flag, enum verb_id verb)
{
    static const struct {
        enum flag_id flag;
        enum verb_id verb;
        const char *help;
    } words[] = {
#define X(flag_, verb_, help_) {FLAG_##flag_##_ID, VERB_##verb_, help_},
        FLAG_WORDS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (words[i].flag == flag && words[i].verb == verb) return words[i].help;
    return flag_table[flag].help;
}

enum flag_id flag_find(const char *name, size_t name_len)
{
    int i = 0;
    while (i < FLAG_COUNT &&
           (strlen(flag_table[i].name) != name_len || memcmp(flag_table[i].name, name, name_len) != 0))
        i++;
    return (enum flag_id)i;
}

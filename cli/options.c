/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "keys/identity.h"

bool options_has(const struct options *options, enum flag_id flag)
{
    return options->value[flag] != NULL;
}

static const char *quote(const char *text, char out[KEYS_QUOTE_BYTES])
{
    return keys_quote(text, strlen(text), out);
}

/* The end of every complaint: where to read on. */
static bool complain(const struct options *options, struct errbuf *err)
{
    struct errbuf what = *err;
    const char *verb = options->verb != VERB_COUNT ? verb_table[options->verb].name : options->group;
    return errbuf_set(err, "%.400s; see landfall %s%s--help", what.text, verb ? verb : "", verb ? " " : "");
}

static bool take_channel(const struct flag *flag, const char *text, struct errbuf *err)
{
    char why[KEYS_ERR_BYTES];
    char quoted[KEYS_QUOTE_BYTES];
    if (identity_channel_check(text, why)) return true;
    return errbuf_set(err, "%s: %s is no channel (platform/account): %s", flag->name, quote(text, quoted), why);
}

static bool add_channel(struct options *options, const char *text, struct errbuf *err)
{
    if (!take_channel(&flag_table[FLAG_TO_ID], text, err)) return false;
    for (int i = 0; i < options->to_count; i++)
        if (strcmp(options->to[i], text) == 0) return true;
    if (options->to_count == OPTIONS_CHANNELS_MAX)
        return errbuf_set(err, "--to: more than %d channels; use several calls", OPTIONS_CHANNELS_MAX);
    options->to[options->to_count++] = text;
    return true;
}

static bool take_number(const struct flag *flag, const char *text, int64_t *out, struct errbuf *err)
{
    char quoted[KEYS_QUOTE_BYTES];
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 15 || text[digits] != '\0')
        return errbuf_set(err, "%s: %s is no whole number", flag->name, quote(text, quoted));
    *out = strtoll(text, NULL, 10);
    return true;
}

static bool take_value(struct options *options, enum flag_id id, const char *text, struct errbuf *err)
{
    const struct flag *flag = &flag_table[id];
    if (options->value[id] && flag->kind != FLAG_CHANNELS) return errbuf_set(err, "%s was given twice", flag->name);
    options->value[id] = text;
    switch (flag->kind) {
    case FLAG_SWITCH:
    case FLAG_TEXT: return true;
    case FLAG_CHANNEL: return take_channel(flag, text, err);
    case FLAG_CHANNELS: return add_channel(options, text, err);
    case FLAG_NUMBER: return take_number(flag, text, &options->number[id], err);
    case FLAG_WHEN: return when_parse(text, &options->when[id], err) || errbuf_prefix(err, "%s", flag->name);
    }
    return false;
}

static bool is_flag(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* The flag at argv[*at] and its values; *at is the last word that was used. */
static bool take_flag(struct options *options, int argc, char *const argv[], int *at, struct errbuf *err)
{
    const char *word = argv[*at];
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    enum flag_id id = flag_find(word, len);
    char quoted[KEYS_QUOTE_BYTES];
    if (id == FLAG_COUNT) return errbuf_set(err, "%s is no flag", keys_quote(word, len, quoted));
    const struct flag *flag = &flag_table[id];
    if (flag->kind == FLAG_SWITCH) {
        if (equals) return errbuf_set(err, "%s takes no value", flag->name);
        return take_value(options, id, "", err);
    }
    if (equals) return take_value(options, id, equals + 1, err);
    bool several = flag->kind == FLAG_CHANNELS;
    if (*at + 1 >= argc || (several && is_flag(argv[*at + 1])))
        return errbuf_set(err, "%s needs a value: %s", flag->name, flag->value);
    do {
        if (!take_value(options, id, argv[++*at], err)) return false;
    } while (several && *at + 1 < argc && !is_flag(argv[*at + 1]));
    return true;
}

/* A verb has one word or two. */
static bool take_verb_word(struct options *options, const char *word)
{
    if (!options->group && verb_is_group(word)) {
        options->group = word;
        return true;
    }
    options->verb = verb_find_words(options->group, word);
    return options->verb != VERB_COUNT;
}

static bool take_word(struct options *options, const char *word, struct errbuf *err)
{
    char quoted[KEYS_QUOTE_BYTES];
    if (options->verb == VERB_COUNT) {
        if (take_verb_word(options, word)) return true;
        return errbuf_set(err, "%s is no verb%s%s", quote(word, quoted), options->group ? " of " : "",
                          options->group ? options->group : "");
    }
    if (options->operand_count >= verb_table[options->verb].operands_max)
        return errbuf_set(err, "%s is one word too many", quote(word, quoted));
    options->operand[options->operand_count++] = word;
    return true;
}

/* Help is given to whoever asks for it anywhere, whatever else is wrong. */
static void look_for_help(int argc, char *const argv[], struct options *options)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (options->verb == VERB_COUNT) (void)take_verb_word(options, argv[i]);
        options->help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        options->version |= options->verb == VERB_COUNT && strcmp(argv[i], "--version") == 0;
    }
}

static bool check_flags(const struct options *options, struct errbuf *err)
{
    for (int i = 0; i < FLAG_COUNT; i++)
        if (options->value[i] && !(flag_table[i].verbs & (1u << options->verb)))
            return errbuf_set(err, "%s does not belong to landfall %s", flag_table[i].name,
                              verb_table[options->verb].name);
    if (options->operand_count < verb_table[options->verb].operands_min)
        return errbuf_set(err, "missing: %s", verb_table[options->verb].operands);
    return true;
}

bool options_parse(int argc, char *const argv[], struct options *options, struct errbuf *err)
{
    memset(options, 0, sizeof(*options));
    options->verb = VERB_COUNT;
    look_for_help(argc, argv, options);
    if (options->help || options->version) return true;
    options->verb = VERB_COUNT;
    options->group = NULL;
    bool words_only = false;
    bool ok = true;
    for (int i = 1; i < argc && ok; i++) {
        words_only |= options->verb == VERB_DRAIN;
        if (!words_only && strcmp(argv[i], "--") == 0)
            words_only = true;
        else if (!words_only && is_flag(argv[i]))
            ok = take_flag(options, argc, argv, &i, err);
        else
            ok = take_word(options, argv[i], err);
    }
    if (ok && options->verb == VERB_COUNT)
        ok = errbuf_set(err, options->group ? "missing: its second word" : "missing: a verb");
    ok = ok && check_flags(options, err);
    return ok || complain(options, err);
}

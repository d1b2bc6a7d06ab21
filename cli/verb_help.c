/* SPDX-License-Identifier: MIT */
/* Help for people, from the table. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define WIDTH  100
#define COLUMN 26

/* Prints words from column `at` on, broken at WIDTH; the lines that follow begin at `indent`. */
static void wrap(const char *text, int at, int indent)
{
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (at > indent && at + 1 + word > WIDTH) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            putchar(' ');
            at++;
        }
        printf("%.*s", word, text);
        at += word;
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

/* All verbs, or those that begin with a word. */
static void print_list(const char *group)
{
    for (int i = 0; i < VERB_COUNT; i++) {
        const size_t len = verb_first_word((enum verb_id)i);
        if (group && (len != strlen(group) || memcmp(verb_table[i].name, group, len) != 0)) continue;
        printf("  %-16s%s\n", verb_table[i].name, verb_table[i].summary);
    }
}

static void print_all(void)
{
    puts("landfall publishes items to channels, each item on each channel once.\n\nUsage: landfall VERB ...\n");
    print_list(NULL);
    puts("\nlandfall VERB --help explains a verb. The programs that do the work are landfall-worker and\n"
         "landfall-reconciler.");
}

static void print_verb(enum verb_id id)
{
    const struct verb *verb = &verb_table[id];
    printf("%s.\n\nUsage: landfall %s", verb->summary, verb->name);
    if (verb->operands[0]) printf(" %s", verb->operands);
    bool flags = false;
    for (int i = 0; i < FLAG_COUNT; i++)
        flags |= (flag_table[i].verbs & (1u << id)) != 0;
    printf("%s\n\n", flags ? " [FLAG...]" : "");
    wrap(verb->details, 0, 0);
    if (flags) puts("\nFlags:");
    for (int i = 0; i < FLAG_COUNT; i++) {
        const struct flag *flag = &flag_table[i];
        if (!(flag->verbs & (1u << id))) continue;
        int at = printf("  %s%s%s", flag->name, flag->value[0] ? " " : "", flag->value);
        at += printf("%*s", at < COLUMN ? COLUMN - at : 2, "");
        wrap(flag_help((enum flag_id)i, id), at, COLUMN);
    }
    printf("\nExample:\n  %s\n\nExit codes:\n", verb->example);
    for (int i = 0; verb_exit_codes[i]; i++)
        printf("  %s\n", verb_exit_codes[i]);
}

static void print_group(const char *group)
{
    printf("Usage: landfall %s VERB ...\n\n", group);
    print_list(group);
    printf("\nlandfall %s VERB --help explains one.\n", group);
}

enum cli_exit verb_help(struct cli *cli)
{
    const struct options *options = &cli->options;
    enum verb_id id = options->verb;
    const char *group = options->group;
    if (id == VERB_HELP && options->operand_count > 0) {
        group = verb_is_group(options->operand[0]) ? options->operand[0] : NULL;
        id = verb_find_words(options->operand_count == 2 ? options->operand[0] : NULL,
                             options->operand[options->operand_count - 1]);
        if (id == VERB_COUNT && (!group || options->operand_count == 2)) {
            errbuf_set(&cli->err, "there is no such verb; landfall help lists them");
            return cli_fail(cli, EXIT_USAGE);
        }
    } else if (id == VERB_HELP && !options->help) {
        id = VERB_COUNT;
    }
    if (id != VERB_COUNT)
        print_verb(id);
    else if (group)
        print_group(group);
    else
        print_all();
    return EXIT_FINE;
}

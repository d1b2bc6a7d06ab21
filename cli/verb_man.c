/* SPDX-License-Identifier: MIT */
/* The manual page, and docs/cli.md, from the table. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* What roff would take for its own: a backslash, a hyphen that is to stay one, a dot at the start of a line. */
static void roff(const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
    }
}

static void roff_line(const char *before, const char *text)
{
    fputs(before, stdout);
    roff(text);
    putchar('\n');
}

static void man_verb(enum verb_id id)
{
    const struct verb *verb = &verb_table[id];
    printf(".SS ");
    roff(verb->name);
    putchar(' ');
    roff_line("", verb->operands);
    roff(verb->summary);
    roff_line(". ", verb->details);
    for (int i = 0; i < FLAG_COUNT; i++) {
        const struct flag *flag = &flag_table[i];
        if (!(flag->verbs & (1u << id))) continue;
        fputs(".TP\n.B ", stdout);
        roff(flag->name);
        putchar(' ');
        roff_line("", flag->value);
        roff_line("", flag_help((enum flag_id)i, id));
    }
    puts(".PP\nExample:\n.PP\n.RS\n.nf");
    roff_line("", verb->example);
    puts(".fi\n.RE");
}

static void print_man(void)
{
    puts(".TH LANDFALL 1 \"\" \"landfall " LANDFALL_VERSION "\" \"User Commands\"\n.SH NAME\n"
         "landfall \\- publish items to channels, each item on each channel once\n.SH SYNOPSIS\n.B landfall\n"
         ".I VERB\n[ARGUMENT...]\n.SH VERBS");
    for (int i = 0; i < VERB_COUNT; i++)
        man_verb((enum verb_id)i);
    puts(".SH EXIT STATUS");
    for (int i = 0; verb_exit_codes[i]; i++) {
        printf(".TP\n.B %.1s\n", verb_exit_codes[i]);
        roff_line("", verb_exit_codes[i] + 3);
    }
    puts(".PP\nWhere several hold, the first of 1, 2, 4, 5, 3.\n.SH SEE ALSO\n"
         ".BR landfall\\-worker (1),\n.BR landfall\\-reconciler (1)");
}

/* A bar would end the cell of a table. */
static void cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|') putchar('\\');
        putchar(*text);
    }
}

static void markdown_verb(enum verb_id id)
{
    const struct verb *verb = &verb_table[id];
    printf("\n## %s\n\n%s.\n\n```\nlandfall %s%s%s\n```\n\n%s\n", verb->name, verb->summary, verb->name,
           verb->operands[0] ? " " : "", verb->operands, verb->details);
    bool first = true;
    for (int i = 0; i < FLAG_COUNT; i++) {
        const struct flag *flag = &flag_table[i];
        if (!(flag->verbs & (1u << id))) continue;
        if (first) puts("\n| flag | |\n|---|---|");
        first = false;
        printf("| `%s%s%s` | ", flag->name, flag->value[0] ? " " : "", flag->value);
        cell(flag_help((enum flag_id)i, id));
        puts(" |");
    }
    printf("\nExample: `%s`\n", verb->example);
    if (flag_table[FLAG_JSON_ID].verbs & (1u << id)) printf("\n`--json`: `%s`\n", verb->json);
}

static void print_markdown(void)
{
    puts("# The command landfall\n\n"
         "Printed by `landfall man --markdown`; a test compares. `landfall VERB --help` says the same.\n\n"
         "Times are given as RFC 3339 (`2026-09-01T09:00:00+02:00`) or as a span (`90s`, `15m`, `2h30m`, `7d`): from\n"
         "now for `--at` and `--not-after`, ago for `--since`. With `--json` times are milliseconds since 1970 on the\n"
         "Redis server's clock, and a failure is `{error, exit}`.\n\n"
         "| exit | meaning |\n|---|---|");
    for (int i = 0; verb_exit_codes[i]; i++)
        printf("| %.1s | %s |\n", verb_exit_codes[i], verb_exit_codes[i] + 3);
    puts("\nSeveral at once: the first of 1, 2, 4, 5, 3.");
    for (int i = 0; i < VERB_COUNT; i++)
        markdown_verb((enum verb_id)i);
}

enum cli_exit verb_man(struct cli *cli)
{
    if (options_has(&cli->options, FLAG_MARKDOWN_ID))
        print_markdown();
    else
        print_man();
    return EXIT_FINE;
}

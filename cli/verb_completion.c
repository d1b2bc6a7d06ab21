/* SPDX-License-Identifier: MIT */
/* Completion for bash, from the table: verbs, then the flags of the verb, files for what takes a file. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_flags(enum verb_id id)
{
    printf("        '%s') flags='--help", verb_table[id].name);
    for (int i = 0; i < FLAG_COUNT; i++)
        if (flag_table[i].verbs & (1u << id)) printf(" %s", flag_table[i].name);
    fputs("'", stdout);
    if (strstr(verb_table[id].operands, "FILE")) fputs(" files=1", stdout);
    puts(" ;;");
}

/* True for the first verb of those that begin with its first word. */
static bool begins_group(int id)
{
    const size_t len = verb_first_word((enum verb_id)id);
    return len > 0 && (id == 0 || strncmp(verb_table[id].name, verb_table[id - 1].name, len + 1) != 0);
}

static void print_groups(void)
{
    for (int i = 0; i < VERB_COUNT; i++)
        if (begins_group(i)) printf("        %.*s) ;;\n", (int)verb_first_word((enum verb_id)i), verb_table[i].name);
}

/* The words that may stand here: first words, or the second ones behind a group's. */
static void print_words(const char *group, size_t len)
{
    printf("        '%.*s') COMPREPLY=($(compgen -W '", (int)len, group ? group : "");
    const char *before = "";
    for (int i = 0; i < VERB_COUNT; i++) {
        const char *name = verb_table[i].name;
        const size_t first = verb_first_word((enum verb_id)i);
        if (group && (first != len || memcmp(name, group, len) != 0)) continue;
        if (!group && first > 0 && !begins_group(i)) continue;
        if (group)
            printf("%s%s", before, name + len + 1);
        else
            printf("%s%.*s", before, first > 0 ? (int)first : (int)strlen(name), name);
        before = " ";
    }
    puts("' -- \"$word\")); return ;;");
}

enum cli_exit verb_completion(struct cli *cli)
{
    if (strcmp(cli->options.operand[0], "bash") != 0) {
        errbuf_set(&cli->err, "there is completion for bash only");
        return cli_fail(cli, EXIT_USAGE);
    }
    puts("# bash completion for landfall\n"
         "_landfall() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= flags= files= i\n"
         "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        [[ ${COMP_WORDS[i]} == -* ]] && continue\n"
         "        verb=${verb:+$verb }${COMP_WORDS[i]}\n"
         "        case $verb in");
    print_groups();
    puts("        *) break ;; esac\n"
         "    done\n"
         "    case $verb in");
    print_words(NULL, 0);
    for (int i = 0; i < VERB_COUNT; i++)
        if (begins_group(i)) print_words(verb_table[i].name, verb_first_word((enum verb_id)i));
    for (int i = 0; i < VERB_COUNT; i++)
        print_flags((enum verb_id)i);
    puts("    esac\n"
         "    if [[ $before == --config ]]; then COMPREPLY=($(compgen -f -- \"$word\")); return; fi\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "    [[ $word == -* || -z $files ]] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "}\n"
         "complete -o filenames -F _landfall landfall");
    return EXIT_FINE;
}

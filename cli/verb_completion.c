/* SPDX-License-Identifier: MIT */
/* Completion for bash, from the table: verbs, then the flags of the verb, files for what takes a file. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_flags(enum verb_id id)
{
    printf("        %s) flags='--help", verb_table[id].name);
    for (int i = 0; i < FLAG_COUNT; i++)
        if (flag_table[i].verbs & (1u << id)) printf(" %s", flag_table[i].name);
    fputs("'", stdout);
    if (strstr(verb_table[id].operands, "FILE")) fputs(" files=1", stdout);
    puts(" ;;");
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
         "        [[ ${COMP_WORDS[i]} == -* ]] || { verb=${COMP_WORDS[i]}; break; }\n"
         "    done\n"
         "    case $verb in");
    fputs("        '') COMPREPLY=($(compgen -W '", stdout);
    for (int i = 0; i < VERB_COUNT; i++)
        printf("%s%s", i ? " " : "", verb_table[i].name);
    puts("' -- \"$word\")); return ;;");
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

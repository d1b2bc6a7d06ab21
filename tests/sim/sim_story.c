/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>

/* When (ms since the beginning), who, what. */
void sim_story_line(const char *format, ...)
{
    va_list arguments;
    printf("%9.3f  ", (double)(sim.now_us - sim.began_us) / 1e6);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

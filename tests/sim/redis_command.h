/* SPDX-License-Identifier: MIT */
/* redis_command: a command as a client sends it: "*2\r\n$3\r\nGET\r\n$1\r\nx\r\n". */
#ifndef SIM_REDIS_COMMAND_H
#define SIM_REDIS_COMMAND_H

#include "tests/sim/redis_db.h"

/* The command that `in` begins with; its words are borrowed from there, and each is followed by CR LF. *used is 0 while
 * it is not complete. What is no command, or has more than `most` words, ends the process. */
size_t redis_command_read(const char *in, size_t len, struct redis_arg *args, size_t most, size_t *used);

#endif

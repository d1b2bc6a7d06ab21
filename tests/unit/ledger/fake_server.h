/* SPDX-License-Identifier: MIT */
/* A Redis that does as it is told: a child process on a unix socket, for what a real one does not do on demand.
 *
 * It answers the handshake as a master would. Every other command is answered with the script's next line; `{now}` in a
 * line stands for a time. Lines: protocol text; "hang" (no more answers, the connection stays open); "close". After the
 * last line it closes. Every connection starts with the first line. */
#ifndef LANDFALL_TESTS_UNIT_LEDGER_FAKE_SERVER_H
#define LANDFALL_TESTS_UNIT_LEDGER_FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fake_server {
    pid_t pid;
    char dir[64];
    char path[96];
    const char *role;     /* NULL: master */
    const char *password; /* NULL: none wanted */
};

/* lines ends with NULL. */
void fake_server_start(struct fake_server *server, const char *const *lines);
void fake_server_stop(struct fake_server *server);

#endif

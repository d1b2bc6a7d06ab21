/* SPDX-License-Identifier: MIT */
/*
 * link_tls: TLS on a connection to Redis. The server's certificate and its name are always verified; there is no
 * switch.
 *
 * link_tls.c is built where hiredis has TLS (its library hiredis_ssl, hiredis 1.0 and later), link_tls_none.c
 * elsewhere.
 */
#ifndef LANDFALL_LEDGER_LINK_TLS_H
#define LANDFALL_LEDGER_LINK_TLS_H

#include <stdbool.h>

#include "runtime/errbuf.h"

struct redisContext;

/* PEM files; NULL or "": the system's trusted certificates, and no client certificate. */
struct link_tls_files {
    const char *ca_file, *cert_file, *key_file;
};

bool link_tls_is_built_in(void);

/* Shakes hands on a connected socket within the time limit that is set on it. host: the name or address that the
 * certificate must be made out to. */
MUSTCHECK bool link_tls_start(struct redisContext *context, const struct link_tls_files *files, const char *host,
                              struct errbuf *err);

#endif

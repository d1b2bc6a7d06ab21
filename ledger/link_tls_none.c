/* SPDX-License-Identifier: MIT */
#include "ledger/link_tls.h"

bool link_tls_is_built_in(void)
{
    return false;
}

bool link_tls_start(struct redisContext *context, const struct link_tls_files *files, const char *host,
                    struct errbuf *err)
{
    (void)context;
    (void)files;
    (void)host;
    return errbuf_set(err, "redis: TLS is not built in");
}

/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/operate.h"

/* An external id as the ledger takes it from a platform: text without control characters. */
static bool check_id(const char *id, struct errbuf *err)
{
    size_t len = strlen(id);
    bool ok = len > 0 && len <= DELIVERY_EXT_ID_MAX;
    for (size_t i = 0; ok && i < len; i++)
        ok = (unsigned char)id[i] >= 0x20 && id[i] != 0x7f;
    return ok || errbuf_set(err, "--id: the platform's id of the post, 1 to %d bytes without control characters",
                            DELIVERY_EXT_ID_MAX);
}

static bool check_url(const char *url, struct errbuf *err)
{
    bool known = strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0;
    if (known && strlen(url) < ROW_URL_BYTES && url[strcspn(url, " \t\r\n")] == '\0') return true;
    return errbuf_set(err, "--url: an address that begins with https:// or http://, of less than %d bytes",
                      ROW_URL_BYTES);
}

enum cli_exit verb_confirm(struct cli *cli)
{
    const char *id = cli->options.value[FLAG_ID_ID], *url = cli->options.value[FLAG_URL_ID];
    const struct operation operation = {
        .act = {.event = EV_CONFIRM, .ext_id = id, .url = url},
        .word = "confirm",
        .reads = true,
    };
    if (!id) {
        errbuf_set(&cli->err, "missing: --id EXT, the platform's id of the post that you have seen");
        return cli_fail(cli, EXIT_USAGE);
    }
    if (!check_id(id, &cli->err) || (url && !check_url(url, &cli->err))) return cli_fail(cli, EXIT_USAGE);
    return operate(cli, &operation);
}

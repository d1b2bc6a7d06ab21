/* SPDX-License-Identifier: MIT */
/* Frozen requests as the ledger gives them back: what is taken is written the same, and fits into one request. */
#include <string.h>

#include "keys/hash.h"
#include "platforms/form.h"
#include "platforms/request.h"
#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

void fuzz_one(struct fuzz_input *input)
{
    char hash[HASH_HEX_BYTES], again_hash[HASH_HEX_BYTES];
    struct form form;
    struct errbuf err = {{0}};
    char *bytes = NULL;
    size_t len;
    hash_bytes_hex(input->at, input->left, hash);
    if (!request_thaw(input->at, input->left, hash, &form, &err)) {
        REQUIRE(err.text[0] != '\0');
        return;
    }
    REQUIRE(form.foreign); /* until it was compared with what the channel renders */
    REQUIRE(request_agrees(&form, &form) || form.url.count == 0 || form.url.segments[0].hole || form.url.count > 1);
    REQUIRE(request_freeze(&form, &bytes, &len, again_hash, &err));
    REQUIRE(len == input->left && memcmp(bytes, input->at, len) == 0 && strcmp(hash, again_hash) == 0);
    for (size_t i = 0; i < form.header_count; i++)
        REQUIRE(!strpbrk(form.headers[i].name, "\r\n: "));
    free(bytes);
    form_fini(&form);
}

/* SPDX-License-Identifier: MIT */
/* JSON in, canonical bytes out: what was written is taken again and written the same. */
#include "keys/canonical.h"

#include <string.h>

#include "keys/base.h"
#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

void fuzz_one(struct fuzz_input *input)
{
    char err[KEYS_ERR_BYTES];
    json_t *value = NULL, *same = NULL;
    size_t len, again_len;
    if (!canonical_parse(input->at, input->left, &value, err)) return;
    char *bytes = canonical_write(value, &len);
    REQUIRE(strlen(bytes) == len);
    REQUIRE(len > CANONICAL_INPUT_MAX_BYTES || canonical_parse(bytes, len, &same, err));
    if (same) {
        char *again = canonical_write(same, &again_len);
        REQUIRE(again_len == len && memcmp(bytes, again, len) == 0);
        free(again);
    }
    json_decref(same);
    free(bytes);
    json_decref(value);
}

/* SPDX-License-Identifier: MIT */
/* JSON in, canonical bytes out: what was written is taken again and written the same. What is read the quick way,
 * jansson reads as the same. */
#include "keys/canonical.h"
#include "keys/canonical_read.h"

#include <string.h>

#include "keys/base.h"
#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

static void quick_way(const struct fuzz_input *input)
{
    char err[KEYS_ERR_BYTES];
    json_t *quick = canonical_read(input->at, input->left), *slow;
    if (!quick) return;
    slow = json_loadb(input->at, input->left, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    REQUIRE(slow && json_equal(quick, slow) && canonical_check_numbers(input->at, input->left, err));
    json_decref(slow);
    json_decref(quick);
}

void fuzz_one(struct fuzz_input *input)
{
    char err[KEYS_ERR_BYTES];
    json_t *value = NULL, *same = NULL;
    size_t len, again_len;
    quick_way(input);
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

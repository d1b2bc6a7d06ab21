/* SPDX-License-Identifier: MIT */
/* A program of a descriptor, over objects that every platform's answer could be: what is run without jq gives what jq
 * gives, in the same order of members. */
#include "platforms/pick.h"

#include <stdlib.h>
#include <string.h>

#include "platforms/program.h"
#include "runtime/die.h"
#include "tests/fuzz/kit.h"

static json_t *inputs[2];

void fuzz_begin(void)
{
    static const char *const texts[] = {
        "{\"a\":{\"b\":{\"c\":\"deep\"},\"b c\":[1,2]},\"x\":\"text\",\"n\":null,\"f\":false,\"t\":true,\"i\":7}",
        "{\"a\":\"Gr\\u00fc\\u00dfe\",\"x\":9007199254740993,\"n\":2.5,\"f\":-0.0,\"t\":{\"z\":1,\"y\":[{\"b\":2,\"a\":"
        "3}]}}"};
    for (size_t i = 0; i < 2; i++) {
        inputs[i] = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        REQUIRE(inputs[i]);
    }
}

static void same_as_jq(const char *text, const json_t *input, const json_t *got, const struct canonical_text *printed)
{
    struct program *program;
    struct errbuf err;
    json_t *wanted = NULL;
    char *behind_a_pipe = xformat("(%s) | .", text); /* which no pick is */
    const struct program_part part = {"p", behind_a_pipe};
    REQUIRE(program_new("fuzz", &part, 1, &program, &err) && program_run(program, "p", input, &wanted, &err));
    char *a = json_dumps(got, JSON_ENCODE_ANY), *b = json_dumps(wanted, JSON_ENCODE_ANY);
    REQUIRE(a && b && strcmp(a, b) == 0);
    free(a);
    free(b);
    size_t len;
    a = canonical_write(wanted, &len);
    REQUIRE(printed->len == len && memcmp(printed->bytes, a, len) == 0);
    free(a);
    json_decref(wanted);
    program_free(&program);
    free(behind_a_pipe);
}

void fuzz_one(struct fuzz_input *input)
{
    size_t len;
    char *text = fuzz_text(input, &len);
    struct pick *pick = strlen(text) == len ? pick_new(text) : NULL;
    for (size_t i = 0; pick && i < 2; i++) {
        struct program_input *seen = program_input_new(inputs[i]);
        struct canonical_text printed = {0};
        json_t *got = pick_run(pick, seen, PROGRAM_RESULT_MAX_BYTES, PROGRAM_RESULT_DEPTH_MAX);
        REQUIRE(pick_print(pick, seen, PROGRAM_RESULT_MAX_BYTES, PROGRAM_RESULT_DEPTH_MAX, &printed) == (got != NULL));
        if (got) same_as_jq(text, inputs[i], got, &printed);
        free(printed.bytes);
        program_input_free(&seen);
        json_decref(got);
    }
    pick_free(&pick);
    free(text);
}

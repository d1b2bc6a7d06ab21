/* SPDX-License-Identifier: MIT */
/* What a drain says about deliveries whose ids and reasons hold anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "reconciler/drain_say.h"

static char hostile[] = "a\x1b[2J\xc2\x9b\xe2\x80\xae\r\n\xff";
#define ESCAPED "a\\x1b[2J\\u{009b}\\u{202e}\\x0d\\n\\xff"
#define IN_JSON "a\x1b[2J\xc2\x9b\xe2\x80\xae\r\n\xef\xbf\xbd"

/* What one delivery was said to have become, and what came after it; the caller frees the text. */
static char *said(bool json)
{
    struct drain_voice voice = {.json = json};
    struct subject subject = {.delivery = "blog/main/x",
                              .row = {.reason = RS_NO_ANSWER},
                              .event = EV_FOUND,
                              .how = "id",
                              .ext_id = hostile,
                              .url = hostile,
                              .duplicate_id = hostile};
    const struct resolved resolved = {.subject = &subject, .state = DS_HELD, .reason = RS_GONE};
    struct drain_item item = {.channel = "blog/main", .delivery = "blog/main/y", .after = DS_UNCERTAIN, .why = hostile};
    FILE *file = tmpfile();
    char *text = calloc(1, 4096);
    assert_non_null(file);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    drain_say_delivery(&voice, &resolved, hostile, 0);
    drain_say_other(&voice, &item);
    fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    rewind(file);
    assert_true(fread(text, 1, 4095, file) > 0);
    fclose(file);
    return text;
}

static void test_people(void **state)
{
    (void)state;
    char *text = said(false);
    assert_string_equal(text, "blog/main/x  uncertain no_answer -> found by id " ESCAPED
                              " -> held gone, DUPLICATE " ESCAPED ": " ESCAPED "\n"
                              "blog/main/y  uncertain  -> " ESCAPED " -> uncertain \n");
    free(text);
}

static void test_programs(void **state)
{
    (void)state;
    char *text = said(true), *line = text;
    for (int i = 0; i < 2; i++, line += strcspn(line, "\n") + 1) {
        json_t *one = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        assert_non_null(one);
        assert_string_equal(json_string_value(json_object_get(one, "why")), IN_JSON);
        const json_t *evidence = json_object_get(one, "evidence");
        if (i == 0) assert_string_equal(json_string_value(json_object_get(evidence, "ext_id")), IN_JSON);
        json_decref(one);
    }
    for (const char *c = text; *c; c++)
        assert_true(*c == '\n' || (*c >= ' ' && *c < 0x7f));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_people), cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

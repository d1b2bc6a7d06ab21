/* SPDX-License-Identifier: MIT */
/*
 * For the tests of verdicts: two platforms, one with ids and one without, and answers made of texts. Include it behind
 * cmocka.h.
 */
#ifndef VERDICT_FIXTURE_H
#define VERDICT_FIXTURE_H

#include <string.h>

#include "platforms/answer.h"
#include "platforms/channel.h"
#include "platforms/descriptor.h"
#include "platforms/transfer.h"
#include "platforms/verdict.h"

#define NOW INT64_C(1927886400000) /* 2031-02-03T12:00:00Z */

static struct descriptor *with_id, *without_id;

static inline struct descriptor *load(const char *path)
{
    struct descriptor *d = NULL;
    struct errbuf err = {{0}};
    if (!descriptor_load(path, &d, &err)) fail_msg("%s", err.text);
    return d;
}

static inline int load_all(void **state)
{
    (void)state;
    with_id = load(TREE "/tests/unit/platforms/data/withid.json");
    without_id = load(TREE "/tests/unit/platforms/data/noid.json");
    return 0;
}

static inline int free_all(void **state)
{
    (void)state;
    descriptor_free(&with_id);
    descriptor_free(&without_id);
    return 0;
}

/* An answer, from its head and its body. */
static inline void answer_of(struct answer *answer, const char *head, const char *body)
{
    answer_init(answer, 1 << 20);
    for (const char *line = head; *line;) {
        size_t len = strcspn(line, "\n");
        answer_header_line(answer, line, len);
        line += len + (line[len] == '\n');
    }
    answer_body(answer, body, strlen(body));
    answer_finish(answer);
}

#endif

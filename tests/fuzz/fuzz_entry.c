/* SPDX-License-Identifier: MIT */
/* Entries of the queue as Redis hands them out. */
#include "ledger/feed_entry.h"

#include <hiredis/hiredis.h>
#include <string.h>

#include "keys/names.h"
#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

void fuzz_one(struct fuzz_input *input)
{
    struct feed_batch batch = {0};
    bool again = fuzz_byte(input) & 1;
    struct redisReply *reply = fuzz_reply(input);
    const struct redisReply *list = feed_stream_list(reply);
    (void)feed_entries(&batch, list ? list : reply, again);
    feed_deleted(&batch, reply);
    for (size_t i = 0; i < batch.count; i++) {
        const struct feed_entry *entry = &batch.entries[i];
        size_t len = 0;
        int64_t ms;
        REQUIRE(entry->field_count <= FEED_FIELDS_MAX);
        REQUIRE(feed_id(entry->id, &ms) && ms >= 0);
        const char *item = feed_value(entry, "item", &len);
        REQUIRE(!item || item[len] == '\0');
    }
    feed_batch_fini(&batch);
    fuzz_reply_free(reply);
}

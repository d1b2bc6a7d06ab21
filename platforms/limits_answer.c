/* SPDX-License-Identifier: MIT */
#include "platforms/limits_answer.h"

#include "platforms/limits.h"
#include "runtime/die.h"
#include "runtime/log.h"

/* The seconds that the descriptor's program finds in the body. */
static int64_t wait_in_body(struct descriptor *descriptor, enum descriptor_half half,
                            const struct descriptor_wait *wait, const struct answer *answer)
{
    struct errbuf err;
    json_t *result = NULL;
    int64_t wait_ms = 0;
    json_t *input = json_pack("{s:o}", "answer", answer_to_json(answer));
    if (!input) die("out of memory");
    if (!descriptor_run(descriptor, half, wait->at_part, input, &result, &err))
        log_event_limited(LOG_LEVEL_WARN, "descriptor.program_failed", LOG_S("why", err.text));
    else if (json_is_number(result))
        wait_ms = limits_clamp_seconds(json_number_value(result));
    else if (json_is_string(result))
        wait_ms = limits_wait_ms(LIMITS_BODY, json_string_value(result), 0);
    json_decref(result);
    json_decref(input);
    return wait_ms;
}

int64_t limits_answer_time_ms(const struct answer *answer, int64_t now_ms)
{
    const char *date = answer_header(answer, "date");
    int64_t date_ms;
    return date && limits_http_date(date, now_ms, &date_ms) ? date_ms : now_ms;
}

/* spent: of those only that count what is left. */
static int64_t first_wait_ms(struct descriptor *descriptor, enum descriptor_half half, const struct answer *answer,
                             int64_t now_ms, bool spent)
{
    int64_t wait_ms = 0;
    now_ms = limits_answer_time_ms(answer, now_ms);
    for (size_t i = 0; i < descriptor->wait_count && wait_ms == 0; i++) {
        const struct descriptor_wait *wait = &descriptor->waits[i];
        if (!descriptor_status_fits(&wait->statuses, answer->status)) continue;
        if (spent && !wait->remaining) continue;
        if (wait->remaining && !limits_none_left(answer_header(answer, wait->remaining))) continue;
        wait_ms = wait->form == LIMITS_BODY ? wait_in_body(descriptor, half, wait, answer)
                                            : limits_wait_ms(wait->form, answer_header(answer, wait->header), now_ms);
    }
    return wait_ms;
}

int64_t limits_answer_ms(struct descriptor *descriptor, enum descriptor_half half, const struct answer *answer,
                         int64_t now_ms)
{
    return first_wait_ms(descriptor, half, answer, now_ms, false);
}

int64_t limits_answer_spent_ms(struct descriptor *descriptor, enum descriptor_half half, const struct answer *answer,
                               int64_t now_ms)
{
    return first_wait_ms(descriptor, half, answer, now_ms, true);
}

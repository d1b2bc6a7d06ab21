/* SPDX-License-Identifier: MIT */
#include "core/retention.h"

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How long after its settlement a row may still be needed by what was sent for it. */
static int64_t attempt_horizon_ms(const struct delivery_row *row, const struct delivery_policy *p,
                                  int64_t rejected_keep_ms)
{
    int64_t horizon_ms = p->lease_ms + p->late_commit_ms + p->visibility_lag_ms + p->margin_ms;
    horizon_ms = later(horizon_ms, p->key_window_ms); /* DELIVERY_FOREVER is below 0 */
    horizon_ms = later(horizon_ms, p->give_up_after_ms);
    return row->state == DS_REJECTED ? later(horizon_ms, rejected_keep_ms) : horizon_ms;
}

static bool is_dated(const struct delivery_row *row, const struct delivery_policy *policy)
{
    return row->dated_ms > 0 && policy->max_age_ms > 0;
}

enum retention retention_of(const struct delivery_row *row, const struct delivery_policy *policy,
                            const struct retention_facts *f)
{
    if (row->state != DS_PUBLISHED && row->state != DS_REJECTED) return RETENTION_OPEN;
    if (row->since_ms >= f->before_ms) return RETENTION_YOUNG;
    if (!policy) return RETENTION_NOT_CONFIGURED;
    if (f->now_ms - row->since_ms <= attempt_horizon_ms(row, policy, f->rejected_keep_ms)) return RETENTION_ATTEMPT;
    if (f->awaited) return RETENTION_AWAITED;
    if (policy->harmless || f->without_guard) return RETENTION_DROP;
    if (!is_dated(row, policy)) return RETENTION_UNGUARDED;
    return f->now_ms - row->dated_ms > policy->max_age_ms ? RETENTION_DROP : RETENTION_AGE;
}

const char *retention_name(enum retention retention)
{
    static const char *const names[] = {
#define X(symbol, word, why) [symbol] = word,
        RETENTIONS(X)
#undef X
    };
    return names[retention];
}

const char *retention_why(enum retention retention)
{
    static const char *const texts[] = {
#define X(symbol, word, why) [symbol] = why,
        RETENTIONS(X)
#undef X
    };
    return texts[retention];
}

/* SPDX-License-Identifier: MIT */
#include "ledger/row.h"

#include <stdlib.h>
#include <string.h>

enum kind { TEXT, TIME, COUNT, FLAG, STATE, REASON, SOURCE, DOUBT };

/* One line per field that we know. */
static const struct known {
    const char *name;
    enum kind kind;
    size_t offset;
    size_t size; /* TEXT */
} known[] = {
#define CORE(name, kind, member)                                                                                       \
    {                                                                                                                  \
        name, kind, offsetof(struct row, core.member), sizeof(((struct row *)0)->core.member)                          \
    }
#define OWN(name, kind, member)                                                                                        \
    {                                                                                                                  \
        name, kind, offsetof(struct row, member), sizeof(((struct row *)0)->member)                                    \
    }
    CORE("state", STATE, state),
    CORE("reason", REASON, reason),
    CORE("since", TIME, since_ms),
    CORE("rev", TIME, rev),
    CORE("approved_at", TIME, approved_at_ms),
    CORE("not_before", TIME, not_before_ms),
    CORE("not_after", TIME, not_after_ms),
    CORE("dated", TIME, dated_ms),
    CORE("gen", COUNT, generation),
    CORE("attempt", COUNT, attempt),
    CORE("tries", COUNT, tries),
    CORE("token", TEXT, token),
    CORE("first_send", TIME, first_send_ms),
    CORE("commit_by", TIME, commit_by_ms),
    CORE("in_doubt", DOUBT, doubt),
    CORE("misses", COUNT, misses),
    CORE("missed_at", TIME, missed_at_ms),
    CORE("waived", FLAG, waived),
    CORE("ext_id", TEXT, ext_id),
    OWN("content", TEXT, content),
    OWN("key", TEXT, key),
    OWN("body_hash", TEXT, body_hash),
    OWN("worker", TEXT, worker),
    OWN("journal", TEXT, journal),
    OWN("url", TEXT, url),
    OWN("duplicate", TEXT, duplicate),
    OWN("changed", FLAG, changed),
    OWN("source", SOURCE, source),
    OWN("status", COUNT, status),
    OWN("taken", COUNT, taken),
    OWN("turn", TIME, turn_ms),
    OWN("claimed_at", TIME, claimed_at_ms),
    OWN("cleared_at", TIME, cleared_at_ms),
#undef CORE
#undef OWN
};

static const struct known *find(const struct row_field *field)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i].name) == field->name_bytes && memcmp(known[i].name, field->name, field->name_bytes) == 0)
            return &known[i];
    }
    return NULL;
}

/* A decimal number of at most 15 digits, as scripts write them; value ends with a NUL. */
static bool number(const char *value, int64_t least, int64_t most, int64_t *out)
{
    size_t digits = strspn(value + (value[0] == '-'), "0123456789");
    if (digits == 0 || digits > 15 || value[(value[0] == '-') + digits] != '\0') return false;
    *out = strtoll(value, NULL, 10);
    return *out >= least && *out <= most;
}

static bool set_word(enum kind kind, void *at, const char *value)
{
    if (kind == STATE) {
        int state = delivery_state_from_name(value);
        if (state <= DS_NONE) return false;
        *(enum delivery_state *)at = (enum delivery_state)state;
    } else if (kind == REASON) { /* a newer version may have words that we do not know */
        int reason = delivery_reason_from_name(value);
        *(enum delivery_reason *)at = reason < 0 ? RS_NONE : (enum delivery_reason)reason;
    } else {
        int source = delivery_source_from_name(value);
        *(enum delivery_source *)at = source < 0 ? SRC_NONE : (enum delivery_source)source;
    }
    return true;
}

static bool set_field(const struct known *k, struct row *out, const struct row_field *field)
{
    char *at = (char *)out + k->offset;
    const char *value = field->value;
    int64_t n = 0;
    if (strlen(value) != field->value_bytes) return false;
    switch (k->kind) {
    case TEXT:
        if (field->value_bytes >= k->size) return false;
        memcpy(at, value, field->value_bytes + 1);
        return true;
    case TIME:
        if (!number(value, INT64_MIN, INT64_MAX, &n)) return false;
        *(int64_t *)(void *)at = n;
        return true;
    case COUNT:
        if (!number(value, 0, INT32_MAX, &n)) return false;
        *(int *)(void *)at = (int)n;
        return true;
    case FLAG: *(bool *)(void *)at = strcmp(value, "1") == 0; return true;
    case DOUBT: return doubt_parse(value, (struct doubt *)(void *)at);
    case STATE:
    case REASON:
    case SOURCE: return set_word(k->kind, at, value);
    }
    return false;
}

bool row_parse(const struct row_field *fields, size_t count, struct row *out, struct errbuf *err)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const struct known *k = find(&fields[i]);
        if (!k || set_field(k, out, &fields[i])) continue;
        memset(out, 0, sizeof *out);
        char shown[41];
        size_t len = 0;
        for (; len < sizeof shown - 1 && len < fields[i].value_bytes; len++) {
            char c = fields[i].value[len];
            shown[len] = c >= 0x20 && c < 0x7f ? c : '?';
        }
        shown[len] = '\0';
        return errbuf_set(err, "the row's %s cannot be read: \"%s\"", k->name, shown);
    }
    if (count > 0 && out->core.state == DS_NONE) return errbuf_set(err, "the row has no state");
    return true;
}

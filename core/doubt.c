/* SPDX-License-Identifier: MIT */
#include "core/doubt.h"

#include <stdio.h>
#include <string.h>

static int find(const struct doubt *d, const char *entry)
{
    for (int i = 0; i < d->count; i++) {
        if (strcmp(d->entry[i], entry) == 0) return i;
    }
    return -1;
}

bool doubt_parse(const char *text, struct doubt *out)
{
    memset(out, 0, sizeof *out);
    if (text == NULL) return true;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (len == 0 || len > DOUBT_TOKEN_MAX || out->count == DOUBT_ENTRIES_MAX) return false;
        memcpy(out->entry[out->count], text, len);
        out->entry[out->count][len] = '\0';
        out->count++;
        text += len;
        if (*text == ' ' && *++text == '\0') return false;
    }
    return true;
}

void doubt_format(const struct doubt *d, char out[DOUBT_TEXT_MAX])
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < d->count; i++)
        at += (size_t)snprintf(out + at, DOUBT_TEXT_MAX - at, "%s%s", i == 0 ? "" : " ", d->entry[i]);
}

static void make_entry(int attempt, const char *token, char out[DOUBT_TOKEN_MAX + 1])
{
    snprintf(out, DOUBT_TOKEN_MAX + 1, "%d:%.8s", attempt, token);
}

bool doubt_has(const struct doubt *d, int attempt, const char *token)
{
    char entry[DOUBT_TOKEN_MAX + 1];
    if (d->count == 0) return false; /* most rows */
    make_entry(attempt, token, entry);
    return find(d, entry) >= 0;
}

static void add(struct doubt *d, const char entry[DOUBT_TOKEN_MAX + 1])
{
    if (find(d, entry) >= 0 || d->count == DOUBT_ENTRIES_MAX) return;
    memcpy(d->entry[d->count++], entry, DOUBT_TOKEN_MAX + 1);
}

void doubt_add(struct doubt *d, int attempt, const char *token)
{
    char entry[DOUBT_TOKEN_MAX + 1];
    make_entry(attempt, token, entry);
    add(d, entry);
}

void doubt_remove(struct doubt *d, int attempt, const char *token)
{
    char entry[DOUBT_TOKEN_MAX + 1];
    if (d->count == 0) return;
    make_entry(attempt, token, entry);
    int i = find(d, entry);
    if (i < 0) return;
    memmove(&d->entry[i], &d->entry[i + 1], (size_t)(d->count - i - 1) * sizeof d->entry[0]);
    d->count--;
}

static const char FORGOTTEN[DOUBT_TOKEN_MAX + 1] = "rewound";

bool doubt_has_forgotten(const struct doubt *d)
{
    return find(d, FORGOTTEN) >= 0;
}

void doubt_add_forgotten(struct doubt *d)
{
    add(d, FORGOTTEN);
}

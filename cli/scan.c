/* SPDX-License-Identifier: MIT */
#include "cli/scan.h"

#include <string.h>

void scan_init(struct scan *scan)
{
    memset(scan, 0, sizeof(*scan));
}

bool scan_is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void in_string(struct scan *scan, char c)
{
    if (scan->escaped) {
        scan->escaped = false;
    } else if (c == '\\') {
        scan->escaped = true;
    } else if (c == '"') {
        scan->in_string = false;
        scan->string_len = scan->at - scan->string_at;
        scan->last = '"';
    }
}

static void outside(struct scan *scan, char c)
{
    if (scan_is_space(c)) return;
    if (c == '"') {
        scan->in_string = true;
        scan->string_at = scan->at + 1;
        return;
    }
    if (c == '{' || c == '[') {
        scan->depth++;
        scan->arrays = scan->arrays << 1 | (c == '[');
    } else if ((c == '}' || c == ']') && scan->depth > 0) {
        scan->depth--;
        scan->arrays >>= 1;
    }
    scan->last = c;
}

void scan_byte(struct scan *scan, char c)
{
    if (scan->in_string)
        in_string(scan, c);
    else
        outside(scan, c);
    scan->at++;
}

bool scan_closed(const struct scan *scan)
{
    return scan->depth == 0 && !scan->in_string;
}

bool scan_object_may_begin(const struct scan *scan)
{
    bool in_array = scan->depth > 0 && (scan->arrays & 1);
    return scan->last == ':' || (in_array && (scan->last == ',' || scan->last == '['));
}

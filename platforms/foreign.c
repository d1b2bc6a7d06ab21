/* SPDX-License-Identifier: MIT */
#include "platforms/foreign.h"

#include <stdlib.h>
#include <string.h>

#include "platforms/form.h"
#include "platforms/url.h"
#include "runtime/die.h"

/* How many bytes of an address at the beginning of a text are scheme, host and port; a quote or an end of line ends it,
 * too. 0: it is none. */
static size_t origin_bytes(const char *url)
{
    const char *authority = strstr(url, "://");
    return authority ? (size_t)(authority + 3 - url) + strcspn(authority + 3, "/?#\\\"\r\n") : 0;
}

static char *origin_of(const char *url)
{
    size_t len = origin_bytes(url);
    if (len == 0) return NULL;
    char *origin = xstrndup(url, len);
    char *normal = url_normal(origin);
    free(origin);
    return normal;
}

/* The address of a form as far as it is text; NULL where it begins with a hole. */
static const char *address_of(const struct form *form)
{
    return form->url.count == 0 || form->url.segments[0].hole ? NULL : form->url.segments[0].text;
}

char *foreign_origin(const struct form *form)
{
    const char *url = address_of(form);
    return url ? origin_of(url) : NULL;
}

/* Nearly always they are written in the same way. */
static bool same_origin(const char *url, const char *other)
{
    size_t len = origin_bytes(url);
    if (len > 0 && origin_bytes(other) == len && memcmp(url, other, len) == 0) return true;
    char *normal = origin_of(url), *other_normal = origin_of(other);
    bool same = normal && other_normal && strcmp(normal, other_normal) == 0;
    free(normal);
    free(other_normal);
    return same;
}

static bool in_settings(const struct channel *channel, const char *url)
{
    const struct descriptor *d = channel->descriptor;
    for (size_t i = 0; i < d->setting_count; i++) {
        const struct descriptor_setting *setting = &d->settings[i];
        const char *value = json_string_value(json_object_get(channel->settings, setting->name));
        bool address = setting->type == SETTING_ORIGIN || setting->type == SETTING_URL;
        if (address && value && same_origin(url, value)) return true;
    }
    return false;
}

/* "https://..." in a program's quotes: the whole of scheme, host and port has to stand there. */
static bool in_program(const char *program, const char *url)
{
    for (const char *at = program; (at = strstr(at, "\"http")) != NULL; at++)
        if (same_origin(url, at + 1)) return true;
    return false;
}

bool foreign_form(const struct channel *channel, const struct descriptor_request *request, const struct form *form)
{
    const char *url = address_of(form);
    return url == NULL || (!in_settings(channel, url) &&
                           !in_program(descriptor_program_text(channel->descriptor, request->url_part), url));
}

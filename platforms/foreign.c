/* SPDX-License-Identifier: MIT */
#include "platforms/foreign.h"

#include <stdlib.h>
#include <string.h>

#include "platforms/form.h"
#include "platforms/url.h"
#include "runtime/buf.h"
#include "runtime/die.h"

/* Of an address at the beginning of a text, which a quote or an end of line ends, too. */
static char *origin_of(const char *url)
{
    const char *authority = strstr(url, "://");
    if (authority == NULL) return NULL;
    char *origin = xstrndup(url, (size_t)(authority + 3 - url) + strcspn(authority + 3, "/?#\\\"\r\n"));
    char *normal = url_normal(origin);
    free(origin);
    return normal;
}

char *foreign_origin(const struct form *form)
{
    if (form->url.count == 0 || form->url.segments[0].hole) return NULL;
    return origin_of(form->url.segments[0].text);
}

static bool is_origin_of(const char *origin, const char *url)
{
    char *other = origin_of(url);
    bool same = other != NULL && strcmp(origin, other) == 0;
    free(other);
    return same;
}

static bool in_settings(const struct channel *channel, const char *origin)
{
    const struct descriptor *d = channel->descriptor;
    for (size_t i = 0; i < d->setting_count; i++) {
        const struct descriptor_setting *setting = &d->settings[i];
        const char *value = json_string_value(json_object_get(channel->settings, setting->name));
        bool address = setting->type == SETTING_ORIGIN || setting->type == SETTING_URL;
        if (address && value && is_origin_of(origin, value)) return true;
    }
    return false;
}

/* "https://..." in a program's quotes: the whole of scheme, host and port has to stand there. */
static bool in_program(const char *program, const char *origin)
{
    for (const char *at = program; (at = strstr(at, "\"http")) != NULL; at++)
        if (is_origin_of(origin, at + 1)) return true;
    return false;
}

bool foreign_form(const struct channel *channel, const struct descriptor_request *request, const struct form *form)
{
    char *origin = foreign_origin(form);
    bool known =
        origin != NULL && (in_settings(channel, origin) ||
                           in_program(descriptor_program_text(channel->descriptor, request->url_part), origin));
    free(origin);
    return !known;
}

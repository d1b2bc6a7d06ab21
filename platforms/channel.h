/* SPDX-License-Identifier: MIT */
/*
 * channel: an account on a platform, as configured: descriptor, settings, credentials, policy.
 *
 * channel_set_load() reads the `channels` member of the configuration; errors name the file and the JSON path. A
 * channel stays as it was read, only its credentials can be read again. The set owns its channels; descriptors belong
 * to the descriptor set, which must live longer.
 */
#ifndef LANDFALL_PLATFORMS_CHANNEL_H
#define LANDFALL_PLATFORMS_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/delivery.h"
#include "keys/identity.h"
#include "platforms/credential.h"
#include "platforms/descriptor.h"
#include "runtime/errbuf.h"

struct channel {
    char name[IDENTITY_CHANNEL_BYTES]; /* "site/brand" */
    const char *account;               /* behind the slash */
    struct descriptor *descriptor;
    enum descriptor_tier tier;      /* the descriptor's, or key where a setting states the key window */
    enum descriptor_auth_kind auth; /* the descriptor's, or bearer where an access token stands in for oauth2 */
    json_t *settings;               /* object, checked, defaults filled in */
    char *instance; /* where the platform is, for the key: an origin in normal form, a URL, or the platform's name */
    struct credentials credentials;
    struct delivery_policy policy;
    int64_t write_limit_ms; /* how long one write may take; with its margins it stays below policy.lease_ms */
    int64_t spacing_ms;
    int64_t burst;
    bool paused;
    char *text;                   /* the channel's own jq for the text, or NULL */
    struct program *text_program; /* compiled when first used */
};

struct channel_set;
struct content; /* keys/content.h */

/* A policy's turn_ms for so many a minute; 0: no limit. */
int64_t channel_turn_ms(int64_t per_minute);

/* defaults: the fleet's max_attempts, backoff, give_up_after_ms, hold_absent, max_age_ms, turn_ms; the rest comes from
 * descriptor and channel. config_path: for errors and relative paths, NULL if there is no file. */
MUSTCHECK bool channel_set_load(const json_t *channels, const char *config_path, struct descriptor_set *descriptors,
                                const struct delivery_policy *defaults, struct channel_set **out, struct errbuf *err);
/* The same without reading a credential, for programs that send nothing: they need none and may not have any. */
MUSTCHECK bool channel_set_load_bare(const json_t *channels, const char *config_path,
                                     struct descriptor_set *descriptors, const struct delivery_policy *defaults,
                                     struct channel_set **out, struct errbuf *err);
void channel_set_free(struct channel_set **set);

size_t channel_set_count(const struct channel_set *set);
struct channel *channel_set_at(const struct channel_set *set, size_t i); /* sorted by name */

/* True where its tokens come from a login or a refresh. */
bool channel_has_session(const struct channel *channel);

/* NULL if it is not configured here. */
struct channel *channel_find(const struct channel_set *set, const char *name);

/* What a program gets to see of a delivery. NULL and 0 where it is not known. All borrowed. */
struct channel_facts {
    const json_t *item;
    struct content *content;  /* instead of item: then it is made a value when a program looks at it */
    const char *text;         /* what channel_text() gave */
    const json_t *text_facts; /* what text.h says about it */
    const char *key;
    int generation;
    int64_t approved_at_ms;
    int64_t dated_ms;
    int64_t attempt_from_ms;
    const char *ext_id;
    bool replay;                      /* an earlier attempt of this delivery is in doubt */
    const char *after_id, *after_url; /* of the delivery that had to come first; "" as NULL */
};

/* The input object of programs, without part, hole, answer, cursor and prepared, which whoever runs one adds. */
json_t *channel_input(const struct channel *channel, const struct channel_facts *facts);

/* The same, of which a member is made when a program looks at it: the facts' texts have to stay until
 * then. */
struct program_input *channel_input_lazy(const struct channel *channel, const struct channel_facts *facts);

/* SIGHUP: its credentials once more, logged; what cannot be read is reported and the old ones stay. True: they are
 * other ones, and a session that was begun with the old ones is over. */
bool channel_reload(struct channel *channel);

/* Compiles all programs that are compiled at their first use otherwise: to say at once what is wrong with them. */
MUSTCHECK bool channel_compiles(struct channel *channel, enum descriptor_half half, struct errbuf *err);

/* The text to publish: the channel's own program, or the descriptor's; *text NULL where there is neither. The caller
 * frees it with free(). */
MUSTCHECK bool channel_text(struct channel *channel, enum descriptor_half half, const json_t *input, char **text,
                            struct errbuf *err);
MUSTCHECK bool channel_text_over(struct channel *channel, enum descriptor_half half, struct program_input *input,
                                 char **text, struct errbuf *err);

#endif

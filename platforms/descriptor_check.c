/* SPDX-License-Identifier: MIT */
/*
 * What one member of a descriptor demands of another. The tables have checked each for itself.
 *
 * A rule here exists because breaking it would publish twice, never publish, or never find out; the text says which
 * member to change.
 */
#include "platforms/descriptor_check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/reason.h"

#define REQUIRE(condition, path, ...)                                                                                  \
    do {                                                                                                               \
        if (!(condition)) return shape_error(reader, (path), __VA_ARGS__);                                             \
    } while (0)

static const char *program_text(const struct shape_reader *reader, const char *path)
{
    for (size_t i = 0; path && i < reader->program_count; i++)
        if (strcmp(reader->programs[i].path, path) == 0) return reader->programs[i].text;
    return "";
}

static bool uses_hole(const struct shape_reader *reader, const char *path)
{
    return strstr(program_text(reader, path), "hole") != NULL;
}

static const char *request_body(const struct descriptor_request *request)
{
    return request->json_part ? request->json_part : request->form_part ? request->form_part : request->text_part;
}

static bool check_request(struct shape_reader *reader, const struct descriptor_request *request, const char *path)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    bool known = false;
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        known |= strcmp(request->method, methods[i]) == 0;
    REQUIRE(known, path, "its method must be GET, POST, PUT, PATCH or DELETE");
    int bodies = (request->json_part != NULL) + (request->form_part != NULL) + (request->text_part != NULL) +
                 (request->file_part != NULL);
    REQUIRE(bodies <= 1, path, "its body must be one of json, form, text and file");
    REQUIRE(!request->file_part || strncmp(path, "$.prepare[", 10) == 0, path,
            "only a step before the write can send a file");
    REQUIRE((request->text_part != NULL) == (request->text_type != NULL), path,
            "a text body needs its content type in body.type, others must not have it");
    REQUIRE(bodies == 0 || strcmp(request->method, "GET") != 0, path, "a GET has no body");
    return true;
}

static bool check_steps(struct shape_reader *reader, const struct descriptor_step *steps, size_t count, const char *at)
{
    char path[128];
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "$.%s[%zu]", at, i);
        for (size_t k = 0; k < i; k++)
            REQUIRE(strcmp(steps[i].name, steps[k].name) != 0, path, "there is another step named %s", steps[i].name);
        REQUIRE(strcmp(at, "prepare") == 0 ||
                    (!steps[i].each_part && steps[i].keep_bytes_max == 0 && !steps[i].again_part),
                path, "each, again and keep_bytes are for steps before the write");
        if (!check_request(reader, &steps[i].request, path)) return false;
    }
    return true;
}

static bool check_logins(struct shape_reader *reader, const struct descriptor *d)
{
    char path[64];
    for (size_t i = 0; i < d->login_step_count; i++) {
        snprintf(path, sizeof(path), "$.auth.steps[%zu].request", i);
        if (!check_request(reader, &d->login_steps[i].request, path)) return false;
    }
    return (!d->login.request.method || check_request(reader, &d->login.request, "$.auth.login")) &&
           (!d->refresh.request.method || check_request(reader, &d->refresh.request, "$.auth.refresh"));
}

static bool check_requests(struct shape_reader *reader, const struct descriptor *d)
{
    return check_request(reader, &d->write, "$.write.request") &&
           check_steps(reader, d->prepare, d->prepare_count, "prepare") &&
           check_steps(reader, d->read_prepare, d->read_prepare_count, "reads.prepare") && check_logins(reader, d) &&
           (!d->by_id.given || check_request(reader, &d->by_id.request, "$.reads.by_id.request")) &&
           (!d->by_key.given || check_request(reader, &d->by_key.request, "$.reads.by_key.request")) &&
           (!d->listing.given || check_request(reader, &d->listing.request, "$.reads.listing.request"));
}

/* a-z first, then a-z, 0-9 and what stands in others. */
static bool valid_name(const char *name, const char *others)
{
    if (*name < 'a' || *name > 'z') return false;
    for (; *name; name++)
        if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) && !strchr(others, *name)) return false;
    return true;
}

static const struct descriptor_setting *find_setting(const struct descriptor *d, const char *name)
{
    for (size_t i = 0; i < d->setting_count; i++)
        if (strcmp(d->settings[i].name, name) == 0) return &d->settings[i];
    return NULL;
}

static bool check_number_setting(struct shape_reader *reader, const struct descriptor *d, const char *name,
                                 const char *path)
{
    const struct descriptor_setting *setting = find_setting(d, name);
    REQUIRE(setting && setting->type == SETTING_NUMBER, path, "must name a setting of type number");
    return true;
}

static bool check_settings(struct shape_reader *reader, const struct descriptor *d)
{
    char path[160];
    for (size_t i = 0; i < d->setting_count; i++) {
        const struct descriptor_setting *setting = &d->settings[i];
        snprintf(path, sizeof(path), "$.settings.%s", setting->name);
        REQUIRE(valid_name(setting->name, "_"), path, "a setting's name is lower-case letters, digits and _");
        REQUIRE((setting->type == SETTING_ENUM) == (setting->values != NULL), path,
                "an enum needs values, other types must not have them");
        REQUIRE(!setting->required || !setting->fallback, path, "what is required has no default");
        char why[160];
        if (setting->fallback && !descriptor_setting_fits(setting, setting->fallback, why, sizeof(why)))
            return shape_error(reader, path, "its default %s", why);
    }
    if (!d->instance_setting) return true;
    const struct descriptor_setting *instance = find_setting(d, d->instance_setting);
    REQUIRE(instance && (instance->type == SETTING_ORIGIN || instance->type == SETTING_URL), "$.instance",
            "must name a setting of type origin or url");
    REQUIRE(instance->required || instance->fallback, "$.instance", "the setting %s must be required or have a default",
            instance->name);
    return true;
}

/* Text that stands in a JSON string as it is. */
static bool is_plain_json(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\') return false;
    return true;
}

/* Where the tokens of a channel come from. */
static bool check_session(struct shape_reader *reader, const struct descriptor *d)
{
    bool session = d->auth == AUTH_SESSION, oauth2 = d->auth == AUTH_OAUTH2, has = descriptor_has_session(d);
    bool login = d->login.request.method != NULL, refresh = d->refresh.request.method != NULL;
    REQUIRE(session == (login != (d->login_step_count > 0)), "$.auth.login",
            "kind session needs a login request, or steps where it takes several, other kinds must not have one");
    REQUIRE(!oauth2 || refresh, "$.auth.refresh", "kind oauth2 needs the request that renews its token");
    REQUIRE(has || !refresh, "$.auth.refresh", "only kinds session and oauth2 renew a token");
    REQUIRE((login || refresh) == (d->token_part != NULL), "$.auth.token",
            "a login request, and a refresh, need a program that takes the tokens out of the answer, others must not "
            "have one");
    REQUIRE(has || !d->refused_part, "$.auth.refused", "only kinds session and oauth2 have logins");
    REQUIRE(!oauth2 || !d->credential_names, "$.auth.credentials",
            "kind oauth2 has refresh_token, client_id and, where the client is confidential, client_secret");
    REQUIRE(has || !d->session_names, "$.auth.values", "only kinds session and oauth2 have values");
    REQUIRE(json_array_size(d->session_names) <= DESCRIPTOR_SESSION_VALUES_MAX, "$.auth.values",
            "must be at most %d names", DESCRIPTOR_SESSION_VALUES_MAX);
    return true;
}

static bool check_auth(struct shape_reader *reader, const struct descriptor *d)
{
    bool session = d->auth == AUTH_SESSION, jwt = d->auth == AUTH_JWT;
    REQUIRE(session || (d->auth == AUTH_HEADER) == (d->auth_header != NULL), "$.auth.name",
            "kind header needs the header's name, other kinds must not have it, session excepted");
    REQUIRE(d->auth == AUTH_HEADER || jwt || !d->auth_prefix, "$.auth.prefix",
            "only kinds header and jwt have a prefix");
    REQUIRE(jwt == (d->audience != NULL), "$.auth.audience",
            "kind jwt needs the audience of its tokens, other kinds must not have it");
    REQUIRE(!jwt || is_plain_json(d->audience), "$.auth.audience",
            "must be printable ASCII without quotes and backslashes");
    REQUIRE(!jwt || d->lifetime_s > 0, "$.auth.lifetime_s", "kind jwt needs the lifetime of its tokens");
    REQUIRE(d->auth != AUTH_PATH || uses_hole(reader, d->write.url_part), "$.write.request.url",
            "auth kind path: the address must hold a secret, such as .hole.secret");
    REQUIRE(d->auth != AUTH_BODY || uses_hole(reader, request_body(&d->write)), "$.write.request.body",
            "auth kind body: the body must hold a secret, such as .hole.secret");
    REQUIRE(d->auth != AUTH_NONE || !d->credential_names, "$.auth.credentials", "kind none has no credentials");
    return check_session(reader, d);
}

static bool check_key(struct shape_reader *reader, const struct descriptor *d)
{
    const char *tier = descriptor_tier_name(d->tier);
    bool needs = d->tier == TIER_KEY || d->tier == TIER_UPSERT;
    REQUIRE(!needs || d->has_key, "$.key", "missing: tier %s sends a key; write its format and window", tier);
    REQUIRE((d->tier == TIER_PING) == (d->repeats == REPEATS_HARMLESS), "$.repeats",
            "tier ping, and no other, has harmless repeats");
    REQUIRE(!d->stores_failures || d->tier == TIER_KEY || d->key_window_setting, "$.stores_failures",
            "only a platform of tier key, or with a key.window_setting, stores failures under a key");
    if (!d->has_key) return true;
    REQUIRE(d->tier != TIER_KEY || d->key_window_s > 0, "$.key.window_s",
            "must be above 0 in tier key; a platform that forgets keys at once is of tier read or blind");
    REQUIRE(d->tier != TIER_UPSERT || d->key_window_s == -1, "$.key.window_s", "must be -1 in tier upsert");
    REQUIRE(needs || d->key_window_s == 0, "$.key.window_s",
            "must be 0 in tier %s: a window is a promise to honour the key, which makes it tier key", tier);
    char why[KEYS_ERR_BYTES];
    if (!key_format_check(d->key_format, NULL, (size_t)d->key_max_length, why))
        return shape_error(reader, "$.key.max_length", "%s", why);
    if (!d->key_window_setting) return true;
    REQUIRE(!needs, "$.key.window_setting", "is for platforms whose window only the operator knows, not for tier %s",
            tier);
    return check_number_setting(reader, d, d->key_window_setting, "$.key.window_setting");
}

static bool check_rule(struct shape_reader *reader, const struct descriptor *d, const struct descriptor_rule *rule,
                       const char *path)
{
    bool success = rule->outcome == OUTCOME_COMMITTED;
    REQUIRE(rule->statuses.count > 0 || rule->if_part, path,
            "needs status or if; a rule for everything hides the others");
    REQUIRE(
        !success || !d->gives_id || rule->id_part, path,
        "committed needs id, or write.gives_id must be false: without an id a delivery cannot be told from another");
    REQUIRE(d->gives_id || !rule->id_part, path, "has an id although write.gives_id is false");
    REQUIRE(!rule->duplicate_part || success, path, "duplicate belongs to outcome committed");
    REQUIRE(!rule->stored_part || success, path, "stored belongs to outcome committed");
    REQUIRE(rule->outcome != OUTCOME_SESSION_EXPIRED || d->auth != AUTH_NONE, path,
            "session_expired needs a credential that can expire");
    REQUIRE(!rule->reason || delivery_reason_from_name(rule->reason) >= 0, path,
            "its reason is not in the table of reasons");
    return true;
}

static bool check_rules(struct shape_reader *reader, const struct descriptor *d)
{
    char path[64];
    bool success = false;
    for (size_t i = 0; i < d->rule_count; i++) {
        snprintf(path, sizeof(path), "$.accept[%zu]", i);
        if (!check_rule(reader, d, &d->rules[i], path)) return false;
        success |= d->rules[i].outcome == OUTCOME_COMMITTED;
    }
    REQUIRE(success, "$.accept", "needs a rule with the outcome committed");
    return true;
}

static bool check_reads(struct shape_reader *reader, const struct descriptor *d)
{
    bool readable = d->listing.given || d->by_key.given;
    REQUIRE(d->tier != TIER_READ || readable, "$.reads",
            "tier read needs reads.listing or reads.by_key; without them it is blind");
    REQUIRE((d->tier != TIER_BLIND && d->tier != TIER_PING) || !readable, "$.reads",
            "tier %s has neither listing nor by_key; what can be read is tier read", descriptor_tier_name(d->tier));
    REQUIRE(!d->by_key.given || d->has_key, "$.reads.by_key", "needs a key");
    REQUIRE(d->listing.given == (d->marks_part != NULL), "$.marks",
            "reads.listing and marks need each other: a listing is searched for marks");
    REQUIRE(!d->listing.given || d->auth == AUTH_NONE || !d->listing.request.anonymous,
            "$.reads.listing.request.anonymous",
            "the history is read as the account that posts: strangers do not see all of it");
    REQUIRE(!d->verify_after_publish || (d->gives_id && d->by_id.given), "$.verify_after_publish",
            "needs write.gives_id and reads.by_id");
    return true;
}

static bool check_limits(struct shape_reader *reader, const struct descriptor *d)
{
    char path[64];
    for (size_t i = 0; i < d->wait_count; i++) {
        const struct descriptor_wait *wait = &d->waits[i];
        snprintf(path, sizeof(path), "$.limits[%zu]", i);
        bool body = wait->form == LIMITS_BODY;
        REQUIRE(body == (wait->at_part != NULL) && body == (wait->header == NULL), path,
                "form body needs at and no header, other forms need header and no at");
        REQUIRE(body || valid_name(wait->header, "-"), path, "write the header's name in lower case");
        REQUIRE(!wait->remaining || valid_name(wait->remaining, "-"), path,
                "write in remaining the name of a header, in lower case");
    }
    for (size_t i = 0; i < d->item_limit_count; i++) {
        const struct descriptor_item_limit *limit = &d->item_limits[i];
        snprintf(path, sizeof(path), "$.item.limits[%zu]", i);
        REQUIRE(limit->max > 0 || limit->max_setting, path, "needs max or max_setting");
        if (limit->max_setting && !check_number_setting(reader, d, limit->max_setting, path)) return false;
    }
    REQUIRE(d->write_limit_ms + d->margin_s * 1000 < d->lease_s * 1000, "$.times.lease_s",
            "%lld s must be above write.limit_ms (%lld ms) and times.margin_s (%lld s) together", (long long)d->lease_s,
            (long long)d->write_limit_ms, (long long)d->margin_s);
    return true;
}

bool descriptor_check(struct shape_reader *reader, const struct descriptor *d)
{
    const char *slash = strrchr(d->file, '/');
    const char *base = slash ? slash + 1 : d->file;
    size_t len = strlen(d->platform);
    REQUIRE(valid_name(d->platform, "-"), "$.platform", "must begin with a-z and go on with a-z, 0-9 and -");
    REQUIRE(strncmp(base, d->platform, len) == 0 && strcmp(base + len, ".json") == 0, "$.platform",
            "must be the name of the file without \".json\"");
    return check_settings(reader, d) && check_requests(reader, d) && check_auth(reader, d) && check_key(reader, d) &&
           check_rules(reader, d) && check_reads(reader, d) && check_limits(reader, d);
}

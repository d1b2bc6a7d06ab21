/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_platform.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/form.h"
#include "runtime/die.h"

/* The promises of the descriptors in tests/sim/descriptors and of fleet.json. The platform keeps them, with a little to
 * spare; landfall may rely on them, with its own margin. */
#define LATE_COMMIT_US (1990 * SIM_MS)
#define VISIBLE_US     (1490 * SIM_MS)
#define KEY_WINDOW_US  (25 * SIM_S)
#define WRITE_LIMIT_US (1500 * SIM_MS)

#define QUICK_US   (300 * SIM_MS)
#define PAGE_POSTS 2
#define POSTS_MAX  64

#define HOST "https://sim.example/"

struct post {
    char id[16], tier[16], item[16], url[64], key[160];
    int64_t at_us, visible_us;
};

/* What a platform with keys knows of one. */
struct known_key {
    char tier[16], key[160], id[16];
    int64_t first_us; /* finished then */
};

struct sim_platform {
    struct post post[POSTS_MAX];
    int post_count;
    struct known_key key[POSTS_MAX];
    int key_count;
    bool keys_at_start; /* a key is known while its request is executed; else only when it has finished */
    char executing[POSTS_MAX][160];
    int executing_count;
};

void sim_platform_init(void)
{
    sim.platform = xcalloc(1, sizeof *sim.platform);
    sim.platform->keys_at_start = sim_between(0, 1);
}

void sim_platform_fini(void)
{
    free(sim.platform);
    sim.platform = NULL;
}

/* ---- requests ---- */

/* The text of a member of a flat JSON object; "" where there is none. */
static void member(const char *body, const char *name, char *out, size_t size)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\"%s\":\"", name);
    const char *at = body != NULL ? strstr(body, wanted) : NULL;
    out[0] = '\0';
    if (at == NULL) return;
    at += strlen(wanted);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
}

struct sim_request *sim_request_new(const struct http_request *http, const char *sender)
{
    struct sim_request *r = xcalloc(1, sizeof *r);
    bool known = http->url != NULL && strncmp(http->url, HOST, strlen(HOST)) == 0;
    const char *path = known ? http->url + strlen(HOST) : "nowhere";
    size_t len = strcspn(path, "?");
    if (!known) sim_fail("%s sends a request to \"%s\"", sender, http->url);
    r->refs = 1;
    snprintf(r->method, sizeof r->method, "%s", http->method);
    snprintf(r->path, sizeof r->path, "%.*s", (int)len, path);
    snprintf(r->query, sizeof r->query, "%s", path[len] == '?' ? path + len + 1 : "");
    snprintf(r->sender, sizeof r->sender, "%s", sender);
    for (size_t i = 0; i < http->header_count; i++)
        if (strncmp(http->headers[i], "Idempotency-Key: ", 17) == 0)
            snprintf(r->key, sizeof r->key, "%s", http->headers[i] + 17);
    member(http->body, "id", r->item, sizeof r->item);
    member(http->body, "url", r->item_url, sizeof r->item_url);
    if (strcmp(r->method, "PUT") == 0) snprintf(r->key, sizeof r->key, "%.*s", 159, strrchr(r->path, '/') + 1);
    r->is_write = strcmp(r->method, "GET") != 0 && strstr(r->path, "/drafts") == NULL;
    r->commit_us = SIM_NEVER;
    r->sent_us = sim.now_us;
    return r;
}

void sim_request_drop(struct sim_request *r)
{
    if (r != NULL && --r->refs == 0) free(r);
}

static void tier_of(const struct sim_request *r, char out[16])
{
    snprintf(out, 16, "%.*s", (int)strcspn(r->path, "/"), r->path);
}

/* ---- answers ---- */

static void answer(struct sim_request *r, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void answer(struct sim_request *r, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    r->status = status;
    r->answer_len = (size_t)vsnprintf(r->answer, sizeof r->answer, format, arguments);
    va_end(arguments);
}

static void spoil(struct sim_request *r)
{
    switch (sim_between(0, 3)) {
    case 0:
        answer(r, 504, "<html>gateway timeout</html>");
        r->html = true;
        break;
    case 1:
        answer(r, 200, "<html>welcome</html>");
        r->html = true;
        break;
    case 2: answer(r, 500, "{\"error\":\"oops\"}"); break;
    default: answer(r, 200, "{}"); break;
    }
}

static void answer_post(struct sim_request *r, const struct post *post)
{
    answer(r, 201, "{\"id\":\"%s\",\"url\":\"https://sim.example/p/%s\"}", post->id, post->id);
    if (r->is_write && sim_fault(sim.plan.faults.bad_answer)) spoil(r);
}

/* ---- writes ---- */

static struct post *find_upserted(const char *tier, const char *key)
{
    for (int i = 0; i < sim.platform->post_count; i++) {
        struct post *post = &sim.platform->post[i];
        if (strcmp(post->tier, tier) == 0 && strcmp(post->key, key) == 0) return post;
    }
    return NULL;
}

static struct post *add_post(const struct sim_request *r, const char *tier)
{
    struct sim_platform *platform = sim.platform;
    if (platform->post_count == POSTS_MAX) {
        sim_fail("%d posts were made", POSTS_MAX);
        return &platform->post[POSTS_MAX - 1];
    }
    struct post *post = &platform->post[platform->post_count++];
    *post = (struct post){.at_us = sim.now_us, .visible_us = sim.now_us};
    if (sim_chance(0.7)) post->visible_us += sim_between(0, VISIBLE_US);
    snprintf(post->id, sizeof post->id, "p%d", platform->post_count);
    snprintf(post->tier, sizeof post->tier, "%s", tier);
    snprintf(post->item, sizeof post->item, "%s", r->item);
    snprintf(post->url, sizeof post->url, "%s", r->item_url);
    snprintf(post->key, sizeof post->key, "%s", r->key);
    return post;
}

static struct known_key *find_key(const char *tier, const char *key)
{
    for (int i = 0; i < sim.platform->key_count; i++) {
        struct known_key *known = &sim.platform->key[i];
        if (strcmp(known->tier, tier) == 0 && strcmp(known->key, key) == 0) return known;
    }
    return NULL;
}

static void keep_key(const struct sim_request *r, const char *tier, const char *id)
{
    struct known_key *known = find_key(tier, r->key);
    if (known == NULL && sim.platform->key_count < POSTS_MAX) known = &sim.platform->key[sim.platform->key_count++];
    if (known == NULL) return;
    *known = (struct known_key){.first_us = sim.now_us};
    snprintf(known->tier, sizeof known->tier, "%s", tier);
    snprintf(known->key, sizeof known->key, "%s", r->key);
    snprintf(known->id, sizeof known->id, "%s", id);
}

static bool has_keys(const char *tier)
{
    return strncmp(tier, "key", 3) == 0;
}

static bool is_harmless(const char *tier)
{
    return strcmp(tier, "ping") == 0;
}

/* The post that a key stands for, while the platform remembers it. */
static struct post *remembered(const struct sim_request *r, const char *tier)
{
    const struct known_key *known = has_keys(tier) ? find_key(tier, r->key) : NULL;
    if (known == NULL || sim.now_us - known->first_us > KEY_WINDOW_US) return NULL;
    return &sim.platform->post[strtol(known->id + 1, NULL, 10) - 1];
}

static bool is_executing(const char *key)
{
    for (int i = 0; i < sim.platform->executing_count; i++)
        if (strcmp(sim.platform->executing[i], key) == 0) return true;
    return false;
}

static void end_executing(const char *key)
{
    struct sim_platform *platform = sim.platform;
    for (int i = 0; i < platform->executing_count; i++) {
        if (strcmp(platform->executing[i], key) != 0) continue;
        memmove(platform->executing[i], platform->executing[platform->executing_count - 1],
                sizeof *platform->executing);
        platform->executing_count--;
        return;
    }
}

static void execute(void *object, uint64_t tag)
{
    struct sim_request *r = object;
    char tier[16], delivery[96];
    if (tag != r->commit_number || sim.over) { /* brought forward meanwhile */
        sim_request_drop(r);
        return;
    }
    tier_of(r, tier);
    if (sim.platform->keys_at_start && has_keys(tier)) end_executing(r->key);
    struct post *post = strcmp(r->method, "PUT") == 0 ? find_upserted(tier, r->key) : NULL;
    if (post == NULL) {
        post = add_post(r, tier);
        snprintf(delivery, sizeof delivery, "%s/one/%s", tier, r->item);
        sim_tell("platform %s: post %s of %s, asked for by %s", tier, post->id, delivery, r->sender);
        sim_judge_committed(delivery, post->id, tier);
    }
    if (has_keys(tier)) keep_key(r, tier, post->id);
    answer_post(r, post);
    r->commit_us = SIM_NEVER;
    sim_transfer_answered(r);
    sim_request_drop(r);
}

static void execute_at(struct sim_request *r, int64_t at_us)
{
    r->refs++;
    r->commit_us = at_us;
    sim_at(at_us, execute, r, ++r->commit_number);
}

void sim_platform_given_up(struct sim_request *r)
{
    r->last_us = sim.now_us + LATE_COMMIT_US;
    if (r->commit_us != SIM_NEVER && r->commit_us > r->last_us) execute_at(r, r->last_us);
}

bool sim_platform_repeats_unread(const struct sim_request *r)
{
    char tier[16];
    tier_of(r, tier);
    return strcmp(tier, "blind") == 0 || (has_keys(tier) && !sim.platform->keys_at_start);
}

/* A write that is not executed. True: it was answered so. */
static bool turn_down(struct sim_request *r)
{
    const struct sim_faults *f = &sim.plan.faults;
    if (sim_fault(f->asks_to_wait)) {
        answer(r, 429, "{\"error\":\"slow down\"}");
        r->retry_after_s = (int)sim_between(1, 3);
    } else if (sim_fault(f->unavailable)) {
        answer(r, 503, "{\"error\":\"later\",\"meta\":{\"commit_state\":\"%s\"}}",
               sim_chance(0.5) ? "not_committed" : "unknown");
    } else if (sim_fault(f->refused)) {
        answer(r, 422, "{\"error\":\"no\"}");
    } else {
        return false;
    }
    return true;
}

static void arrive_again(void *object, uint64_t tag)
{
    (void)tag;
    sim_platform_arrive(object);
    sim_request_drop(object);
}

/* A proxy on the way repeats a request that the platform takes. Only where the platform knows it again: else nobody
 * could help it. */
static void repeat(const struct sim_request *r, const char *tier)
{
    bool knows = strcmp(tier, "upsert") == 0 || is_harmless(tier) || (has_keys(tier) && sim.platform->keys_at_start);
    if (!knows || r->again || !sim_fault(sim.plan.faults.twice)) return;
    struct sim_request *copy = xmalloc(sizeof *copy);
    *copy = *r;
    copy->refs = 1;
    copy->transfer = NULL;
    copy->again = true;
    sim_at(sim.now_us + sim_between(1, QUICK_US), arrive_again, copy, 0);
}

static void arrive_write(struct sim_request *r, const char *tier)
{
    if (r->last_us == 0) r->last_us = r->sent_us + WRITE_LIMIT_US + LATE_COMMIT_US;
    const struct post *post = remembered(r, tier);
    if (!r->again && sim_chance(0.5) && turn_down(r)) { /* before anybody has looked at its key */
        post = NULL;
    } else if (post != NULL) {
        answer_post(r, post);
    } else if (sim.platform->keys_at_start && has_keys(tier) && is_executing(r->key)) {
        answer(r, 409, "{\"error\":\"this key is in use\"}");
        r->retry_after_s = 1;
    } else if (r->again || !turn_down(r)) {
        repeat(r, tier);
        int64_t span_us = sim_fault(sim.plan.faults.late_commit) ? r->last_us - sim.now_us : QUICK_US;
        if (has_keys(tier) && sim.platform->keys_at_start && sim.platform->executing_count < POSTS_MAX)
            snprintf(sim.platform->executing[sim.platform->executing_count++], sizeof *sim.platform->executing, "%s",
                     r->key);
        execute_at(r, sim.now_us + sim_between(0, span_us));
        return;
    }
    sim_tell("platform %s: answers %s with %d", tier, r->sender, r->status);
    sim_transfer_answered(r);
}

/* ---- reads ---- */

static bool is_visible(const struct post *post, const char *tier)
{
    return strcmp(post->tier, tier) == 0 && post->visible_us <= sim.now_us;
}

/* Newest first; ?before=p7 goes on behind p7. */
static void list(struct sim_request *r, const char *tier)
{
    char page[SIM_PLATFORM_BODY_BYTES - 64] = "", next[32] = "null";
    size_t len = 0;
    int shown = 0, from = sim.platform->post_count;
    if (strncmp(r->query, "before=p", 8) == 0) from = (int)strtol(r->query + 8, NULL, 10) - 1;
    for (int i = from - 1; i >= 0; i--) {
        const struct post *post = &sim.platform->post[i];
        if (!is_visible(post, tier)) continue;
        if (shown == PAGE_POSTS) {
            snprintf(next, sizeof next, "\"p%d\"", i + 2);
            break;
        }
        len += (size_t)snprintf(page + len, sizeof page - len,
                                "%s{\"id\":\"%s\",\"at_ms\":%lld,\"keys\":[\"%s\"],\"urls\":[\"%s\"]}",
                                shown > 0 ? "," : "", post->id, (long long)(post->at_us / 1000), post->key, post->url);
        shown++;
    }
    answer(r, 200, "{\"posts\":[%s],\"next\":%s}", page, next);
}

static void show(struct sim_request *r, const char *tier, const char *name)
{
    for (int i = 0; i < sim.platform->post_count; i++) {
        const struct post *post = &sim.platform->post[i];
        if (!is_visible(post, tier) || (strcmp(post->id, name) != 0 && strcmp(post->key, name) != 0)) continue;
        answer_post(r, post);
        r->status = 200;
        return;
    }
    answer(r, 404, "{\"gone\":true}");
}

static void arrive_read(struct sim_request *r, const char *tier)
{
    const char *name = strchr(r->path, '/');
    if (sim_fault(sim.plan.faults.read_error))
        answer(r, (int)sim_between(0, 1) ? 500 : 503, "{\"error\":\"oops\"}");
    else if (strcmp(r->method, "GET") != 0)
        answer(r, 200, "{\"draft\":\"d1\"}");
    else if (name == NULL)
        list(r, tier);
    else
        show(r, tier, name + 1);
    sim_transfer_answered(r);
}

void sim_platform_arrive(struct sim_request *r)
{
    char tier[16];
    if (sim.over) return;
    tier_of(r, tier);
    if (r->is_write)
        arrive_write(r, tier);
    else
        arrive_read(r, tier);
}

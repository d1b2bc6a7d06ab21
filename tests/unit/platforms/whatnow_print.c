/* SPDX-License-Identifier: MIT */
/*
 * Prints for every descriptor of the folder what is done at every point in time: the policy, what each kind of answer
 * does to a row that is being sent, for the first time and again while an earlier attempt is in doubt, what the
 * platform's own answers do (the cases of its fixtures), and what reading back does to a row whose outcome is unknown.
 * People read the differences of whatnow.golden; what_now.py compares it with what people expect, what_now.txt.
 *
 * A platform whose key window only the operator knows is printed twice, without it and with it.
 */
#include "support.h"

#include "shipped.h"

#include "platforms/program_input.h"
#include "platforms/rehearse.h"
#include "platforms/transfer.h"

#define DAY_MS   INT64_C(86400000)
#define WINDOW_S 3600 /* for who has to state one */

/* ---- rows and decisions ---- */

static void print_decision(FILE *f, const struct delivery_decision *d, int64_t now_ms)
{
    if (d->verdict != VERDICT_CHANGE) {
        fprintf(f, "%s", d->verdict == VERDICT_BUSY ? "busy" : "already");
        return;
    }
    const struct {
        bool on;
        const char *word;
    } flags[] = {
        {d->duplicate, "DUPLICATE"},          {d->alert, "ALERT"},
        {d->pause_channel, "channel paused"}, {d->doubt_cleared, "doubt cleared"},
        {d->new_generation, "new key"},       {d->misses > 0, "one miss"},
    };
    fprintf(f, "%s %s", delivery_state_name(d->state), delivery_reason_name(d->reason));
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (flags[i].on) fprintf(f, ", %s", flags[i].word);
    if (d->block_until_ms > 0) fprintf(f, ", channel waits %g s", (double)(d->block_until_ms - now_ms) / 1000);
    if (d->place == PLACE_AGENDA || d->place == PLACE_WALK)
        fprintf(f, d->due_ms > now_ms ? ", in %g s" : ", at once", (double)(d->due_ms - now_ms) / 1000);
}

static void print_report(FILE *f, struct channel *channel, const struct outcome *out, bool again)
{
    const struct delivery_decision d = rehearse_report(channel, out, again);
    fprintf(f, "%s%s%s", delivery_event_name(out->kind), out->reason != RS_NONE ? " " : "",
            delivery_reason_name(out->reason));
    if (out->session_expired) fprintf(f, " (a new login, and once more)");
    if (out->spent_ms > 0) fprintf(f, " (the last one: the channel waits %g s)", (double)out->spent_ms / 1000);
    fprintf(f, " -> ");
    print_decision(f, &d, REHEARSE_NOW_MS);
}

/* ---- before there is an answer ---- */

static const struct step {
    const char *name;
    enum delivery_state state;
    enum delivery_event event;
    bool again; /* an earlier attempt is in doubt */
    bool late;  /* past its key's window */
} steps[] = {
    {"due", DS_APPROVED, EV_CLAIM, false, false},
    {"a step before the write failed", DS_CLAIMED, EV_NOT_COMMITTED, false, false},
    {"the worker died", DS_CLAIMED, EV_LEASE_GONE, false, false},
    {"due again in doubt", DS_APPROVED, EV_CLAIM, true, false},
    {"due again in doubt too late", DS_APPROVED, EV_CLAIM, true, true},
    {"the worker died again in doubt", DS_CLAIMED, EV_LEASE_GONE, true, false},
};

static bool step_exists(const struct channel *channel, const struct step *step)
{
    const struct delivery_policy *p = &channel->policy;
    if (step->event == EV_NOT_COMMITTED) return channel->descriptor->prepare_count > 0;
    if (step->late) return p->key_window_ms > 0;
    return !step->again || p->key_window_ms != 0 || step->event != EV_CLAIM;
}

static void print_steps(struct channel *channel)
{
    printf("  before there is an answer:\n");
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        if (!step_exists(channel, &steps[i])) continue;
        const int64_t now_ms = steps[i].late ? REHEARSE_SEND_MS + channel->policy.key_window_ms : REHEARSE_NOW_MS;
        const struct delivery_row row = rehearse_row(&channel->policy, steps[i].state, steps[i].again);
        struct delivery_input in = {.event = steps[i].event, .attempt = row.attempt};
        memcpy(in.token, REHEARSE_TOKEN, sizeof(REHEARSE_TOKEN));
        const struct delivery_decision d = delivery_step(&row, &in, &channel->policy, now_ms);
        printf("    %s: ", steps[i].name);
        print_decision(stdout, &d, now_ms);
        printf("\n");
    }
}

/* ---- answers that any platform may give ---- */

static const struct situation {
    const char *name;
    bool reached, complete;
    int status;       /* 0: the platform's own word for success */
    const char *body; /* NULL: a page of somebody's */
} situations[] = {
    {"nothing left", false, false, 0, ""}, {"no answer", true, false, 0, ""},     {"cut off", true, false, 200, "{}"},
    {"success {}", true, true, 0, "{}"},   {"success page", true, true, 0, NULL}, {"301", true, true, 301, "{}"},
    {"302", true, true, 302, "{}"},        {"400 {}", true, true, 400, "{}"},     {"400 page", true, true, 400, NULL},
    {"401", true, true, 401, "{}"},        {"403 {}", true, true, 403, "{}"},     {"403 page", true, true, 403, NULL},
    {"404 {}", true, true, 404, "{}"},     {"404 page", true, true, 404, NULL},   {"409", true, true, 409, "{}"},
    {"413", true, true, 413, "{}"},        {"422 {}", true, true, 422, "{}"},     {"422 page", true, true, 422, NULL},
    {"429", true, true, 429, "{}"},        {"500", true, true, 500, "{}"},        {"502 page", true, true, 502, NULL},
    {"503", true, true, 503, "{}"},
};
#define SITUATIONS (sizeof(situations) / sizeof(*situations))

static char *situation_line(struct channel *channel, const struct situation *s, bool again)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) abort();
    const int status = s->status || !s->complete ? s->status : rehearse_success_status(channel->descriptor);
    json_t *described = s->body ? json_pack("{s:i, s:{s:s}, s:s}", "status", status, "headers", "content-type",
                                            "application/json", "text", s->body)
                                : json_pack("{s:i, s:{s:s}, s:s}", "status", status, "headers", "content-type",
                                            "text/html", "text", "<html>page</html>");
    const struct channel_facts known = {.key = "lf-it-1-00112233445566778899aabbccddeeff", .replay = again};
    json_t *input = channel_input(channel, &known);
    struct program_input *seen = program_input_new(input);
    const struct verdict_context context = {
        .input = seen, .replay = again, .session = channel_has_session(channel), .now_ms = REHEARSE_NOW_MS};
    const struct transfer_facts facts = {.reached = s->reached, .complete = s->complete, .status = status};
    struct answer answer;
    struct outcome out;
    shipped_answer(&answer, described);
    verdict(channel, &facts, &answer, &context, &out);
    print_report(f, channel, &out, again);
    answer_fini(&answer);
    program_input_free(&seen);
    json_decref(input);
    json_decref(described);
    fclose(f);
    return text;
}

/* What is answered alike stands on one line. */
static void print_answers(struct channel *channel, bool again)
{
    char *lines[SITUATIONS];
    printf("  %s:\n", again ? "answers to a repeat, an earlier attempt in doubt" : "answers to the first attempt");
    for (size_t i = 0; i < SITUATIONS; i++)
        lines[i] = situation_line(channel, &situations[i], again);
    for (size_t i = 0; i < SITUATIONS; i++) {
        if (!lines[i]) continue;
        printf("    %s", situations[i].name);
        for (size_t k = i + 1; k < SITUATIONS; k++) {
            if (!lines[k] || strcmp(lines[i], lines[k]) != 0) continue;
            printf(" | %s", situations[k].name);
            free(lines[k]);
            lines[k] = NULL;
        }
        printf(": %s\n", lines[i]);
        free(lines[i]);
    }
}

/* ---- the platform's own answers ---- */

/* Which kinds of answer the case stands for: [success], or [limit, refusal]; nothing where it names none. */
static void print_kinds(const json_t *test)
{
    const json_t *kinds = json_object_get(test, "kinds");
    for (size_t i = 0; i < json_array_size(kinds); i++)
        printf("%s%s", i == 0 ? " [" : ", ", json_string_value(json_array_get(kinds, i)));
    if (json_array_size(kinds) > 0) printf("]");
}

static void print_case(struct channel *channel, const json_t *test, bool again)
{
    const struct channel_facts known = {.item = json_object_get(test, "item")};
    json_t *input = channel_input(channel, &known);
    json_object_update(input, json_object_get(test, "input"));
    if (again) json_object_set_new(input, "replay", json_true());
    const bool replay = json_is_true(json_object_get(input, "replay"));
    struct program_input *seen = program_input_new(input);
    const struct verdict_context context = {
        .input = seen, .replay = replay, .session = channel_has_session(channel), .now_ms = REHEARSE_NOW_MS};
    struct transfer_facts facts = {.reached = true, .complete = true};
    struct answer answer;
    struct outcome out;
    shipped_answer(&answer, json_object_get(test, "answer"));
    facts.status = answer.status;
    verdict(channel, &facts, &answer, &context, &out);
    printf("    %d %s", answer.status, json_string_value(json_object_get(test, "name")));
    print_kinds(test);
    printf(": ");
    print_report(stdout, channel, &out, replay);
    printf("\n");
    answer_fini(&answer);
    program_input_free(&seen);
    json_decref(input);
}

/* Its answers to a repeat: those that stand for a kind of answer, and not for something else when it is one. */
static void print_cases(struct channel *channel, const char *platform, bool again)
{
    char path[500];
    snprintf(path, sizeof(path), "%s/fixtures/%s/accept.json", shipped_folder, platform);
    json_t *cases = json_file(path);
    printf("  its own answers%s:\n", again ? " to a repeat, an earlier attempt in doubt" : "");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *test = json_array_get(cases, i);
        if (!again || json_object_get(test, "kinds")) print_case(channel, test, again);
    }
    json_decref(cases);
}

/* ---- nobody knows: what reading back says, and when ---- */

struct look {
    const char *name;
    struct rehearse_look look;
};

static void print_look(const struct channel *channel, const struct look *look)
{
    const struct delivery_decision d = rehearse_look(&channel->policy, &look->look);
    printf("    %s: ", look->name);
    print_decision(stdout, &d, look->look.now_ms);
    printf("\n");
}

/* Whether any answer proves that a post is gone: where none does, the descriptor says so in one word. */
static bool gone_is_known(const struct channel *channel, const char *platform)
{
    char path[500];
    const char *gone = NULL;
    if (!channel->descriptor->by_id.given) return false;
    snprintf(path, sizeof(path), "%s/%s.json", shipped_folder, platform);
    json_t *described = json_file(path);
    (void)json_unpack(described, "{s:{s:{s:s}}}", "reads", "by_id", "gone", &gone);
    const bool known = gone && strcmp(gone, "false") != 0;
    json_decref(described);
    return known;
}

static void print_looks(struct channel *channel, const char *platform)
{
    const struct delivery_policy *p = &channel->policy;
    const int64_t commit_ms = REHEARSE_SEND_MS + p->lease_ms + p->late_commit_ms,
                  settled_ms = commit_ms + p->visibility_lag_ms;
    const int64_t over_ms = p->key_window_ms > 0 ? REHEARSE_SEND_MS + p->key_window_ms : settled_ms + 1;
    const struct look looks[] = {
        {"nothing seen, it may still be executed", {EV_UNSEEN, REHEARSE_NOW_MS, false, false, false}},
        {"nothing seen, it has come to an end", {EV_UNSEEN, commit_ms, false, false, false}},
        {"nothing seen, the key is forgotten", {EV_UNSEEN, over_ms, false, false, false}},
        {"nothing seen for a week", {EV_UNSEEN, REHEARSE_SEND_MS + 8 * DAY_MS, false, false, false}},
        {"absent, it may still be executed", {EV_ABSENT, REHEARSE_NOW_MS, false, false, false}},
        {"absent, it may not be visible yet", {EV_ABSENT, settled_ms - 1000, false, false, false}},
        {"absent, settled, the first time", {EV_ABSENT, settled_ms, false, false, false}},
        {"absent, settled, often enough", {EV_ABSENT, settled_ms + 1, false, false, true}},
        {"absent, the key is forgotten, often enough", {EV_ABSENT, over_ms + DAY_MS, false, false, true}},
        {"found", {EV_FOUND, REHEARSE_NOW_MS, false, false, false}},
        {"found, and another one", {EV_FOUND, REHEARSE_NOW_MS, true, false, false}},
        {"its id was known, and is gone", {EV_GONE, settled_ms + 1, false, true, true}},
    };
    printf("  nobody knows, and reading back says:\n");
    for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
        const bool reads = looks[i].look.event != EV_UNSEEN;
        if (reads && !p->can_read && !looks[i].look.known_id) continue;
        if (looks[i].look.known_id && !gone_is_known(channel, platform)) continue;
        print_look(channel, &looks[i]);
    }
}

/* ---- a platform ---- */

static void print_policy(const struct channel *channel)
{
    const struct descriptor *d = channel->descriptor;
    const struct delivery_policy *p = &channel->policy;
    printf("  tier %s, repeats %s, key window ", descriptor_tier_name(channel->tier),
           p->harmless ? "harmless" : "harmful");
    if (p->key_window_ms == DELIVERY_FOREVER)
        printf("for ever");
    else
        printf("%lld s", (long long)p->key_window_ms / 1000);
    printf(", read back%s%s%s%s%s\n", d->by_id.given ? " by id" : "", d->by_key.given ? " by key" : "",
           d->listing.given ? " by listing" : "",
           !d->listing.given                       ? ""
           : d->listing.floor == FLOOR_SERVER_TIME ? " (back to the attempt)"
                                                   : " (to its end)",
           d->by_id.given || p->can_read ? "" : " not at all");
    printf("  can_read %s, lag %lld s, clean misses %d, late commit %lld s, lease %lld s, margin %lld s%s%s%s\n",
           p->can_read ? "yes" : "no", (long long)p->visibility_lag_ms / 1000, p->clean_misses,
           (long long)p->late_commit_ms / 1000, (long long)p->lease_ms / 1000, (long long)p->margin_ms / 1000,
           p->gives_id ? "" : ", gives no id", p->verify ? ", read after a success" : "",
           p->stores_failures ? ", stores failures" : "");
}

static void print_channel(const char *platform, struct channel *channel, const char *with)
{
    printf("== %s%s%s\n", platform, with, channel->descriptor->unverified ? " (not all of it seen on a server)" : "");
    print_policy(channel);
    print_steps(channel);
    print_answers(channel, false);
    if (!channel->policy.harmless) print_answers(channel, true);
    print_cases(channel, platform, false);
    if (!channel->policy.harmless) print_cases(channel, platform, true);
    print_looks(channel, platform);
    printf("\n");
}

static void print_platform(const char *platform)
{
    struct test_channels channels;
    struct channel *channel = shipped_channel(platform, &channels);
    const char *window = channel->descriptor->key_window_setting;
    if (!window) print_channel(platform, channel, "");
    for (int stated = 0; window && stated <= 1; stated++) {
        struct test_channels others;
        json_t *value = stated ? json_integer(WINDOW_S) : NULL;
        print_channel(platform, shipped_channel_with(platform, window, value, &others),
                      stated ? ", key window stated" : ", key window not stated");
        test_channels_close(&others);
    }
    test_channels_close(&channels);
}

int main(int argc, char **argv)
{
    static char names[SHIPPED_MAX][64];
    const size_t count = shipped_list(names, argc, argv);
    for (size_t i = 0; i < count; i++)
        print_platform(names[i]);
    return count > 0 ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * Can a channel's account be read back? A login, the first pages of the listing, and look-ups of a post that does not
 * exist: the requests that a reconciler makes, and no other. Only the read half of the descriptor is compiled, so there
 * is no write request that could be sent. Redis is not asked.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "cli/probe.h"
#include "keys/key.h"
#include "platforms/lookup.h"
#include "platforms/search.h"
#include "runtime/clock.h"
#include "runtime/random.h"
#include "session/keeper.h"

#define PAGES_DEFAULT 3
#define ID_BYTES      64

struct probing {
    struct cli *cli;
    struct channel *channel;
    struct probe *probe;
    struct mark_index *index; /* empty: nothing is looked for */
    struct search *search;
    int64_t pages_max;
    bool limited; /* the walk was broken off at pages_max */
    json_t *page_ms, *lookups, *notes;
    enum cli_exit code;
};

static void note(struct probing *p, enum cli_exit code, const char *text)
{
    out_add(p->notes, out_string(text));
    p->code = cli_worse(p->code, code);
}

/* ---- one channel, with its credentials */

/* Only this channel's credentials are read: others may not be here. */
static bool open_channel(struct cli *cli, const char *name, struct channel_set **channels)
{
    const json_t *one = json_object_get(cli->config->channels, name);
    if (!one) return errbuf_set(&cli->err, "%s is not configured here", name);
    json_t *alone = json_object();
    out_set(alone, name, json_incref((json_t *)one));
    const bool ok =
        channel_set_load(alone, cli->config->path, cli->fleet.descriptors, &cli->fleet.defaults, channels, &cli->err);
    json_decref(alone);
    return ok;
}

/* ---- the listing */

static enum cli_exit code_of_end(enum search_end end)
{
    switch (end) {
    case SEARCH_COMPLETE:
    case SEARCH_NO_LISTING:
    case SEARCH_GIVEN_UP:
    case SEARCH_PAGE_LIMIT: return EXIT_FINE;
    case SEARCH_PAGE_FAILED: return EXIT_AWAY;
    case SEARCH_CREDENTIAL: return EXIT_REJECTED;
    case SEARCH_DESCRIPTOR: return EXIT_USAGE;
    case SEARCH_RUNNING:
    case SEARCH_NO_END:
    case SEARCH_CURSOR_REPEATED:
    case SEARCH_NO_PROGRESS:
    case SEARCH_ID_LIMIT:
    case SEARCH_DRIFTED:
    case SEARCH_BAD_ENTRY:
    case SEARCH_FOREIGN_NEXT:
    case SEARCH_NOT_PREPARED:
    case SEARCH_END_COUNT: break;
    }
    return EXIT_MISSING;
}

static void cannot_ask(struct probing *p, enum probe_sent sent)
{
    search_give_up(p->search, sent == PROBE_REFUSED ? SEARCH_CREDENTIAL : SEARCH_PAGE_FAILED);
    note(p, probe_code(sent), probe_why(p->probe));
}

/* A request of the walk. False: the walk is over. */
static bool step(struct probing *p)
{
    struct form form;
    const int pages = search_result(p->search)->pages;
    if (!search_next_request(p->search, &form)) return false;
    const enum probe_sent sent = probe_send(p->probe, &form);
    form_fini(&form);
    if (sent != PROBE_ANSWERED) {
        cannot_ask(p, sent);
        return false;
    }
    const enum search_took took =
        search_take_answer(p->search, probe_facts(p->probe), probe_answer(p->probe), clock_wall_ms());
    if (search_result(p->search)->pages > pages) out_add(p->page_ms, json_integer(probe_facts(p->probe)->elapsed_ms));
    if (took == SEARCH_TOOK_SESSION) probe_drop_session(p->probe);
    if (took == SEARCH_TOOK_AGAIN && !probe_wait(search_wait_ms(p->search))) {
        search_give_up(p->search, SEARCH_PAGE_FAILED);
        note(p, EXIT_AWAY, "the platform asks to wait for longer than this program does");
    }
    return true;
}

static void walk(struct probing *p)
{
    const struct search_result *result = search_result(p->search);
    /* Numbered pages are read twice. */
    const int64_t pages_max = p->channel->descriptor->listing.drift ? 2 * p->pages_max : p->pages_max;
    while (result->end == SEARCH_RUNNING && !p->limited && step(p))
        p->limited = result->end == SEARCH_RUNNING && pages_max > 0 && result->pages >= pages_max;
    if (p->limited) search_give_up(p->search, SEARCH_GIVEN_UP);
    const enum cli_exit code = code_of_end(result->end);
    if (code == EXIT_FINE || p->code != EXIT_FINE) return;
    char text[700];
    snprintf(text, sizeof(text), "%s%s%s", search_end_meaning(result->end), result->detail.text[0] ? ": " : "",
             result->detail.text);
    note(p, code, text);
}

/* ---- look-ups of a post that nobody made */

static bool make_unknown(const struct channel *channel, char id[ID_BYTES], char key[KEY_BYTES], struct errbuf *err)
{
    char why[KEYS_ERR_BYTES];
    char token[RANDOM_TOKEN_SIZE];
    snprintf(id, ID_BYTES, "probe-%s", random_token(token));
    key[0] = '\0';
    if (!channel->descriptor->has_key) return true;
    const struct key_input input = {.instance = channel->instance,
                                    .account = channel->account,
                                    .operation = KEY_OPERATION_PUBLISH,
                                    .id = id,
                                    .content = id,
                                    .content_len = strlen(id),
                                    .approved_at_ms = clock_wall_ms()};
    return key_make(&input, channel->descriptor->key_format, key, why) || errbuf_set(err, "%s", why);
}

static json_t *lookup_input(const struct probing *p, const char *id, const char *key)
{
    const struct channel_facts facts = {.key = key[0] ? key : NULL, .ext_id = id};
    json_t *input = channel_input(p->channel, &facts);
    out_set(input, "marks", json_null());
    out_set(input, "prepared", json_incref((json_t *)search_prepared(p->search)));
    return input;
}

static void take_lookup(struct probing *p, enum lookup_by by, const json_t *input)
{
    static const char *const words[] = {
        [LOOKUP_FOUND] = "found", [LOOKUP_GONE] = "gone",       [LOOKUP_UNSEEN] = "unseen",
        [LOOKUP_WAIT] = "wait",   [LOOKUP_SESSION] = "session", [LOOKUP_CREDENTIAL] = "credential"};
    struct lookup found;
    const struct transfer_facts *facts = probe_facts(p->probe);
    lookup_take_answer(p->channel, by, input, facts, probe_answer(p->probe), clock_wall_ms(), &found);
    json_t *one = json_object();
    out_set(one, "by", out_string(by == LOOKUP_BY_ID ? "id" : "key"));
    out_set(one, "answer", out_string(words[found.kind]));
    out_set(one, "status", json_integer(facts->status));
    out_set(one, "ms", json_integer(facts->elapsed_ms));
    out_set(one, "detail", out_string(found.detail.text));
    out_add(p->lookups, one);
    if (found.kind == LOOKUP_CREDENTIAL) note(p, EXIT_REJECTED, "the credential may not look posts up");
    if (found.kind == LOOKUP_WAIT || !facts->complete) note(p, EXIT_AWAY, "a look-up had no answer that says anything");
    if (found.kind == LOOKUP_FOUND) note(p, EXIT_USAGE, "a post was found that cannot exist: the descriptor is wrong");
}

static void look_up(struct probing *p, enum lookup_by by, const char *id, const char *key)
{
    struct form form;
    struct errbuf err;
    if (!lookup_given(p->channel, by) || p->code == EXIT_AWAY || p->code == EXIT_REJECTED || p->code == EXIT_USAGE)
        return;
    json_t *input = lookup_input(p, id, key);
    if (!lookup_request(p->channel, by, input, &form, &err)) {
        note(p, EXIT_USAGE, err.text);
    } else {
        const enum probe_sent sent = probe_send(p->probe, &form);
        form_fini(&form);
        if (sent == PROBE_ANSWERED)
            take_lookup(p, by, input);
        else
            note(p, probe_code(sent), probe_why(p->probe));
    }
    json_decref(input);
}

/* ---- what is printed */

static json_t *document(const struct probing *p)
{
    const struct descriptor *d = p->channel->descriptor;
    const struct search_result *result = search_result(p->search);
    json_t *all = json_object(), *listing = json_object();
    out_set(listing, "end", out_string(p->limited ? "page_limit" : search_end_name(result->end)));
    out_set(listing, "end_proof_seen", json_boolean(result->end == SEARCH_COMPLETE));
    out_set(listing, "pages", json_integer(result->pages));
    out_set(listing, "entries", json_integer((json_int_t)result->entries));
    out_set(listing, "times", json_boolean(result->oldest_ms != 0));
    out_set(listing, "oldest_ms", out_time(result->oldest_ms));
    out_set(listing, "page_ms", json_incref(p->page_ms));
    out_set(all, "channel", out_string(p->channel->name));
    out_set(all, "readable", json_boolean(d->listing.given || d->by_id.given || d->by_key.given));
    out_set(all, "credential",
            out_string(p->code == EXIT_REJECTED           ? "refused"
                       : probe_credential_taken(p->probe) ? "taken"
                                                          : "not tried"));
    out_set(all, "login", json_boolean(probe_logins(p->probe) > 0));
    out_set(all, "listing", d->listing.given ? json_incref(listing) : json_null());
    out_set(all, "lookups", json_incref(p->lookups));
    out_set(all, "requests", json_integer(probe_requests(p->probe)));
    out_set(all, "problems", json_incref(p->notes));
    json_decref(listing);
    return all;
}

static void print_listing(const json_t *listing)
{
    int64_t total_ms = 0, longest_ms = 0;
    const json_t *page_ms = json_object_get(listing, "page_ms");
    for (size_t i = 0; i < json_array_size(page_ms); i++) {
        const int64_t ms = json_integer_value(json_array_get(page_ms, i));
        total_ms += ms;
        if (ms > longest_ms) longest_ms = ms;
    }
    out_line(stdout, "  listing: %" JSON_INTEGER_FORMAT " pages, %" JSON_INTEGER_FORMAT " entries, %s; %s",
             json_integer_value(json_object_get(listing, "pages")),
             json_integer_value(json_object_get(listing, "entries")),
             json_is_true(json_object_get(listing, "times")) ? "with times" : "no times seen",
             json_is_true(json_object_get(listing, "end_proof_seen")) ? "the proof of its end was seen"
                                                                      : "the proof of its end was not seen");
    out_line(stdout, "  it ended: %s", json_string_value(json_object_get(listing, "end")));
    if (json_array_size(page_ms) > 0)
        out_line(stdout, "  pages took %" PRId64 " ms together, the longest %" PRId64 " ms", total_ms, longest_ms);
}

static void print(const json_t *all)
{
    const json_t *lookups = json_object_get(all, "lookups"), *problems = json_object_get(all, "problems");
    out_line(stdout, "%s: nothing was written", json_string_value(json_object_get(all, "channel")));
    if (!json_is_true(json_object_get(all, "readable")))
        out_line(stdout, "  the platform cannot be read; nothing was asked");
    const char *credential = json_string_value(json_object_get(all, "credential"));
    const bool by_login = json_is_true(json_object_get(all, "login")) && strcmp(credential, "not tried") != 0;
    out_line(stdout, "  credential: %s%s", credential, by_login ? ", by a login" : "");
    if (json_is_object(json_object_get(all, "listing"))) print_listing(json_object_get(all, "listing"));
    for (size_t i = 0; i < json_array_size(lookups); i++) {
        const json_t *one = json_array_get(lookups, i);
        out_line(stdout, "  a post that does not exist, asked for by %s: %s (status %" JSON_INTEGER_FORMAT ")",
                 json_string_value(json_object_get(one, "by")), json_string_value(json_object_get(one, "answer")),
                 json_integer_value(json_object_get(one, "status")));
    }
    for (size_t i = 0; i < json_array_size(problems); i++)
        out_line(stderr, "landfall platform probe: %s", json_string_value(json_array_get(problems, i)));
}

static enum cli_exit probe_channel(struct probing *p)
{
    char id[ID_BYTES], key[KEY_BYTES];
    if (!descriptor_compiles(p->channel->descriptor, DESCRIPTOR_READ, &p->cli->err) ||
        !make_unknown(p->channel, id, key, &p->cli->err))
        return cli_fail(p->cli, EXIT_USAGE);
    const struct keeper_fleet fleet = {.ledger = &p->cli->ledger,
                                       .link = p->cli->link,
                                       .name = p->cli->name,
                                       .round_limit_ms = cli_limit_ms(p->cli),
                                       .read_only = true};
    p->probe = probe_open(p->channel, p->cli->config, p->cli->link ? &fleet : NULL);
    p->index = mark_index_new(p->channel->descriptor->listing.floor == FLOOR_SERVER_TIME);
    p->search = search_new(p->channel, p->index, 0);
    const enum probe_sent sent = probe_login(p->probe);
    if (sent == PROBE_ANSWERED)
        walk(p);
    else
        cannot_ask(p, sent);
    look_up(p, LOOKUP_BY_KEY, id, key);
    look_up(p, LOOKUP_BY_ID, id, key);
    json_t *all = document(p);
    if (!p->cli->json)
        print(all);
    else if (!out_json(json_incref(all)))
        p->code = EXIT_USAGE;
    json_decref(all);
    search_free(&p->search);
    mark_index_free(&p->index);
    probe_close(&p->probe);
    return p->code;
}

enum cli_exit verb_platform_probe(struct cli *cli)
{
    const char *name = cli->options.operand[0];
    struct channel_set *channels = NULL;
    if (!cli_load(cli)) return EXIT_USAGE;
    if (!open_channel(cli, name, &channels)) return cli_fail(cli, EXIT_USAGE);
    struct probing p = {.cli = cli,
                        .channel = channel_find(channels, name),
                        .pages_max = options_has(&cli->options, FLAG_PAGES_ID) ? cli->options.number[FLAG_PAGES_ID]
                                                                               : PAGES_DEFAULT,
                        .page_ms = json_array(),
                        .lookups = json_array(),
                        .notes = json_array()};
    /* A refresh token is not spent here: the session is the fleet's, or there is none. */
    enum cli_exit code = channel_has_session(p.channel) && !auth_can_login(p.channel) ? cli_connect(cli) : EXIT_FINE;
    if (code == EXIT_FINE) code = probe_channel(&p);
    json_decref(p.page_ms);
    json_decref(p.lookups);
    json_decref(p.notes);
    channel_set_free(&channels);
    return code;
}

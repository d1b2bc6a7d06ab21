/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/next.h"
#include "cli/out.h"
#include "cli/row_json.h"

#define PRINTED_MAX 2000 /* bytes of a body or item that people get to see; --json has all */

static json_t *lease_json(const struct reads_delivery *d, int64_t now_ms)
{
    if (!d->lease_holder[0]) return json_null();
    json_t *lease = json_object();
    out_set(lease, "holder", out_string(d->lease_holder));
    out_set(lease, "attempt", json_integer(d->lease_attempt));
    out_set(lease, "ends_ms", d->lease_left_ms >= 0 ? json_integer(now_ms + d->lease_left_ms) : json_null());
    return lease;
}

static json_t *text_or_null(const struct request_text *text)
{
    return text->bytes ? out_bytes(text->bytes, text->len) : json_null();
}

static json_t *document(const char *name, const struct next_facts *facts)
{
    const struct reads_delivery *d = facts->delivery;
    const struct delivery_row *r = &d->row.core;
    struct errbuf why;
    json_t *all = json_object();
    json_t *request = d->frozen.bytes ? row_json_request(d->frozen.bytes, d->frozen.len, &why) : NULL;
    out_set(all, "delivery", out_string(name));
    out_set(all, "state", out_string(delivery_state_name(r->state)));
    out_set(all, "reason", out_string(delivery_reason_name(r->reason)));
    out_set(all, "why", out_string(next_why(r->reason)));
    out_set(all, "since_ms", out_time(r->since_ms));
    out_set(all, "next", next_explain(facts));
    out_set(all, "row", row_json(&d->row));
    out_set(all, "lease", lease_json(d, facts->now_ms));
    out_set(all, "agenda_ms", out_time(d->agenda_ms));
    out_set(all, "waiting_ms", out_time(d->waiting_ms));
    out_set(all, "in_journal", json_boolean(d->in_journal));
    out_set(all, "detail", text_or_null(&d->detail));
    out_set(all, "request", request ? request : json_null());
    if (d->frozen.bytes && !request) out_set(all, "request_unreadable", out_string(why.text));
    out_set(all, "content", text_or_null(&d->content));
    return all;
}

/* ---- for people: the document's members, one to a line */

static void print_member(const char *name, const json_t *value, int64_t now_ms)
{
    char text[WHEN_TEXT_BYTES];
    size_t len = strlen(name);
    bool time = len > 3 && strcmp(name + len - 3, "_ms") == 0;
    if (json_is_integer(value) && time)
        out_line(stdout, "  %-12.*s %s", (int)len - 3, name, when_text(json_integer_value(value), now_ms, text));
    else if (json_is_integer(value))
        out_line(stdout, "  %-12s %" JSON_INTEGER_FORMAT, name, json_integer_value(value));
    else if (json_is_string(value))
        out_line(stdout, "  %-12s %s", name, json_string_value(value));
}

static void print_object(const char *title, const json_t *object, int64_t now_ms)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object)) return;
    out_line(stdout, "%s", title);
    json_object_foreach((json_t *)object, name, value)
    {
        print_member(name, value, now_ms);
    }
}

static void print_long(const char *title, const json_t *value)
{
    const char *text = json_string_value(value);
    if (!text) return;
    out_line(stdout, "%s", title);
    out_line(stdout, "  %.*s%s", PRINTED_MAX, text, strlen(text) > PRINTED_MAX ? "... (--json has all)" : "");
}

static void print_request(const json_t *request)
{
    if (!json_is_object(request)) return;
    out_line(stdout, "request, as frozen");
    out_line(stdout, "  %s %s", json_string_value(json_object_get(request, "method")),
             json_string_value(json_object_get(request, "url")));
    const json_t *headers = json_object_get(request, "headers");
    for (size_t i = 0; i < json_array_size(headers); i++) {
        const json_t *pair = json_array_get(headers, i);
        out_line(stdout, "  %s: %s", json_string_value(json_array_get(pair, 0)),
                 json_string_value(json_array_get(pair, 1)));
    }
    const char *body = json_string_value(json_object_get(request, "body"));
    if (body) out_line(stdout, "  %.*s", PRINTED_MAX, body);
}

static void print_places(const json_t *document, int64_t now_ms)
{
    static const char *const places[] = {"agenda_ms", "waiting_ms"};
    print_object("lease", json_object_get(document, "lease"), now_ms);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        print_member(places[i], json_object_get(document, places[i]), now_ms);
    if (json_is_true(json_object_get(document, "in_journal"))) out_line(stdout, "  in the journal");
}

static void print(const char *name, const struct next_facts *facts, const json_t *document)
{
    const struct delivery_row *r = &facts->delivery->row.core;
    char since[WHEN_TEXT_BYTES];
    out_line(stdout, "%s: %s (%s), %s", name, delivery_state_name(r->state), delivery_reason_name(r->reason),
             when_text(r->since_ms, facts->now_ms, since));
    out_line(stdout, "  why: %s", next_why(r->reason));
    const json_t *next = json_object_get(document, "next");
    for (size_t i = 0; i < json_array_size(next); i++)
        out_line(stdout, "  next: %s", json_string_value(json_array_get(next, i)));
    print_object("row", json_object_get(document, "row"), facts->now_ms);
    print_places(document, facts->now_ms);
    print_long("detail", json_object_get(document, "detail"));
    print_request(json_object_get(document, "request"));
    const char *unreadable = json_string_value(json_object_get(document, "request_unreadable"));
    if (unreadable) out_line(stdout, "the frozen request cannot be read: %s", unreadable);
    print_long("content", json_object_get(document, "content"));
}

static enum cli_exit code_of(enum delivery_state state)
{
    switch (state) {
    case DS_PUBLISHED: return EXIT_FINE;
    case DS_REJECTED: return EXIT_REJECTED;
    case DS_APPROVED:
    case DS_CLAIMED:
    case DS_UNCERTAIN:
    case DS_HELD: return EXIT_OPEN;
    case DS_NONE:
    case DS_COUNT: break;
    }
    return EXIT_MISSING;
}

static enum cli_exit show(struct cli *cli, const char *name, const struct delivery_id *id,
                          const struct reads_delivery *delivery)
{
    struct reads_channel *channels = NULL;
    size_t count = 0;
    if (!delivery->readable) {
        errbuf_set(&cli->err, "%s: its row cannot be read: %s", name, delivery->error);
        return cli_fail(cli, EXIT_OPEN);
    }
    if (delivery->row.core.state == DS_NONE) {
        const int64_t queued = cli->overview.queue_length;
        errbuf_set(&cli->err, "%s: there is no such delivery", name);
        if (queued > 0)
            errbuf_set(&cli->err,
                       "%s: there is no such delivery; entries in the queue, which become deliveries when a worker "
                       "reads them: %" PRId64,
                       name, queued);
        return cli_fail(cli, EXIT_MISSING);
    }
    if (!reads_channels(&cli->ledger, cli->link, id->channel, &channels, &count, cli_limit_ms(cli), &cli->err))
        return cli_fail(cli, EXIT_AWAY);
    const struct channel *configured = channel_find(cli->fleet.channels, id->channel);
    const struct next_facts facts = {.delivery = delivery,
                                     .policy = configured ? &configured->policy : NULL,
                                     .channel = count > 0 ? &channels[0] : NULL,
                                     .epoch = &cli->overview.epoch,
                                     .now_ms = cli_now_ms(cli)};
    json_t *all = document(name, &facts);
    enum cli_exit code = code_of(delivery->row.core.state);
    if (!cli->json)
        print(name, &facts, all);
    else if (!out_json(json_incref(all)))
        code = EXIT_USAGE;
    json_decref(all);
    reads_channels_free(&channels);
    return code;
}

enum cli_exit verb_show(struct cli *cli)
{
    struct delivery_id id;
    struct reads_delivery delivery;
    char why[KEYS_ERR_BYTES], name[IDENTITY_NAME_BYTES];
    if (!identity_parse(cli->options.operand[0], &id, why)) {
        errbuf_set(&cli->err, "a delivery is named platform/account/id: %s", why);
        return cli_fail(cli, EXIT_USAGE);
    }
    if (!cli_load(cli)) return EXIT_USAGE;
    if (!cli_check_partition(cli, id.channel, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code != EXIT_FINE) return code;
    identity_name(&id, name);
    const char *names[] = {name}, *channels[] = {id.channel};
    if (!reads_deliveries(&cli->ledger, cli->link, names, channels, 1, &delivery, cli_limit_ms(cli), &cli->err))
        return cli_fail(cli, EXIT_AWAY);
    code = show(cli, name, &id, &delivery);
    reads_delivery_fini(&delivery);
    return code;
}

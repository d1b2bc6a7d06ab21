/* SPDX-License-Identifier: MIT */
#include "cli/pausing.h"

#include <inttypes.h>
#include <string.h>

#include "cli/out.h"
#include "cli/person.h"

/* What workers pause a channel for, and lift by themselves: a person's pause must not look like theirs. */
static bool check_why(const char *why, struct errbuf *err)
{
    if (strcmp(why, "credential") != 0 && strcmp(why, "configuration") != 0) return true;
    return errbuf_set(err, "--why: the word %s alone is what workers say, who lift such a pause themselves; say more",
                      why);
}

static bool write_op(struct cli *cli, enum channel_op op, const char *name, const struct person *person)
{
    struct ledger_round *round = round_new(&cli->ledger);
    struct channel_request request = {
        .base = {.channel = name}, .op = op, .text = person->why, .user = person->user, .host = person->host};
    round_channel(round, &request);
    bool ok = round_run(round, cli->link, cli_limit_ms(cli), &cli->err);
    if (ok && request.base.result != REQUEST_ANSWERED)
        ok = errbuf_set(&cli->err, "Redis: %s: %s", request.base.error, errors_advice(request.base.error));
    if (ok && request.answer != CHANNEL_OK) ok = errbuf_set(&cli->err, "%s: %s", name, request.base.error);
    round_free(&round);
    return ok;
}

/* before: as it stood. */
static enum cli_exit tell(const struct cli *cli, const struct reads_channel *before, bool paused, bool done)
{
    const struct channel *configured = channel_find(cli->fleet.channels, before->channel);
    const bool by_config = configured && configured->paused;
    char at[WHEN_TEXT_BYTES];
    if (cli->json) {
        json_t *all = json_object();
        out_set(all, "channel", out_string(before->channel));
        out_set(all, "act", out_string(paused ? "pause" : "resume"));
        out_set(all, "answer", out_string(done ? "done" : "already"));
        out_set(all, "was_paused", json_boolean(before->paused));
        out_set(all, "was_paused_why", before->paused ? out_string(before->paused_why) : json_null());
        out_set(all, "was_paused_at_ms", out_time(before->paused_at_ms));
        out_set(all, "waiting", json_integer(before->waiting));
        out_set(all, "claimed", json_integer(before->counts[DS_CLAIMED]));
        out_set(all, "paused_by_configuration", json_boolean(by_config));
        return out_json(all) ? EXIT_FINE : EXIT_USAGE;
    }
    out_line(stdout, "%s: %s is %s", done ? "done" : "already", before->channel, paused ? "paused" : "not paused");
    if (before->paused)
        out_line(stdout, "  it was paused %s: %s", when_text(before->paused_at_ms, cli_now_ms(cli), at),
                 before->paused_why);
    if (paused && before->counts[DS_CLAIMED] > 0)
        out_line(stdout, "  %" PRId64 " are being sent and are not called back", before->counts[DS_CLAIMED]);
    out_line(stdout, "  %" PRId64 " wait for the channel", before->waiting);
    if (by_config) out_line(stdout, "  note: the configuration pauses it, too (channels.%s.paused)", before->channel);
    return EXIT_FINE;
}

static enum cli_exit apply(struct cli *cli, enum channel_op op, const char *name, const struct person *person)
{
    struct reads_channel *channels = NULL;
    size_t count = 0;
    if (!reads_channels(&cli->ledger, cli->link, name, &channels, &count, cli_limit_ms(cli), &cli->err))
        return cli_fail(cli, EXIT_AWAY);
    const bool paused = op == CHANNEL_PAUSE;
    const bool needed = paused || channels[0].paused;
    const bool ok = !needed || write_op(cli, op, name, person);
    const enum cli_exit code = ok ? tell(cli, &channels[0], paused, needed) : cli_fail(cli, EXIT_AWAY);
    reads_channels_free(&channels);
    return code;
}

enum cli_exit pausing(struct cli *cli, enum channel_op op)
{
    const char *name = cli->options.operand[0];
    struct person person;
    char why[KEYS_ERR_BYTES];
    if (!identity_channel_check(name, why)) {
        errbuf_set(&cli->err, "a channel is named platform/account: %s", why);
        return cli_fail(cli, EXIT_USAGE);
    }
    if (!person_read(&cli->options, &person, &cli->err) || !check_why(person.why, &cli->err))
        return cli_fail(cli, EXIT_USAGE);
    if (!cli_load(cli)) return EXIT_USAGE;
    if (!cli_check_partition(cli, name, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code == EXIT_FINE) code = cli_require_channel(cli, name);
    return code == EXIT_FINE ? apply(cli, op, name, &person) : code;
}

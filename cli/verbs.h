/* SPDX-License-Identifier: MIT */
/*
 * verbs: the table of verbs and flags. The parser (options.c), --help (help.c), the shell completion, the manual page
 * (man.c) and docs/cli.md are made from it, so a verb or flag is added here and nowhere else.
 *
 * A flag belongs to the verbs of its mask. An example is a line that a shell runs as it stands; a test does so.
 */
#ifndef LANDFALL_CLI_VERBS_H
#define LANDFALL_CLI_VERBS_H

#include <stddef.h>

/* X(symbol, name, operands, at least, at most, summary, details, example, what --json prints) */
#define VERBS(X)                                                                                                       \
    X(SUBMIT, "submit", "[FILE|-] --to CHANNEL...", 0, 1, "Bring items: each becomes one delivery on each channel",    \
      "FILE holds JSON Feed items: one to a line (NDJSON), an array of them, or a whole feed document; - is standard " \
      "input. What cannot be read is reported with its line and the rest is taken. The same file can be submitted "    \
      "again at any time: a delivery that is there already is answered as the same, and other content under an id "    \
      "that is taken is a conflict, which changes nothing.",                                                           \
      "landfall submit items.ndjson --to blog/brand news/brand",                                                       \
      "{dry_run, items, unreadable, new, same, conflicting, refused, not_known, problems: [{line, delivery, kind, "    \
      "text}], "                                                                                                       \
      "deliveries: [{delivery, result, state}] (with --verbose), notes: [text], error (if it ended early)}; problems " \
      "holds the first 1,000")                                                                                         \
    X(STATUS, "status", "", 0, 0, "Show where everything stands",                                                      \
      "For each channel: deliveries by state, what waits and why, when it may send next, whether it is blocked or "    \
      "paused, and its oldest uncertain delivery. Then the queue, the journal, and the processes seen in the last "    \
      "30 s. Ends with 3 if something is uncertain or held.",                                                          \
      "landfall status",                                                                                               \
      "{now_ms, environment, partition, queue, journal, agenda, refused_input, channels: [{channel, counts: {state: "  \
      "n}, waiting, waiting_reasons: {reason: n}, next_at_ms, blocked_until_ms, blocked_why, paused, paused_why, "     \
      "paused_at_ms, uncertain_since_ms, next_look_ms, walker, failures}], processes: [{name, role, text}], "          \
      "processes_complete, notes: [text]}")                                                                            \
    X(SHOW, "show", "DELIVERY", 1, 1, "Show one delivery: what is known of it and what happens next",                  \
      "A delivery is named platform/account/id. Shows its row, why it is in its state, what happens next and when, "   \
      "its lease and places, and the request that was frozen for it, with {{name}} where a secret is put in.",         \
      "landfall show blog/brand/hello",                                                                                \
      "{delivery, state, reason, why, since_ms, next: [text], row: {..}, lease, agenda_ms, waiting_ms, in_journal, "   \
      "detail, request: {method, url, headers: [[name, value]], body}, request_unreadable (if it is), content}")       \
    X(REPORT, "report", "", 0, 0, "Say what became of deliveries in a span of time",                                   \
      "Reads the stream of outcomes: of each delivery that was published, rejected or held, the newest outcome. Ends " \
      "with 4 if one was rejected, with 3 if one is held.",                                                            \
      "landfall report --since 1h",                                                                                    \
      "{since_ms, published, counts: [{channel, state, source, n}], deliveries: [{delivery, state, reason, source, "   \
      "ext_id, url, attempt, at_ms}]}")                                                                                \
    X(KEY, "key", "[FILE|-] --channel CHANNEL", 0, 1, "Print the idempotency key of an item on a channel",             \
      "The key depends on the item's content, the channel and the key generation, and for some platforms on the time " \
      "of approval. FILE holds one item; nothing is sent and Redis is not asked.",                                     \
      "landfall key item.json --channel blog/brand", "{delivery, key, format, generation, content_hash}")              \
    X(DRAIN, "drain", "[ARGUMENT...]", 0, 64, "Settle what is uncertain, then end",                                    \
      "Starts landfall-reconciler drain with the same arguments, which reads the platforms back until nothing is "     \
      "left that it can settle. Its exit code is this command's.",                                                     \
      "landfall drain --help", "what landfall-reconciler drain prints")                                                \
    X(CONFIG, "config", "", 0, 0, "Print the configuration in force and where each setting came from",                 \
      "Never prints a password or a credential.", "landfall config",                                                   \
      "{file, settings: [{path, value, source}], redis_password, descriptors: [folder], channels: [name]}")            \
    X(COMPLETION, "completion", "bash", 1, 1, "Print a completion script for a shell",                                 \
      "Source it from the shell's start file, or put it where the shell looks for completions.",                       \
      "landfall completion bash", "not available")                                                                     \
    X(MAN, "man", "", 0, 0, "Print the manual page", "In the language of man(1): landfall man | man -l - shows it.",   \
      "landfall man", "not available")                                                                                 \
    X(HELP, "help", "[VERB]", 0, 1, "Explain a verb, or list them all", "The same as landfall VERB --help.",           \
      "landfall help submit", "not available")

enum verb_id {
#define X(symbol, ...) VERB_##symbol,
    VERBS(X)
#undef X
        VERB_COUNT
};

enum flag_kind {
    FLAG_SWITCH,
    FLAG_TEXT,
    FLAG_CHANNEL,  /* platform/account, checked */
    FLAG_CHANNELS, /* one or more, up to the next flag */
    FLAG_WHEN,     /* RFC 3339, or a span such as 2h30m */
    FLAG_NUMBER,   /* whole, from 0 */
};

#define VERB_BIT(symbol) (1u << VERB_##symbol)
#define VERBS_OF_REDIS   (VERB_BIT(SUBMIT) | VERB_BIT(STATUS) | VERB_BIT(SHOW) | VERB_BIT(REPORT))
#define VERBS_OF_CONFIG  (VERBS_OF_REDIS | VERB_BIT(KEY) | VERB_BIT(CONFIG))

/* X(symbol, name, kind, word for its value, verbs, help) */
#define FLAGS(X)                                                                                                       \
    X(TO, "--to", FLAG_CHANNELS, "CHANNEL...", VERB_BIT(SUBMIT), "Channels that every item goes to")                   \
    X(TEXT, "--text", FLAG_TEXT, "TEXT", VERB_BIT(SUBMIT), "One item with this text, in place of FILE")                \
    X(ID, "--id", FLAG_TEXT, "ID", VERB_BIT(SUBMIT),                                                                   \
      "The id of --text's item; without it, it is derived from the text: the same text again is the same delivery")    \
    X(MAP, "--map", FLAG_TEXT, "PROGRAM", VERB_BIT(SUBMIT),                                                            \
      "A jq program that makes an item, or an array of items, of each JSON value in FILE")                             \
    X(AT, "--at", FLAG_WHEN, "TIME", VERB_BIT(SUBMIT), "Not before this time; wins over the items' own")               \
    X(NOT_AFTER, "--not-after", FLAG_WHEN, "TIME", VERB_BIT(SUBMIT),                                                   \
      "Hold instead of sending after this time; wins over the items' own")                                             \
    X(HOLD, "--hold", FLAG_SWITCH, "", VERB_BIT(SUBMIT), "Wait for a person's approval")                               \
    X(BACKFILL, "--backfill", FLAG_SWITCH, "", VERB_BIT(SUBMIT),                                                       \
      "Take old items too: their date does not hold them back")                                                        \
    X(DRY_RUN, "--dry-run", FLAG_SWITCH, "", VERB_BIT(SUBMIT),                                                         \
      "Check the items and say what is new, the same or conflicting; write nothing")                                   \
    X(VERBOSE, "--verbose", FLAG_SWITCH, "", VERB_BIT(SUBMIT), "Print a line for each delivery")                       \
    X(CHANNEL, "--channel", FLAG_CHANNEL, "CHANNEL", VERB_BIT(STATUS) | VERB_BIT(REPORT) | VERB_BIT(KEY),              \
      "This channel only")                                                                                             \
    X(SINCE, "--since", FLAG_WHEN, "TIME", VERB_BIT(REPORT), "From this time on, or this long ago (default 24h)")      \
    X(EXPECT, "--expect", FLAG_NUMBER, "N", VERB_BIT(REPORT), "End with 5 if fewer than N were published")             \
    X(APPROVED_AT, "--approved-at", FLAG_NUMBER, "MS", VERB_BIT(KEY),                                                  \
      "Time of approval, ms since 1970; for formats that hold it")                                                     \
    X(GENERATION, "--generation", FLAG_NUMBER, "N", VERB_BIT(KEY), "Key generation (default 0)")                       \
    X(MARKDOWN, "--markdown", FLAG_SWITCH, "", VERB_BIT(MAN), "As docs/cli.md")                                        \
    X(CONFIG, "--config", FLAG_TEXT, "FILE", VERBS_OF_CONFIG | VERB_BIT(DRAIN),                                        \
      "Configuration (else $LANDFALL_CONFIG, ./landfall.json, /etc/landfall/landfall.json)")                           \
    X(JSON, "--json", FLAG_SWITCH, "", VERBS_OF_CONFIG, "Print one JSON document")

enum flag_id {
#define X(symbol, ...) FLAG_##symbol##_ID,
    FLAGS(X)
#undef X
        FLAG_COUNT
};

struct verb {
    const char *name, *operands;
    int operands_min, operands_max;
    const char *summary, *details, *example, *json;
};

struct flag {
    const char *name;
    enum flag_kind kind;
    const char *value; /* "" for a switch */
    unsigned verbs;    /* VERB_BIT()s */
    const char *help;
};

extern const struct verb verb_table[VERB_COUNT];
extern const struct flag flag_table[FLAG_COUNT];

/* VERB_COUNT and FLAG_COUNT for names that the tables do not hold. name_len bytes of it count. */
enum verb_id verb_find(const char *name);
enum flag_id flag_find(const char *name, size_t name_len);

/* The exit codes, for help and manual: one line each. */
extern const char *const verb_exit_codes[];

#endif

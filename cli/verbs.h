/* SPDX-License-Identifier: MIT */
/*
 * verbs: the table of verbs and flags. The parser (options.c), --help (help.c), the shell completion, the manual page
 * (man.c) and docs/cli.md are made from it, so a verb or flag is added here and nowhere else.
 *
 * A name may be of two words ("platform list"): the first one alone is no verb, its --help lists the others.
 * A flag belongs to the verbs of its mask. An example is a line that a shell runs as it stands; a test does so.
 */
#ifndef LANDFALL_CLI_VERBS_H
#define LANDFALL_CLI_VERBS_H

#include <stdbool.h>
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
      "n}, waiting, waiting_reasons: {reason: n}, next_at_ms, turn_at_ms, blocked_until_ms, blocked_why, paused, "     \
      "paused_why, "                                                                                                   \
      "paused_at_ms, uncertain_since_ms, next_look_ms, walker, failures}], processes: [{name, role, text}], "          \
      "processes_complete, notes: [text]}")                                                                            \
    X(SHOW, "show", "DELIVERY", 1, 1, "Show one delivery: what is known of it and what happens next",                  \
      "A delivery is named platform/account/id. Shows its row, why it is in its state, what happens next and when, "   \
      "its lease and places, and the request that was frozen for it, with {{name}} where a secret is put in.",         \
      "landfall show blog/brand/hello",                                                                                \
      "{delivery, state, reason, why, since_ms, next: [text], row: {..}, lease, agenda_ms, waiting_ms, in_journal, "   \
      "detail, request: {method, url, headers: [[name, value]], body}, request_unreadable (if it is), content}")       \
    X(REPORT, "report", "", 0, 0, "Say what became of deliveries in a span of time",                                   \
      "Of each delivery that was published, rejected or held, the newest outcome; and of each channel "                \
      "what waits, is being sent or is uncertain now, which the outcomes cannot say. Repeats that were"                \
      " skipped leave no trace in the ledger. Says so where the span reaches beyond what is kept. "                    \
      "--format github prints Markdown for the summary of a job. Ends with 4 if one was rejected, with"                \
      " 3 if one is held or uncertain.",                                                                               \
      "landfall report --since 1h",                                                                                    \
      "{since_ms, complete, kept_from_ms, published, missing, refused_input, channels: [{channel, "                    \
      "selected, published, rejected, held, waiting_now, claimed_now, uncertain_now, held_now, "                       \
      "skipped}], counts: [{channel, state, source, n}], deliveries: [{delivery, state, reason, "                      \
      "source, ext_id, url, attempt, at_ms}], notes: [text]}")                                                         \
    X(RETRY, "retry", "[DELIVERY...] --why TEXT", 0, 64, "Send held or rejected deliveries again",                     \
      "What a person held back or gave up goes to the workers again, with a new budget of attempts and without "       \
      "not_after. Where an attempt may have been executed, the platform is read back first (by "                       \
      "landfall-reconciler, which needs the channel's credential here): a post that is found is published in place "   \
      "of a repetition; without proof that there is none nothing is sent, and it is said when to try again. Where "    \
      "the platform cannot be read, what may come of it is said first, and --yes does it. Refused until the last "     \
      "attempt can no longer be executed. An uncertain delivery is not sent again by hand: the reconciler reads the "  \
      "platform first, and what it will do is shown. Deliveries are named, or picked with --channel, --state, "        \
      "--reason and --older-than: then their number is shown first, and --yes does it. Without --state it picks "      \
      "held ones.",                                                                                                    \
      "landfall retry blog/brand/lost --why \"not on the site, asked the editors\"",                                   \
      "{act, acted, picked, groups: [{channel, state, reason, n}] (of a bulk act), done, already, "                    \
      "busy, open, refused, missing, unread, not_known, deliveries: [{delivery, answer, from: {state, reason},"        \
      " to: {state, reason}, text, risk, until_ms, next: [text] (of open)}], notes: [text]}")                          \
    X(APPROVE, "approve", "[DELIVERY...] --why TEXT", 0, 64, "Let held deliveries go out",                             \
      "For what was submitted with --hold, and for anything else that is held: where an attempt may have been "        \
      "executed, the platform is read first, as with retry. Deliveries are named, "                                    \
      "or picked with --channel, --state, --reason and --older-than: then their number is shown first,"                \
      " and --yes does it. Without --state and --reason it picks what waits for an approval.",                         \
      "landfall approve blog/brand/draft --why \"proofread\"",                                                         \
      "{act, acted, picked, groups: [{channel, state, reason, n}] (of a bulk act), done, already, "                    \
      "busy, open, refused, missing, unread, not_known, deliveries: [{delivery, answer, from: {state, reason},"        \
      " to: {state, reason}, text, risk, until_ms, next: [text] (of open)}], notes: [text]}")                          \
    X(CONFIRM, "confirm", "DELIVERY --id ID --why TEXT", 1, 1, "Say that a held or uncertain delivery is published",   \
      "For a person who has seen the post where landfall could not. Where the platform can be asked by id, it is "     \
      "asked, and a post that it does not have is refused. It becomes published with source operator.",                \
      "landfall confirm blog/brand/lost --id 109876 --url https://blog.example/109876 --why \"seen on "                \
      "the site\"",                                                                                                    \
      "{act, acted, picked, groups: [{channel, state, reason, n}] (of a bulk act), done, already, "                    \
      "busy, open, refused, missing, unread, not_known, deliveries: [{delivery, answer, from: {state, reason},"        \
      " to: {state, reason}, text, risk, until_ms, next: [text] (of open)}], notes: [text]}")                          \
    X(CANCEL, "cancel", "[DELIVERY...] --why TEXT", 0, 64, "Give deliveries up",                                       \
      "They become rejected and are not sent; retry takes them back while their content is kept. What "                \
      "is being sent cannot be called back and is answered busy. What may have been executed wants "                   \
      "--in-doubt; should the post appear later, it becomes published and an alert is raised. "                        \
      "Deliveries are named, or picked with --channel, --state, --reason and --older-than: then their "                \
      "number is shown first, and --yes does it. Without --state it picks approved and held ones, and "                \
      "with --in-doubt uncertain ones.",                                                                               \
      "landfall cancel blog/brand/hello --why \"superseded\"",                                                         \
      "{act, acted, picked, groups: [{channel, state, reason, n}] (of a bulk act), done, already, "                    \
      "busy, open, refused, missing, unread, not_known, deliveries: [{delivery, answer, from: {state, reason},"        \
      " to: {state, reason}, text, risk, until_ms, next: [text] (of open)}], notes: [text]}")                          \
    X(REJECT, "reject", "[DELIVERY...] --why TEXT", 0, 64, "Refuse deliveries that wait for an approval",              \
      "As cancel; the reason also stays with the delivery, where show finds it. Deliveries are named, "                \
      "or picked with --channel, --state, --reason and --older-than: then their number is shown first,"                \
      " and --yes does it. Without --state and --reason it picks what waits for an approval.",                         \
      "landfall reject blog/brand/draft --why \"wrong audience\"",                                                     \
      "{act, acted, picked, groups: [{channel, state, reason, n}] (of a bulk act), done, already, "                    \
      "busy, open, refused, missing, unread, not_known, deliveries: [{delivery, answer, from: {state, reason},"        \
      " to: {state, reason}, text, risk, until_ms, next: [text] (of open)}], notes: [text]}")                          \
    X(PAUSE, "pause", "CHANNEL --why TEXT", 1, 1, "Stop sending to a channel",                                         \
      "From now on no delivery of it is handed out or claimed, by any worker. What is being sent is "                  \
      "finished, and what is uncertain is still read back.",                                                           \
      "landfall pause blog/brand --why \"site is being moved\"",                                                       \
      "{channel, act, answer, was_paused, was_paused_why, was_paused_at_ms, waiting, claimed, "                        \
      "paused_by_configuration}")                                                                                      \
    X(RESUME, "resume", "CHANNEL --why TEXT", 1, 1, "Let a channel send again",                                        \
      "Whoever paused it: a person, or a worker whose credential was refused. What waits is sent under"                \
      " the channel's pace.",                                                                                          \
      "landfall resume blog/brand --why \"site has moved\"",                                                           \
      "{channel, act, answer, was_paused, was_paused_why, was_paused_at_ms, waiting, claimed, "                        \
      "paused_by_configuration}")                                                                                      \
    X(LEASES, "leases", "", 0, 0, "Show what is being sent now",                                                       \
      "Each running claim: the delivery, the worker, the attempt, for how long already, and when it is"                \
      " taken from that worker.",                                                                                      \
      "landfall leases",                                                                                               \
      "{now_ms, leases: [{delivery, worker, attempt, state, claimed_at_ms, age_ms, left_ms}], notes: "                 \
      "[text]}")                                                                                                       \
    X(JOURNAL, "journal", "", 0, 0, "Show what may have been executed and is not confirmed",                           \
      "Each uncertain delivery, the oldest first: why and since when, which attempts may have been "                   \
      "executed, and when the reconciler looks next. Ends with 3 if there is one.",                                    \
      "landfall journal",                                                                                              \
      "{now_ms, uncertain, deliveries: [{delivery, reason, why, since_ms, in_doubt, attempt, "                         \
      "commit_by_ms, next_look_ms, walker, configured}], notes: [text]}")                                              \
    X(AUDIT, "audit", "FILE|- --to CHANNEL...", 1, 1, "Compare a feed with what was published",                        \
      "FILE is read as submit reads it. Says which of its items have no delivery on a channel, or one "                \
      "that is not published, and ends with 5 then; also where the feed holds no item at all. What left "              \
      "the ledger is found in the file of landfall archive. Nothing is written.",                                      \
      "landfall audit items.ndjson --to blog/brand",                                                                   \
      "{items, unreadable, deliveries, published, archived, missing, gaps: [{delivery, line, state, reason}], "        \
      "problems: [{line, text}]}")                                                                                     \
    X(EXPORT, "export", "", 0, 0, "Print the ledger as sorted lines",                                                  \
      "One JSON object for each delivery, sorted by name, without what changes while a delivery's "                    \
      "state does not: two exports can be compared with diff, and committed. Ends with 3 if a row "                    \
      "cannot be read.",                                                                                               \
      "landfall export > ledger.ndjson && wc -l ledger.ndjson",                                                        \
      "an array of the same objects: {delivery, state, reason, since, source, ext_id, url, duplicate, changed, "       \
      "approved_at, not_before, not_after, content, key, gen, attempt, in_doubt}")                                     \
    X(ARCHIVE, "archive", "FILE --older-than TIME", 1, 1, "Move settled rows out of the ledger into a file",           \
      "FILE gets the line that export prints of each row that was settled before that time and that nothing needs "    \
      "any more; it is merged with what it holds, sorted, and on the disk before the first row goes. A row is kept "   \
      "while it could still prevent a second post: while an attempt, its key or a report of it may count, while a "    \
      "delivery that comes after it is open, and until its item is older than the channel's max_age_ms, so that it "   \
      "would be held (backfill) if it were submitted again. Where the item has no date or the channel no max_age_ms, " \
      "nothing would hold it back: such rows stay, unless --no-guard takes that on you. Their number is shown first, " \
      "and --yes does it. It may be killed at any point, and run again.",                                              \
      "landfall archive ledger-archive.ndjson --older-than 90d --dry-run",                                             \
      "{file, acted, before_ms, rows, to_archive, exported, lines, dropped, gone_already, changed, kept: {open, "      \
      "newer, not_configured, attempt, awaited, age, unguarded, unreadable}}")                                         \
    X(PARTITIONS, "partitions", "N", 1, 1, "Change the number of partitions of a fleet that is at rest",               \
      "Every channel whose partition changes moves there, with all that the ledger knows of it. The fleet is at rest " \
      "when no worker, reconciler or drain runs (one that has ended shows for half a minute), the queues are empty, "  \
      "and "                                                                                                           \
      "none "                                                                                                          \
      "of the deliveries that would move is claimed or uncertain; otherwise nothing moves, and what is in the way is " \
      "named. The configuration still has the number that the fleet was started with; until all has moved no process " \
      "starts, and from then on only with the new number. It may be killed at any point, and run again. Take a "       \
      "backup "                                                                                                        \
      "first, and let no cluster move slots meanwhile.",                                                               \
      "landfall partitions 4 --dry-run",                                                                               \
      "{acted, from, to, deliveries, keys, not_at_rest (null, or what is in the way)}")                                \
    X(KEY, "key", "[FILE|-]", 0, 1, "Print the idempotency key of an item on a channel",                               \
      "The key depends on the item's content, the channel and the key generation, and for some platforms on the time " \
      "of approval. FILE holds one item; nothing is sent and Redis is not asked.",                                     \
      "landfall key item.json --channel blog/brand", "{delivery, key, format, generation, content_hash}")              \
    X(DRAIN, "drain", "[ARGUMENT...]", 0, 64, "Settle what is uncertain, then end",                                    \
      "Starts landfall-reconciler drain with the same arguments, which reads the platforms back until nothing is "     \
      "left that it can settle. Its exit code is this command's. --dry-run says what would become of each delivery "   \
      "and why, and changes nothing; --channel CHANNEL, --since TIME|DURATION, --older-than DURATION and --limit N "   \
      "choose deliveries; --wait goes on until nothing is uncertain, --timeout SECONDS ends it before; --json prints " \
      "one object a line. It never publishes, and never takes an absence for proven before the last attempt is over.", \
      "landfall drain --dry-run", "what landfall-reconciler drain prints")                                             \
    X(SPOOL, "spool", "", 0, 0, "Show outcomes that Redis has not taken yet, or settle them",                          \
      "Workers write down in worker.spool_dir what Redis could not be told. Lists its files: whether the owner "       \
      "lives, "                                                                                                        \
      "how many outcomes are open, how old the oldest is. With --replay, settles the files whose owners are gone, as " \
      "the next worker would; a line that cannot be read is put aside with its file, never deleted. Ends with 3 if "   \
      "something is left.",                                                                                            \
      "landfall spool",                                                                                                \
      "{folder, files: [{file, alive, put_aside, environment, worker, outcomes, oldest_kept_at_ms, lines, "            \
      "unreadable, "                                                                                                   \
      "first_unreadable_line, why, torn_bytes}], deliveries: []}; with --replay files: [{file, end, settled, left, "   \
      "unreadable, first_unreadable_line, why}], deliveries: [{delivery, attempt, event, result, state, reason, why, " \
      "file}]")                                                                                                        \
    X(DOCTOR, "doctor", "", 0, 0, "Say what is in force, what is wrong with it, and what to do",                       \
      "Prints the configuration in force, then a finding for each check: what is so, what it can cost, what to "       \
      "do. Looks at the server (version, eviction, persistence, replication, rights, clock), at the ledger "           \
      "(leases, places, agenda, counts, foreign keys; up to 200,000 keys, and says how many), at processes, and "      \
      "at this machine's credentials, descriptors and proxy settings. Where a service forbids CONFIG or ACL, "         \
      "says so. Ends with 4 if something is unsafe, with 3 if something is a risk, with 2 if the ledger could "        \
      "not be read. Writes nothing; --repair puts right what can be put right safely while others work: a "            \
      "missing group, deliveries and channels that stand on no list, agenda members that nothing is to be done "       \
      "with, counts. It never touches a state, a lease or a doubt.",                                                   \
      "landfall doctor",                                                                                               \
      "{configuration: as config, redis (why it is out of reach), findings: [{check, severity, what, cost, "           \
      "todo}], looked_at: {keys, rows, agenda, complete}, repaired: {group, placed, removed, channels, counts, "       \
      "counts_left_alone, changed_meanwhile, refused} (with --repair), exit}")                                         \
    X(CONFIG, "config", "", 0, 0, "Print the configuration in force and where each setting came from",                 \
      "Never prints a password or a credential.", "landfall config",                                                   \
      "{file, settings: [{path, value, source}], redis_password, descriptors: [folder], channels: [name]}")            \
    X(PLATFORM_LIST, "platform list", "", 0, 0, "List the descriptors that are found, and what a channel must give",   \
      "Looks through the folders of descriptors in their order; the first file of a name is the one that counts. "     \
      "For each: its tier in words, whether all of it was seen on a real server, the settings and the names of the "   \
      "credentials. Ends with 1 if one cannot be read, with 5 if there is none.",                                      \
      "landfall platform list",                                                                                        \
      "{folders: [folder], platforms: [{platform, file, hidden_by, title, tier, tier_means, verified, settings: "      \
      "[{name, type, required, default, values, help}], credentials: [name], problem}]}")                              \
    X(PLATFORM_CHECK, "platform check", "FILE|NAME", 1, 1, "Check a descriptor and say what it leads to",              \
      "Reads the file, compiles its programs, runs the fixtures beside it (each in a process of its own with limits "  \
      "on time and memory), and tells in words what holds: tier, key window, how doubt ends, what every kind of "      \
      "answer does to a delivery, at first and while an earlier attempt is in doubt. The answers are judged by the "   \
      "engine itself. A name is looked for in the configured folders. Ends with 1 if something is wrong.",             \
      "landfall platform check descriptors/blog.json",                                                                 \
      "{platform, title, file, ok, problems: [text], fixtures: {folder, files, cases, passed}, facts: [{name, text}]," \
      " answers: {first, again, own: [{answers: [text], then}]}, doubt: [{seen, then}]}")                              \
    X(PLATFORM_TRY, "platform try", "CHANNEL ITEM", 2, 2, "Show the requests that would publish an item",              \
      "ITEM is a file with one item; - is standard input. Shows the idempotency key, the text with its counts "        \
      "against "                                                                                                       \
      "the limits, and every request as it would be sent, with {{name}} where a secret is put in. Nothing is sent, "   \
      "Redis is not asked, no credential is needed. Ends with 1 if the item does not fit the channel.",                \
      "landfall platform try blog/brand item.json",                                                                    \
      "{channel, id, key, key_depends_on_time, text, limits: [{what, unit, count, max}], requests: [{name, request: "  \
      "{method, url, headers: [[name, value]], body}, unknown}]}")                                                     \
    X(PLATFORM_PROBE, "platform probe", "CHANNEL", 1, 1, "Read a channel's account, to see whether it can be",         \
      "Sends reads only: a login where one is needed, the first pages of the listing, and look-ups of a post that "    \
      "does not exist. Says whether the credential is taken, how many entries there are, whether they have times, "    \
      "whether the proof of the listing's end was seen, and how long pages took. Ends with 2 if the platform is out "  \
      "of reach, with 4 if it refuses the credential, with 5 if the listing ends without its proof.",                  \
      "landfall platform probe blog/brand",                                                                            \
      "{channel, readable, credential: taken|refused|not tried, login, listing: {end, end_proof_seen, pages, "         \
      "entries, "                                                                                                      \
      "times, oldest_ms, page_ms: [n]}, lookups: [{by, answer, status, ms, detail}], requests, problems: [text]}")     \
    X(COMPLETION, "completion", "bash", 1, 1, "Print a completion script for a shell",                                 \
      "Source it from the shell's start file, or put it where the shell looks for completions.",                       \
      "landfall completion bash", "not available")                                                                     \
    X(MAN, "man", "", 0, 0, "Print the manual page", "In the language of man(1): landfall man | man -l - shows it.",   \
      "landfall man", "not available")                                                                                 \
    X(HELP, "help", "[VERB]", 0, 2, "Explain a verb, or list them all", "The same as landfall VERB --help.",           \
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
/* Acts of a person: on any number of deliveries, on some. */
#define VERBS_OF_BULK (VERB_BIT(RETRY) | VERB_BIT(APPROVE) | VERB_BIT(CANCEL) | VERB_BIT(REJECT))
#define VERBS_OF_ACTS (VERBS_OF_BULK | VERB_BIT(CONFIRM) | VERB_BIT(PAUSE) | VERB_BIT(RESUME))
#define VERBS_OF_REDIS                                                                                                 \
    (VERBS_OF_ACTS | VERB_BIT(SUBMIT) | VERB_BIT(STATUS) | VERB_BIT(SHOW) | VERB_BIT(REPORT) | VERB_BIT(LEASES) |      \
     VERB_BIT(JOURNAL) | VERB_BIT(AUDIT) | VERB_BIT(EXPORT) | VERB_BIT(ARCHIVE) | VERB_BIT(PARTITIONS))
#define VERBS_OF_PLATFORM                                                                                              \
    (VERB_BIT(PLATFORM_LIST) | VERB_BIT(PLATFORM_CHECK) | VERB_BIT(PLATFORM_TRY) | VERB_BIT(PLATFORM_PROBE))
#define VERBS_OF_CONFIG                                                                                                \
    (VERBS_OF_REDIS | VERBS_OF_PLATFORM | VERB_BIT(DOCTOR) | VERB_BIT(SPOOL) | VERB_BIT(KEY) | VERB_BIT(CONFIG))

/* X(symbol, name, kind, word for its value, verbs, help) */
#define FLAGS(X)                                                                                                       \
    X(TO, "--to", FLAG_CHANNELS, "CHANNEL...", VERB_BIT(SUBMIT) | VERB_BIT(AUDIT), "Channels that every item goes to") \
    X(TEXT, "--text", FLAG_TEXT, "TEXT", VERB_BIT(SUBMIT), "One item with this text, in place of FILE")                \
    X(ID, "--id", FLAG_TEXT, "ID", VERB_BIT(SUBMIT) | VERB_BIT(CONFIRM),                                               \
      "The id of --text's item; without it, it is derived from the text: the same text again is the same delivery")    \
    X(URL, "--url", FLAG_TEXT, "URL", VERB_BIT(CONFIRM), "Address of the post")                                        \
    X(WHY, "--why", FLAG_TEXT, "TEXT", VERBS_OF_ACTS | VERB_BIT(ARCHIVE) | VERB_BIT(PARTITIONS),                       \
      "The reason, which goes into the audit stream with your name and host; required")                                \
    X(NEW_KEY, "--new-key", FLAG_SWITCH, "", VERB_BIT(RETRY),                                                          \
      "Under a new idempotency key: for platforms that keep a failure under the old one")                              \
    X(IN_DOUBT, "--in-doubt", FLAG_SWITCH, "", VERB_BIT(CANCEL) | VERB_BIT(REJECT),                                    \
      "Also what may have been executed")                                                                              \
    X(WITHOUT_READING, "--without-reading", FLAG_SWITCH, "", VERB_BIT(RETRY) | VERB_BIT(APPROVE) | VERB_BIT(CONFIRM),  \
      "Do not read the platform first: for one that cannot be read now; the audit stream says so")                     \
    X(STATE, "--state", FLAG_TEXT, "STATE", VERBS_OF_BULK, "Pick deliveries in this state")                            \
    X(REASON, "--reason", FLAG_TEXT, "REASON", VERBS_OF_BULK, "Pick deliveries that are in it for this reason")        \
    X(OLDER_THAN, "--older-than", FLAG_WHEN, "TIME", VERBS_OF_BULK | VERB_BIT(JOURNAL) | VERB_BIT(ARCHIVE),            \
      "Those that came into their state longer ago than this, or before this time")                                    \
    X(YES, "--yes", FLAG_SWITCH, "", VERBS_OF_BULK | VERB_BIT(ARCHIVE) | VERB_BIT(PARTITIONS),                         \
      "Do it to all that were picked")                                                                                 \
    X(NO_GUARD, "--no-guard", FLAG_SWITCH, "", VERB_BIT(ARCHIVE),                                                      \
      "Also rows whose items nothing would hold back if they were submitted again")                                    \
    X(MAP, "--map", FLAG_TEXT, "PROGRAM", VERB_BIT(SUBMIT) | VERB_BIT(AUDIT),                                          \
      "A jq program that makes an item, or an array of items, of each JSON value in FILE")                             \
    X(ARCHIVE, "--archive", FLAG_TEXT, "FILE", VERB_BIT(AUDIT),                                                        \
      "Deliveries that left the ledger: what this file has as published counts as published")                          \
    X(AT, "--at", FLAG_WHEN, "TIME", VERB_BIT(SUBMIT), "Not before this time; wins over the items' own")               \
    X(NOT_AFTER, "--not-after", FLAG_WHEN, "TIME", VERB_BIT(SUBMIT),                                                   \
      "Hold instead of sending after this time; wins over the items' own")                                             \
    X(HOLD, "--hold", FLAG_SWITCH, "", VERB_BIT(SUBMIT), "Wait for a person's approval")                               \
    X(BACKFILL, "--backfill", FLAG_SWITCH, "", VERB_BIT(SUBMIT),                                                       \
      "Take old items too: their date does not hold them back")                                                        \
    X(DRY_RUN, "--dry-run", FLAG_SWITCH, "", VERB_BIT(SUBMIT) | VERB_BIT(ARCHIVE) | VERB_BIT(PARTITIONS),              \
      "Write nothing, and say which items are new, the same or conflicting")                                           \
    X(VERBOSE, "--verbose", FLAG_SWITCH, "", VERB_BIT(SUBMIT), "Print a line for each delivery")                       \
    X(CHANNEL, "--channel", FLAG_CHANNEL, "CHANNEL",                                                                   \
      VERB_BIT(STATUS) | VERB_BIT(REPORT) | VERB_BIT(KEY) | VERB_BIT(LEASES) | VERB_BIT(JOURNAL) | VERB_BIT(EXPORT) |  \
          VERB_BIT(ARCHIVE) | VERBS_OF_BULK,                                                                           \
      "This channel only")                                                                                             \
    X(SINCE, "--since", FLAG_WHEN, "TIME", VERB_BIT(REPORT), "From this time on, or this long ago (default 24h)")      \
    X(EXPECT, "--expect", FLAG_NUMBER, "N", VERB_BIT(REPORT), "End with 5 if fewer than N were published")             \
    X(FORMAT, "--format", FLAG_TEXT, "FORMAT", VERB_BIT(REPORT), "text (default), json, or github: Markdown")          \
    X(APPROVED_AT, "--approved-at", FLAG_NUMBER, "MS", VERB_BIT(KEY),                                                  \
      "Time of approval, ms since 1970; for formats that hold it")                                                     \
    X(GENERATION, "--generation", FLAG_NUMBER, "N", VERB_BIT(KEY), "Key generation (default 0)")                       \
    X(REPLAY, "--replay", FLAG_SWITCH, "", VERB_BIT(SPOOL), "Settle what processes that are gone have left")           \
    X(REPAIR, "--repair", FLAG_SWITCH, "", VERB_BIT(DOCTOR), "Put right what can be put right safely")                 \
    X(PAGES, "--pages", FLAG_NUMBER, "N", VERB_BIT(PLATFORM_PROBE), "Read so many pages (default 3); 0 = all")         \
    X(MARKDOWN, "--markdown", FLAG_SWITCH, "", VERB_BIT(MAN), "As docs/cli.md")                                        \
    X(CONFIG, "--config", FLAG_TEXT, "FILE", VERBS_OF_CONFIG | VERB_BIT(DRAIN),                                        \
      "Configuration (else $LANDFALL_CONFIG, ./landfall.json, /etc/landfall/landfall.json)")                           \
    X(JSON, "--json", FLAG_SWITCH, "", VERBS_OF_CONFIG, "Print one JSON document")

/* X(flag, verb, help): where a flag means something of its own to one of its verbs. */
#define FLAG_WORDS(X)                                                                                                  \
    X(ID, CONFIRM, "The platform's id of the post")                                                                    \
    X(WHY, ARCHIVE, "The reason, which goes into the audit stream with your name and host; required with --yes")       \
    X(OLDER_THAN, ARCHIVE, "What was settled longer ago than this, or before this time; required")                     \
    X(YES, ARCHIVE, "Move the rows")                                                                                   \
    X(DRY_RUN, ARCHIVE, "Say what would be moved and what stays, and write nothing; so does archive without --yes")    \
    X(WHY, PARTITIONS, "The reason, which goes into the audit stream with your name and host; required with --yes")    \
    X(YES, PARTITIONS, "Move the channels")                                                                            \
    X(DRY_RUN, PARTITIONS, "Say what would be moved, or what is in the way, and write nothing")                        \
    X(CHANNEL, KEY, "The channel that the item would go to")

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
/* A verb of two words: "platform", "list". first may be NULL: a verb of one word. */
enum verb_id verb_find_words(const char *first, const char *word);
/* Length of the first word of a name of two; 0 where it has one. */
size_t verb_first_word(enum verb_id id);
/* True if verbs of two words begin with it. */
bool verb_is_group(const char *word);
enum flag_id flag_find(const char *name, size_t name_len);
/* What the flag does with this verb. */
const char *flag_help(enum flag_id flag, enum verb_id verb);

/* The exit codes, for help and manual: one line each. */
extern const char *const verb_exit_codes[];

#endif

/* SPDX-License-Identifier: MIT */
#include "cli/act.h"

#include <stdio.h>
#include <string.h>

const char *act_answer_name(enum act_answer answer)
{
    static const char *const names[] = {
#define X(symbol, word) [symbol] = word,
        ACT_ANSWERS(X)
#undef X
    };
    return names[answer];
}

/* ---- what it risks */

#define DOUBT_WORDS_BYTES 300

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "attempt 2 may have committed", "attempts 1, 2 and one that the ledger has forgotten may have committed". */
static const char *doubt_words(const struct doubt *doubt, char out[DOUBT_WORDS_BYTES])
{
    const bool only_forgotten = doubt->count == 1 && !is_digit(doubt->entry[0][0]);
    size_t len = (size_t)snprintf(out, DOUBT_WORDS_BYTES, "%sattempt%s", only_forgotten ? "an " : "",
                                  doubt->count == 1 ? "" : "s");
    for (int i = 0; i < doubt->count && len < DOUBT_WORDS_BYTES - 80; i++) {
        const char *between = i == 0 ? " " : i == doubt->count - 1 ? " and " : ", ";
        const char *entry = doubt->entry[i];
        const char *forgotten = only_forgotten ? "that the ledger has forgotten" : "one that the ledger has forgotten";
        len += (size_t)snprintf(out + len, DOUBT_WORDS_BYTES - len, "%s%.*s", between,
                                is_digit(entry[0]) ? (int)strcspn(entry, ":") : (int)strlen(forgotten),
                                is_digit(entry[0]) ? entry : forgotten);
    }
    snprintf(out + len, DOUBT_WORDS_BYTES - len, " may have committed");
    return out;
}

static bool blind(const struct delivery_policy *policy)
{
    return !policy->harmless && !policy->can_read && policy->key_window_ms == 0;
}

static void risk_of_doubt(const struct act *act, const struct act_facts *f, struct errbuf *risk)
{
    char words[DOUBT_WORDS_BYTES];
    doubt_words(&f->row->doubt, words);
    if (!f->policy)
        errbuf_set(risk,
                   "%s; a second post is possible; its channel is not configured here, so what its platform "
                   "allows is not known",
                   words);
    else if (act->new_key)
        errbuf_set(risk, "%s; a second post is possible, for under a new key the platform cannot know it again", words);
    else if (blind(f->policy))
        errbuf_set(risk, "%s; a second post is possible, for this channel can neither be read nor replayed", words);
    else if (!delivery_replay_allowed(f->row, f->policy, f->now_ms))
        errbuf_set(risk, "%s; a second post is possible", words);
}

static void name_risk(const struct act *act, const struct act_facts *f, struct errbuf *risk)
{
    const struct delivery_row *r = f->row;
    char words[DOUBT_WORDS_BYTES];
    risk->text[0] = '\0';
    if (act->event == EV_CANCEL && r->doubt.count > 0)
        errbuf_set(risk, "%s; should the post appear, it becomes published and an alert is raised",
                   doubt_words(&r->doubt, words));
    if ((act->event != EV_RETRY && act->event != EV_APPROVE) || (f->policy && f->policy->harmless)) return;
    if (r->ext_id[0] != '\0')
        errbuf_set(risk, "it was published once as %s; it is posted again", r->ext_id);
    else if (r->doubt.count > 0)
        risk_of_doubt(act, f, risk);
    else if (f->policy && blind(f->policy))
        errbuf_set(risk, "this channel can neither be read nor replayed: if the next attempt has no answer, nobody can "
                         "find out whether it was executed");
}

/* ---- why there is nothing to do */

static void say(struct act_plan *plan, enum act_answer answer, const char *text)
{
    plan->answer = answer;
    errbuf_set(&plan->text, "%s", text);
}

static void explain_resend(const struct act *act, const struct delivery_row *row, struct act_plan *plan)
{
    switch (row->state) {
    case DS_APPROVED: say(plan, ACT_ALREADY, "it is to be sent already"); break;
    case DS_PUBLISHED: say(plan, ACT_ALREADY, "it is published"); break;
    case DS_UNCERTAIN:
        say(plan, ACT_OPEN, "it may have been executed: the reconciler reads the platform before anything is sent");
        break;
    case DS_REJECTED:
        say(plan, ACT_REFUSED,
            act->event == EV_APPROVE ? "it is rejected; landfall retry takes it back" : "it is rejected");
        break;
    case DS_NONE:
    case DS_CLAIMED:
    case DS_HELD:
    case DS_COUNT: say(plan, ACT_REFUSED, "it cannot be sent again from its state"); break;
    }
}

static void explain_confirm(const struct act *act, const struct delivery_row *row, struct act_plan *plan)
{
    bool same = !act->ext_id || strcmp(act->ext_id, row->ext_id) == 0;
    if (row->state == DS_PUBLISHED && same)
        say(plan, ACT_ALREADY, "it is published");
    else if (row->state == DS_PUBLISHED)
        errbuf_set(&plan->text, "it is published as %s", row->ext_id[0] ? row->ext_id : "a post without an id");
    else
        errbuf_set(&plan->text, "it is %s; what is held or uncertain can be confirmed",
                   delivery_state_name(row->state));
}

static void explain_cancel(const struct delivery_row *row, struct act_plan *plan)
{
    char words[DOUBT_WORDS_BYTES];
    if (row->state == DS_REJECTED)
        say(plan, ACT_ALREADY, "it is rejected already");
    else if (row->state == DS_PUBLISHED)
        say(plan, ACT_REFUSED, "it is published; landfall deletes nothing");
    else
        errbuf_set(&plan->text, "%s; --in-doubt gives it up all the same",
                   row->doubt.count > 0 ? doubt_words(&row->doubt, words) : "it may have been executed");
}

static void explain_busy(const struct act_facts *f, struct act_plan *plan)
{
    const struct delivery_row *r = f->row;
    plan->answer = ACT_BUSY;
    if (r->state == DS_CLAIMED) {
        plan->until_ms = f->lease_ends_ms;
        errbuf_set(&plan->text, "attempt %d is being sent", r->attempt);
    } else {
        plan->until_ms = r->commit_by_ms;
        errbuf_set(&plan->text, "attempt %d may still be executed", r->attempt);
    }
}

/* What may have been sent by an attempt that the ledger has forgotten is in doubt, though its row does not say so yet.
 */
static struct delivery_row row_with_doubt(const struct act_facts *f)
{
    struct delivery_row row = *f->row;
    if (f->forgotten && row.state == DS_APPROVED && row.doubt.count == 0) (void)!doubt_parse("rewound", &row.doubt);
    return row;
}

void act_plan(const struct act *act, const struct act_facts *given, struct act_plan *plan)
{
    const struct delivery_row row = row_with_doubt(given);
    struct act_facts facts = *given, *f = &facts;
    facts.row = &row;
    const struct delivery_input in = {
        .event = act->event, .ext_id = act->ext_id, .with_doubt = act->in_doubt, .new_key = act->new_key};
    memset(plan, 0, sizeof(*plan));
    plan->answer = ACT_REFUSED;
    if (f->row->state == DS_NONE) {
        say(plan, ACT_MISSING, "there is no such delivery");
        return;
    }
    plan->decision = delivery_step(f->row, &in, f->policy ? f->policy : f->defaults, f->now_ms);
    if (plan->decision.verdict == VERDICT_CHANGE) {
        plan->answer = ACT_DONE;
        name_risk(act, f, &plan->risk);
    } else if (plan->decision.verdict == VERDICT_BUSY) {
        explain_busy(f, plan);
    } else if (act->event == EV_CONFIRM) {
        explain_confirm(act, f->row, plan);
    } else if (act->event == EV_CANCEL) {
        explain_cancel(f->row, plan);
    } else {
        explain_resend(act, f->row, plan);
    }
}

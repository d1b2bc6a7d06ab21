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

static bool resends(const struct act *act)
{
    return act->event == EV_RETRY || act->event == EV_APPROVE;
}

/* What the act risks, in words. True: that is a second post. */
static bool name_risk(const struct act *act, const struct act_facts *f, struct errbuf *risk)
{
    const struct delivery_row *r = f->row;
    char words[DOUBT_WORDS_BYTES];
    risk->text[0] = '\0';
    if (act->event == EV_CANCEL && r->doubt.count > 0)
        errbuf_set(risk, "%s; should the post appear, it becomes published and an alert is raised",
                   doubt_words(&r->doubt, words));
    if (!resends(act) || (f->policy && f->policy->harmless)) return false;
    const bool may_be_second = r->ext_id[0] != '\0' || r->doubt.count > 0;
    if (r->ext_id[0] != '\0')
        errbuf_set(risk, "it was published once as %s; it is posted again", r->ext_id);
    else if (r->doubt.count > 0)
        risk_of_doubt(act, f, risk);
    else if (f->policy && blind(f->policy))
        errbuf_set(risk, "this channel can neither be read nor replayed: if the next attempt has no answer, nobody can "
                         "find out whether it was executed");
    return may_be_second && risk->text[0] != '\0';
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
 * Its key would be that of its approval. */
static struct delivery_row row_with_doubt(const struct act_facts *f)
{
    struct delivery_row row = *f->row;
    if (!f->forgotten || row.doubt.count > 0) return row;
    doubt_add_forgotten(&row.doubt);
    if (row.first_send_ms == 0) row.first_send_ms = row.approved_at_ms;
    return row;
}

/* ---- what the platform says */

static struct delivery_decision decide(const struct act *act, const struct act_facts *f)
{
    const struct delivery_input in = {
        .event = act->event, .ext_id = act->ext_id, .with_doubt = act->in_doubt, .new_key = act->new_key};
    return delivery_step(f->row, &in, f->policy ? f->policy : f->defaults, f->now_ms);
}

bool act_wants_reading(const struct act *act, const struct act_facts *f)
{
    const struct delivery_row *r = f->row;
    const bool tried = r->attempt > 0 || f->forgotten;
    const bool readable = f->policy && (f->policy->can_read || (f->by_id && r->ext_id[0] != '\0'));
    if (!f->policy || f->policy->harmless || decide(act, f).verdict != VERDICT_CHANGE) return false;
    if (act->event == EV_CONFIRM) return f->by_id;
    return resends(act) && tried && readable;
}

/* It is there: that is published, and nothing is sent. */
static void publish_found(const struct act_facts *f, struct act_plan *plan)
{
    const struct act_reading *g = f->reading;
    const char *known = f->row->ext_id;
    const bool other = known[0] != '\0' && g->ext_id && strcmp(known, g->ext_id) != 0;
    const struct delivery_input in = {
        .event = EV_FOUND, .attempt = f->row->attempt, .ext_id = g->ext_id, .two_found = g->duplicate_id != NULL};
    plan->decision = delivery_step(f->row, &in, f->policy, f->now_ms);
    plan->ext_id = other ? known : g->ext_id;
    plan->url = other ? NULL : g->url;
    plan->duplicate_id = other ? g->ext_id : g->duplicate_id;
    plan->risk.text[0] = '\0';
    errbuf_set(&plan->text, "the platform has it%s%s; nothing is sent", g->ext_id ? " as " : "",
               g->ext_id ? g->ext_id : "");
}

static void weigh_resend(const struct act_facts *f, struct act_plan *plan)
{
    const struct act_reading *g = f->reading;
    if (g->event == EV_FOUND) {
        publish_found(f, plan);
    } else if (g->event == EV_UNSEEN) {
        plan->until_ms = g->again_ms;
        errbuf_set(&plan->text, "%s; --without-reading sends it on your word alone", g->why);
        plan->answer = ACT_UNREAD;
    } else if (!g->settled) {
        plan->until_ms = g->settled_at_ms;
        say(plan, ACT_BUSY, g->why);
    } else if (f->row->ext_id[0] == '\0') {
        plan->risk.text[0] = '\0'; /* it was looked for to the end, and nothing can arrive any more */
    }
}

static void weigh_confirm(const struct act *act, const struct act_facts *f, struct act_plan *plan)
{
    const struct act_reading *g = f->reading;
    const bool same = g->ext_id && strcmp(g->ext_id, act->ext_id) == 0;
    if (g->event == EV_FOUND && same) {
        if (!plan->url) plan->url = g->url;
    } else if (g->event == EV_FOUND) {
        errbuf_set(&plan->text, "the platform answers with another post: %s", g->ext_id ? g->ext_id : "one without id");
        plan->answer = ACT_REFUSED;
    } else if (g->event == EV_GONE) {
        say(plan, ACT_REFUSED, "the platform has no post under that id; --without-reading believes you all the same");
    } else {
        plan->until_ms = g->again_ms;
        errbuf_set(&plan->text, "%s; --without-reading believes you without it", g->why);
        plan->answer = ACT_UNREAD;
    }
}

/* The decision stands; may it be written? */
static void weigh(const struct act *act, const struct act_facts *f, bool second_post, struct act_plan *plan)
{
    if (!f->unread && act_wants_reading(act, f)) {
        if (!f->reading)
            say(plan, ACT_UNREAD, "the platform was not read; --without-reading goes without");
        else if (f->reading->rev != f->row->rev)
            say(plan, ACT_BUSY, "it changed while the platform was read; ask again");
        else if (act->event == EV_CONFIRM)
            weigh_confirm(act, f, plan);
        else
            weigh_resend(f, plan);
    } else if (second_post && !act->consents) {
        say(plan, ACT_REFUSED, "a second post is possible; --yes sends it all the same");
    }
}

void act_plan(const struct act *act, const struct act_facts *given, struct act_plan *plan)
{
    const struct delivery_row doubted = row_with_doubt(given);
    struct act_facts risked = *given;
    risked.row = &doubted;
    /* A row that a claim would find in doubt is one; with any other the doubt is only told. */
    const struct act_facts *f = given->row->state == DS_APPROVED ? &risked : given;
    memset(plan, 0, sizeof(*plan));
    plan->answer = ACT_REFUSED;
    if (f->row->state == DS_NONE) {
        say(plan, ACT_MISSING, "there is no such delivery");
        return;
    }
    plan->ext_id = act->ext_id;
    plan->url = act->url;
    plan->decision = decide(act, f);
    if (plan->decision.verdict == VERDICT_CHANGE) {
        plan->answer = ACT_DONE;
        const bool second_post = name_risk(act, resends(act) ? &risked : f, &plan->risk);
        weigh(act, given, second_post, plan); /* its row lives on: the plan borrows from it */
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

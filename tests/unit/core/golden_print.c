/* SPDX-License-Identifier: MIT */
/* Prints the protocol's table: for each kind of row what each event does to it, under that the policies that differ.
 * What decides alike stands on one line. Times are seconds from now. */
#include "golden_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_time(FILE *f, const char *what, int64_t ms)
{
    if (ms == 0)
        fprintf(f, " %s=now", what);
    else
        fprintf(f, " %s=%+.0fs", what, (double)(ms - GOLDEN_NOW_MS) / 1000);
}

static void print_flags(FILE *f, const struct delivery_decision *d)
{
    const struct {
        bool on;
        const char *word;
    } flags[] = {
        {d->send, "SEND"},
        {d->duplicate, "DUPLICATE"},
        {d->alert, "ALERT"},
        {d->pause_channel, "pause_channel"},
        {d->waived, "waived"},
        {d->doubt_cleared, "cleared"},
        {d->drop_times, "drop_times"},
        {d->new_generation, "new_generation"},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (flags[i].on) fprintf(f, " %s", flags[i].word);
    }
}

static char *decision_text(const struct delivery_row *row, const struct delivery_decision *d)
{
    static const char *const places[] = {"", " agenda", " waiting", " walk"};
    char doubt[DOUBT_TEXT_MAX];
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) abort();
    if (d->verdict != VERDICT_CHANGE) {
        fprintf(f, "%s", d->verdict == VERDICT_BUSY ? "busy" : "already");
        fclose(f);
        return text;
    }
    doubt_format(&d->doubt, doubt);
    fprintf(f, "%s %s%s", delivery_state_name(d->state), delivery_reason_name(d->reason), places[d->place]);
    if (d->place != PLACE_NONE) print_time(f, "due", d->due_ms);
    if (d->tries != row->tries) fprintf(f, " tries=%d", d->tries);
    if (d->misses != row->misses) fprintf(f, " misses=%d", d->misses);
    if (d->commit_cap_ms > 0) fprintf(f, " commit_cap=%gs", (double)d->commit_cap_ms / 1000);
    if (d->block_until_ms > 0) print_time(f, "block", d->block_until_ms);
    if (d->source != SRC_NONE) fprintf(f, " source=%s", delivery_source_name(d->source));
    if (d->doubt.count > 0) fprintf(f, " doubt=[%s]", doubt);
    print_flags(f, d);
    fclose(f);
    return text;
}

/* What an event does to a row under every policy; equal blocks are printed once. */
struct block {
    const char *input;
    char *body;
};

static char *block_body(const struct golden_row *row, const struct golden_input *input)
{
    char *text[32] = {NULL}, *body = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&body, &size);
    if (f == NULL) abort();
    for (int p = 0; p < golden_policy_count; p++) {
        const struct delivery_policy *policy = &golden_policies[p].policy;
        if (golden_exists(row, &golden_policies[p])) {
            struct delivery_decision d = delivery_step(&row->row, &input->in, policy, GOLDEN_NOW_MS);
            text[p] = decision_text(&row->row, &d);
        }
    }
    fprintf(f, "%s", text[0]);
    for (int p = 1; p < golden_policy_count; p++) {
        if (text[p] == NULL || strcmp(text[p], text[0]) == 0) continue;
        fprintf(f, "\n      %s", golden_policies[p].name);
        for (int q = p + 1; q < golden_policy_count; q++) {
            if (text[q] != NULL && strcmp(text[q], text[p]) == 0) {
                fprintf(f, " | %s", golden_policies[q].name);
                free(text[q]);
                text[q] = NULL;
            }
        }
        fprintf(f, " -> %s", text[p]);
    }
    fclose(f);
    for (int p = 0; p < golden_policy_count; p++)
        free(text[p]);
    return body;
}

static void print_row(const struct golden_row *row)
{
    struct block blocks[64];
    printf("\n%s\n", row->name);
    for (int i = 0; i < golden_input_count; i++)
        blocks[i] = (struct block){golden_inputs[i].name, block_body(row, &golden_inputs[i])};
    for (int i = 0; i < golden_input_count; i++) {
        if (blocks[i].body == NULL) continue;
        printf("  %s", blocks[i].input);
        for (int j = i + 1; j < golden_input_count; j++) {
            if (blocks[j].body != NULL && strcmp(blocks[j].body, blocks[i].body) == 0) {
                printf(" | %s", blocks[j].input);
                free(blocks[j].body);
                blocks[j].body = NULL;
            }
        }
        printf(" -> %s\n", blocks[i].body);
        free(blocks[i].body);
    }
}

int main(void)
{
    printf("# What may happen to a delivery, printed by golden_print. Policy: %s; under a line, the policies that "
           "differ.\n",
           golden_policies[0].name);
    for (int r = 0; r < golden_row_count; r++)
        print_row(&golden_rows[r]);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The walk: through every step of every state that was not seen before, the nearest first, so that the way to what is
 * wrong is the shortest. From each state the way is also played to its end without faults, as far as it is not known:
 * everybody makes his next step, the platform executes and answers at once, time passes when nobody can do anything.
 * There the delivery must come to an end.
 *
 * Of a state that was walked through, its hash and the step that led to it are kept; a way is played again from the
 * start.
 */
#include "tests/sim/states.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/die.h"

#define END_MAX        1000 /* steps to the end */
#define LINE_MAX_BYTES 160

/* How a state was reached. */
struct node {
    uint32_t from;
    int length;
    struct states_step step;
};

struct pending {
    struct state *state;
    uint32_t node;
};

struct walk {
    struct states_set *seen, *ending; /* ending: states from which the end is known to be reached */
    struct node *node;
    size_t node_count, node_room;
    struct pending *queue; /* a ring */
    size_t first, count, room;
    struct states_step to_end[END_MAX];
    int to_end_length;
    struct states_found *found;
};

/* ---- states ---- */

static struct state *state_copy(const struct state *s)
{
    struct state *to = xmalloc(sizeof *to);
    *to = *s;
    (void)states_redis_keep(to->redis);
    return to;
}

static void state_free(struct state **s)
{
    states_redis_drop((*s)->redis);
    free(*s);
    *s = NULL;
}

/* Makes the step, and looks at what has become of it. */
static struct state *after(const struct state *s, const struct states_step *step)
{
    struct state *next = state_copy(s);
    states_make(next, step);
    states_judge(s, step, next);
    return next;
}

static struct state *beginning(void)
{
    struct state *s = xcalloc(1, sizeof *s);
    s->redis = states_redis_begin();
    return s;
}

/* ---- the way to a state, for people ---- */

static struct state *tell_step(struct state *s, const struct states_step *step)
{
    char line[LINE_MAX_BYTES];
    states_tell(s, step, line, sizeof line);
    printf("%s\n", line);
    struct state *next = after(s, step);
    state_free(&s);
    return next;
}

static void tell_way(const struct walk *w, uint32_t node, const struct states_step *last)
{
    const int length = w->node[node].length;
    struct states_step *way = xcalloc((size_t)length + 1, sizeof *way);
    for (uint32_t at = node; at != 0; at = w->node[at].from)
        way[w->node[at].length - 1] = w->node[at].step;
    struct state *s = beginning();
    printf("%s: %s\n", states.of.name, states.failure);
    for (int i = 0; i < length; i++)
        s = tell_step(s, &way[i]);
    if (last != NULL) s = tell_step(s, last);
    if (w->to_end_length > 0) printf("      and without faults from here on:\n");
    for (int i = 0; i < w->to_end_length; i++)
        s = tell_step(s, &w->to_end[i]);
    state_free(&s);
    free(way);
}

/* ---- to the end, without faults ---- */

/* At one moment the row is looked at once. */
static const struct states_step *next_of(const struct states_steps *steps, bool looked)
{
    const struct states_step *best = NULL;
    for (int i = 0; i < steps->count; i++) {
        const struct states_step *step = &steps->step[i];
        if (step->turn == 0 || step->fault || (step->kind == STEP_LOOK && looked)) continue;
        if (best == NULL || step->turn < best->turn) best = step;
    }
    return best;
}

static bool to_the_end(struct walk *w, const struct state *from)
{
    uint64_t passed[END_MAX][2];
    struct states_steps steps;
    struct state *s = state_copy(from);
    int looked_at = -1;
    w->to_end_length = 0;
    while (!states.failed && !states_judge_is_over(s)) {
        uint64_t *hash = passed[w->to_end_length];
        states_hash(s, hash);
        if (states_set_has(w->ending, hash)) break;
        states_steps_of(s, &steps);
        const struct states_step *step = next_of(&steps, looked_at == s->now);
        if (step->kind == STEP_LOOK) looked_at = s->now;
        w->to_end[w->to_end_length] = *step;
        struct state *next = after(s, step);
        state_free(&s);
        s = next;
        if (++w->to_end_length == END_MAX) states_fail("it does not come to an end");
    }
    if (!states.failed && states_judge_is_over(s)) states_judge_end(s);
    state_free(&s);
    for (int i = 0; !states.failed && i < w->to_end_length; i++)
        (void)states_set_add(w->ending, passed[i]);
    if (!states.failed) w->to_end_length = 0;
    return !states.failed;
}

/* ---- all of them ---- */

static uint32_t add_node(struct walk *w, uint32_t from, const struct states_step *step)
{
    if (w->node_count == w->node_room) {
        w->node_room = w->node_room > 0 ? w->node_room * 2 : 4096;
        w->node = xrealloc_array(w->node, w->node_room, sizeof *w->node);
    }
    struct node *node = &w->node[w->node_count];
    *node = (struct node){.from = from};
    if (step == NULL) return (uint32_t)w->node_count++;
    node->step = *step;
    node->length = w->node[from].length + 1;
    if (node->length > w->found->longest) w->found->longest = node->length;
    return (uint32_t)w->node_count++;
}

static void push(struct walk *w, struct state *own_state, uint32_t node)
{
    if (w->count == w->room) {
        const size_t room = w->room > 0 ? w->room * 2 : 4096;
        struct pending *queue = xcalloc(room, sizeof *queue);
        for (size_t i = 0; i < w->count; i++)
            queue[i] = w->queue[(w->first + i) % w->room];
        free(w->queue);
        w->queue = queue;
        w->room = room;
        w->first = 0;
    }
    w->queue[(w->first + w->count++) % w->room] = (struct pending){own_state, node};
}

static struct pending pop(struct walk *w)
{
    const struct pending first = w->queue[w->first];
    w->first = (w->first + 1) % w->room;
    w->count--;
    return first;
}

static bool is_new(struct walk *w, const struct state *s)
{
    uint64_t hash[2];
    states_hash(s, hash);
    return states_set_add(w->seen, hash);
}

static bool expand(struct walk *w, const struct pending *at)
{
    struct states_steps steps;
    if (!to_the_end(w, at->state)) {
        tell_way(w, at->node, NULL);
        return false;
    }
    if (states.bound.depth > 0 && w->node[at->node].length >= states.bound.depth) {
        w->found->left++;
        return true;
    }
    states_steps_of(at->state, &steps);
    for (int i = 0; i < steps.count; i++) {
        const struct states_step *step = &steps.step[i];
        if (step->fault && at->state->faults >= states.bound.faults) continue;
        struct state *next = after(at->state, step);
        w->found->steps++;
        if (states.failed) {
            state_free(&next);
            tell_way(w, at->node, step);
            return false;
        }
        if (is_new(w, next)) {
            push(w, next, add_node(w, at->node, step));
        } else {
            w->found->cuts++;
            state_free(&next);
        }
    }
    return true;
}

bool states_search(struct states_found *found)
{
    struct walk *w = xcalloc(1, sizeof *w);
    struct state *first = beginning();
    bool good = true;
    *found = (struct states_found){0};
    w->found = found;
    w->seen = states_set_new();
    w->ending = states_set_new();
    (void)is_new(w, first);
    push(w, first, add_node(w, 0, NULL));
    while (good && w->count > 0) {
        struct pending at = pop(w);
        good = expand(w, &at);
        state_free(&at.state);
    }
    found->states = states_set_count(w->seen);
    while (w->count > 0) {
        struct pending at = pop(w);
        state_free(&at.state);
    }
    free(w->queue);
    free(w->node);
    states_set_free(&w->seen);
    states_set_free(&w->ending);
    free(w);
    return good;
}

/* The gauge of one cell: a display that shows memory, context and speed while the cell works.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One display a cell, updated three times a second by a thread of its own, also while nothing is heard of the
 * work; its last state stays, and quick work has none. HTML without scripts or outside resources, and one
 * line of plain text. All functions are called by the cell's thread. */
#ifndef JUPYTER_KERNEL_GAUGE_H
#define JUPYTER_KERNEL_GAUGE_H

#include <pthread.h>

#include "jupyter_kernel/output.h"
#include "longleaf.h"

struct gauge {
    struct output *output; /* NULL: the gauge is off */
    char id[80];
    pthread_t thread; /* draws; there is one while ticks is set */
    bool ticks;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t ends;
    bool ended, shown, working;
    const ll_engine *engine;   /* borrowed; NULL while there is none */
    const ll_session *session; /* borrowed; NULL while there is none */
    ll_phase phase;
    bool told; /* the phase is known */
    uint64_t done, total;
    struct text label, note;              /* what is worked on; what a reader must know, said once */
    double began, phase_began, done_when; /* seconds on human_clock; done_when: done grew last */
    uint64_t phase_first;                 /* done when the phase began */
    size_t tokens;
    double first_token, last_token;
};

/* on false: everything below does nothing. */
void gauge_init(struct gauge *gauge, struct output *output, bool on);
void gauge_fini(struct gauge *gauge);
/* What memory and context are shown of. Nothing that was shown before is looked at after this returns. */
void gauge_watch(struct gauge *gauge, const ll_engine *engine, const ll_session *session);
void gauge_progress(struct gauge *gauge, const ll_progress *progress);
void gauge_token(struct gauge *gauge);
void gauge_count_anew(struct gauge *gauge);             /* tokens so far were of something else */
void gauge_note(struct gauge *gauge, const char *note); /* static */
/* Shows what it has by now, at once: before text is streamed, so that the gauge stands above it. */
void gauge_show(struct gauge *gauge);
/* The last state, if anything was shown; nothing is after it. */
void gauge_end(struct gauge *gauge);

/* Memory by component, and the context: an object with text/plain, text/html and application/json. */
json_t *gauge_memory_bundle(const ll_engine *engine, const ll_model *model, const ll_session *session);

#endif

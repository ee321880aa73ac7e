/* The gauge of one cell: a display that shows memory, context and speed while the cell works.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One display a cell, updated at most three times a second, and its last state stays; quick work has none.
 * HTML without scripts or outside resources, and one line of plain text. */
#ifndef JUPYTER_KERNEL_GAUGE_H
#define JUPYTER_KERNEL_GAUGE_H

#include "jupyter_kernel/output.h"
#include "longleaf.h"

struct gauge {
    struct output *output; /* NULL: the gauge is off */
    char id[80];
    bool shown;
    double drawn;
    const ll_engine *engine;   /* borrowed; NULL while there is none */
    const ll_session *session; /* borrowed; NULL while there is none */
    ll_phase phase;
    uint64_t done, total;
    struct text label, note; /* what is worked on; what a reader must know, said once */
    double began, phase_began;
    uint64_t phase_first; /* done when the phase began */
    size_t tokens;
    double first_token, last_token; /* seconds on human_clock */
    bool working;
};

/* on false: everything below does nothing. */
void gauge_init(struct gauge *gauge, struct output *output, bool on);
void gauge_fini(struct gauge *gauge);
void gauge_progress(struct gauge *gauge, const ll_progress *progress);
void gauge_token(struct gauge *gauge);
void gauge_note(struct gauge *gauge, const char *note); /* static */
/* Shows what it has by now, at once: before text is streamed, so that the gauge stands above it. */
void gauge_show(struct gauge *gauge);
/* The last state, if anything was shown; nothing is after it. */
void gauge_end(struct gauge *gauge);

/* Memory by component, and the context: an object with text/plain, text/html and application/json. */
json_t *gauge_memory_bundle(const ll_engine *engine, const ll_model *model, const ll_session *session);

#endif

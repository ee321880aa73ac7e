/* The status line of a conversation: what goes on, how full the context is, memory by component.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPL_STATUS_H
#define REPL_STATUS_H

#include "repl/feed.h"
#include "repl/talk.h"

struct status {
    struct talk *talk;
    bool busy;
    struct feed_progress progress;
    size_t decoded_before; /* by the session, when the work began */
    double seconds_before;
    size_t waiting; /* messages typed meanwhile */
    bool styled, unicode;
};

/* One row without a newline, no wider than columns: what does not fit is left out, least important first. */
void status_line(const struct status *status, size_t columns, struct text *out);

#endif

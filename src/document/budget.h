/* The arithmetic of windows and merges: no call can overflow the context, by construction.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All figures are tokens. With C the context, P and Q what stands before and after the text, g a guard
 * for merges at seams, h a child's label: room R = C - P - Q - g; the output s ≤ (R - 2h) / 3, so that
 * two children and one output always fit; a window holds R - s - h, a merge (R - s) / (s + h) children. */
#ifndef DOCUMENT_BUDGET_H
#define DOCUMENT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

enum { BUDGET_LEAST_OUTPUT = 16, BUDGET_GUARD = 16 };

struct budget_request {
    size_t context, prefix, suffix, label, wanted_output;
};

struct budget {
    size_t output;  /* s: most tokens one call may write */
    size_t window;  /* most tokens of text in one call, its label left out */
    size_t fan_out; /* children of one merge, ≥ 2 */
};

/* false: the context is too small, and *ret_needed is the least that would do. */
bool budget_make(const struct budget_request *request, struct budget *ret, size_t *ret_needed);
/* Merges of k children level by level: groups of consecutive children, sizes differing by at most one. */
size_t budget_groups(size_t children, size_t fan_out);
/* The children [first, last) of one group. */
void budget_group(size_t children, size_t groups, size_t group, size_t *ret_first, size_t *ret_last);
/* Levels above the windows and calls made there (a group of one is passed up without a call). */
size_t budget_levels(size_t windows, size_t fan_out, size_t *ret_calls);

#endif

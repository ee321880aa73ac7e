/* From parts to one: a tree of merges, or a running summary, made by the model within the budget.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Children stand in document order, each under its label "[w3 | p. 4-5 | Chapter 2]". Sentences are
 * folded when they say the same, each child is cut to the output cap counted in tokens, and a merge
 * whose sentences do not hold is replaced by the best of its children's. */
#ifndef DOCUMENT_FUSE_H
#define DOCUMENT_FUSE_H

#include "document/summary.h"

/* After map_windows: adds nodes level by level until one is left. */
ll_status fuse_tree(struct summary_job *job);
/* Instead of map_windows: a node for each window, then one node for the running summary. */
ll_status fuse_refine(struct summary_job *job);

#endif

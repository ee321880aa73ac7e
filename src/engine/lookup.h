/* Drafts what a text says next from what it has said before (n-gram lookup).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Drafts are guesses: whoever asks for them verifies each with the model. They cost time when they are wrong,
 * so their length follows how many of the last ones were right, and after wrong ones drafts are left out. */
#ifndef ENGINE_LOOKUP_H
#define ENGINE_LOOKUP_H

#include "longleaf.h"

enum { LOOKUP_MOST = 15 }; /* tokens of a draft */

struct lookup; /* one timeline's; one thread at a time */

/* context: tokens that the timeline may hold. NULL: no memory. */
struct lookup *lookup_open(size_t context);
void lookup_close(struct lookup *lookup);
/* What may follow tokens[0 … count), at most LOOKUP_MOST and `most` tokens; 0: no idea. The timeline only
 * grows from call to call. */
size_t lookup_draft(struct lookup *lookup, const ll_token *tokens, size_t count, size_t most, ll_token *out);
/* So many of a draft's tokens came true. */
void lookup_learn(struct lookup *lookup, size_t drafted, size_t kept);

#endif

/* What reading may cost: bytes, inflated bytes, entries, depth and time, shared by all parts of one call.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_LIMITS_H
#define READERS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "longleaf.h"

struct limits {
    size_t bytes;    /* of one file, and of the text that comes of it */
    size_t inflated; /* unpacked out of archives and packed documents, all together */
    size_t entries;  /* files in folders and members of archives, all together */
    size_t depth;    /* folders in folders, elements in elements, parts in parts */
    double seconds;  /* of one converter or one page */
};

/* max_bytes of the options, 1 GiB when 0; the others follow from it. */
struct limits limits_of(const ll_document_options *options);

/* What is left of the limits while one call goes on. */
struct allowance {
    struct limits limits;
    size_t inflated, entries; /* left */
    bool spent;               /* something was refused: the whole call ends */
};

struct allowance allowance_of(const ll_document_options *options);
/* Each takes its share and says LL_OK, or LL_UNSUPPORTED when nothing is left; name: what asks. */
ll_status allowance_inflate(struct allowance *allowance, size_t bytes, const char *name, ll_error *error);
ll_status allowance_enter(struct allowance *allowance, const char *name, ll_error *error);

#endif

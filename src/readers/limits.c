/* What reading may cost: bytes, inflated bytes, entries, depth and time, shared by all parts of one call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/limits.h"

#include "base/error.h"

enum { DEPTH = 64, ENTRIES = 100000 };

struct limits limits_of(const ll_document_options *options)
{
    size_t bytes = options->max_bytes ? options->max_bytes : (size_t)1 << 30;
    return (struct limits){
        .bytes = bytes, .inflated = bytes, .entries = ENTRIES, .depth = DEPTH, .seconds = 30};
}

struct allowance allowance_of(const ll_document_options *options)
{
    struct limits limits = limits_of(options);
    return (struct allowance){limits, limits.inflated, limits.entries, false};
}

ll_status allowance_inflate(struct allowance *allowance, size_t bytes, const char *name, ll_error *error)
{
    if (bytes > allowance->inflated) {
        allowance->spent = true;
        return error_set(error, LL_UNSUPPORTED, "document",
                         "%s unpacks to more than %zu bytes; raise the limit or unpack a part of it", name,
                         allowance->limits.inflated);
    }
    allowance->inflated -= bytes;
    return LL_OK;
}

ll_status allowance_enter(struct allowance *allowance, const char *name, ll_error *error)
{
    if (allowance->entries == 0) {
        allowance->spent = true;
        return error_set(error, LL_UNSUPPORTED, "document", "%s holds more than %zu files; name a part of it",
                         name, allowance->limits.entries);
    }
    allowance->entries--;
    return LL_OK;
}

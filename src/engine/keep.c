/* Keys and values of a prompt's beginning as bytes, for another prompt that begins so.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/keep.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cache/snapshot.h"
#include "engine/model.h"
#include "model/hparams.h"

struct kept_header {
    uint64_t length, block_tokens, bytes, hash; /* hash: of the keys and values */
};

static ll_status put(void *user, void *bytes, size_t length, ll_error *error)
{
    struct strbuf *out = user;
    strbuf_append(out, bytes, length);
    return out->failed ? error_nomem(error, "batch", length) : LL_OK;
}

bool keep_write(ll_model *model, struct block_pool *pool, const struct block_table *table, int64_t length,
                struct strbuf *out)
{
    struct kept_header header = {.length = (uint64_t)length, .block_tokens = (uint64_t)blocks_tokens(pool)};
    struct block_table first = {0};
    size_t start = out->length;
    int layers = model_hparams(model)->layers;
    ll_error ignored;
    if (!snapshot_bytes(pool, layers, length, blocks_tokens(pool), &header.bytes))
        return false;
    strbuf_append(out, (const char *)&header, sizeof header);
    bool good = block_table_share(pool, table, length, &first, &ignored) == LL_OK &&
                snapshot_write(pool, layers, &first, put, out, &ignored) == LL_OK && !out->failed &&
                out->length == start + sizeof header + header.bytes;
    block_table_fini(pool, &first);
    if (good) {
        header.hash = hash_bytes(out->text + start + sizeof header, header.bytes, header.length);
        memcpy(out->text + start, &header, sizeof header);
    }
    return good;
}

struct reading {
    const char *bytes;
    size_t left;
};

static ll_status get(void *user, void *bytes, size_t length, ll_error *error)
{
    struct reading *r = user;
    if (length > r->left)
        return error_set(error, LL_FORMAT, "batch", "kept keys and values end early");
    memcpy(bytes, r->bytes, length);
    r->bytes += length;
    r->left -= length;
    return LL_OK;
}

bool keep_read(ll_model *model, struct block_pool *pool, const char *bytes, size_t count, int64_t length,
               struct block_table *table)
{
    struct kept_header header;
    int layers = model_hparams(model)->layers;
    uint64_t needed;
    ll_error ignored;
    if (count < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    struct reading reading = {bytes + sizeof header, count - sizeof header};
    if (header.length != (uint64_t)length || header.block_tokens != (uint64_t)blocks_tokens(pool) ||
        !snapshot_bytes(pool, layers, length, blocks_tokens(pool), &needed) || needed != header.bytes ||
        needed != reading.left || header.hash != hash_bytes(reading.bytes, reading.left, header.length))
        return false;
    return snapshot_read(pool, layers, length, blocks_tokens(pool), table, get, &reading, &ignored) ==
           LL_OK;
}

/* 64-bit hashes of bytes for tables and cache keys (xxHash3); not for security.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, length, seed);
}

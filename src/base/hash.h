/* 64-bit hashes of bytes for tables and cache keys (xxHash3); not for security.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed);

#endif

/* A small struct that one thread writes and any thread reads, without a lock.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A reader that meets a writer tries again; a writer never waits. Writers must keep each other out. Words
 * are released and acquired one by one, without fences: who has read a word of a write has seen its odd
 * version. */
#ifndef BASE_PUBLISHED_H
#define BASE_PUBLISHED_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum { PUBLISHED_WORDS = 144 };

struct published {
    atomic_uint_fast64_t version; /* odd while being written */
    atomic_uint_fast64_t words[PUBLISHED_WORDS];
};

/* bytes: at most 8 · PUBLISHED_WORDS. */
static inline void published_write(struct published *p, const void *value, size_t bytes)
{
    uint_fast64_t version = atomic_load_explicit(&p->version, memory_order_relaxed);
    atomic_store_explicit(&p->version, version + 1, memory_order_relaxed);
    for (size_t at = 0, i = 0; at < bytes; at += sizeof(uint64_t), i++) {
        uint64_t word = 0;
        size_t part = bytes - at < sizeof word ? bytes - at : sizeof word;
        memcpy(&word, (const char *)value + at, part);
        atomic_store_explicit(&p->words[i], word, memory_order_release);
    }
    atomic_store_explicit(&p->version, version + 2, memory_order_release);
}

static inline void published_read(const struct published *p, void *value, size_t bytes)
{
    for (;;) {
        uint_fast64_t version = atomic_load_explicit(&p->version, memory_order_acquire);
        for (size_t at = 0, i = 0; at < bytes; at += sizeof(uint64_t), i++) {
            uint64_t word = atomic_load_explicit(&p->words[i], memory_order_acquire);
            size_t part = bytes - at < sizeof word ? bytes - at : sizeof word;
            memcpy((char *)value + at, &word, part);
        }
        if (version % 2 == 0 && atomic_load_explicit(&p->version, memory_order_relaxed) == version)
            return;
    }
}

#endif

/* The table by which a SentencePiece model changes characters before it cuts (NFKC and its like).
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/charsmap.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

/* A rule's head and what it becomes have a few characters (the longest of NFKC becomes 33 bytes); a table
 * may not make a text grow without end, nor walk through it from every byte. */
enum { HEAD_MOST = 128, TEXT_MOST = 255 };

static const char where[] = "tokenizer.ggml.precompiled_charsmap";

static bool texts_end(const char *texts, size_t size)
{
    size_t run = 0;
    for (size_t i = 0; i < size; i++) {
        run = texts[i] ? run + 1 : 0;
        if (run > TEXT_MOST)
            return false;
    }
    return size > 0 && run == 0;
}

ll_status charsmap_open(const unsigned char *bytes, size_t size, struct charsmap *ret, ll_error *error)
{
    uint32_t trie = 0;
    *ret = (struct charsmap){0};
    if (size == 0)
        return LL_OK;
    if (size >= sizeof trie)
        memcpy(&trie, bytes, sizeof trie);
    if (size < sizeof trie || trie == 0 || trie % 4 != 0 || trie > size - sizeof trie)
        return error_set(error, LL_FORMAT, where,
                         "it has %zu bytes and claims %u for its rules; the file is damaged", size, trie);
    const char *texts = (const char *)bytes + sizeof trie + trie;
    size_t text_bytes = size - sizeof trie - trie;
    if (!texts_end(texts, text_bytes))
        return error_set(error, LL_FORMAT, where,
                         "a replacement has no end, or more than %d bytes; the file is damaged", TEXT_MOST);
    *ret = (struct charsmap){bytes + sizeof trie, trie / 4, texts, text_bytes};
    return LL_OK;
}

/* ---- double array ---------------------------------------------------------------------------- */

/* A unit: bits 0 … 7 and 31 the byte that leads to it, bit 8 whether a rule ends there, the others how far
 * its children are; of a leaf: bits 0 … 30 the place of the text. Outside: one that no byte leads to. */
static uint32_t unit_at(const struct charsmap *map, uint32_t place)
{
    uint32_t unit = UINT32_MAX;
    if (place < map->unit_count)
        memcpy(&unit, map->units + (size_t)place * 4, sizeof unit);
    return unit;
}

static uint32_t children_of(uint32_t unit)
{
    return unit >> 10 << ((unit & 1u << 9) >> 6);
}

struct gguf_text charsmap_next(const struct charsmap *map, const char *text, size_t length, size_t *ret_step)
{
    size_t most = length < HEAD_MOST ? length : HEAD_MOST, best = 0;
    uint32_t place = map->unit_count ? children_of(unit_at(map, 0)) : 0, found = 0;
    for (size_t i = 0; i < most && map->unit_count; i++) {
        unsigned char byte = (unsigned char)text[i];
        uint32_t unit = unit_at(map, place ^= byte);
        if (byte == 0 || (unit & (1u << 31 | 0xFF)) != byte)
            break;
        place ^= children_of(unit);
        uint32_t target = unit_at(map, place) & ~(1u << 31);
        if (!(unit & 1u << 8) || target >= map->text_bytes)
            continue;
        best = i + 1;
        found = target;
    }
    if (best) {
        *ret_step = best;
        return (struct gguf_text){map->texts + found, strlen(map->texts + found)};
    }
    utf8_decode(text, length, ret_step);
    return (struct gguf_text){text, *ret_step};
}

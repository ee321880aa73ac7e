/* Finds the name somebody probably meant.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/suggest.h"

#include <stdbool.h>
#include <string.h>

#define NAME_MAX_LENGTH 40

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: insertions, deletions, changes and swaps of neighbours. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_length];
}

void suggest_begin(struct suggestion *suggestion, const char *typed)
{
    *suggestion = (struct suggestion){.typed = typed};
}

void suggest_offer(struct suggestion *suggestion, const char *name)
{
    size_t typed_length = strlen(suggestion->typed), length = strlen(name);
    if (!typed_length || typed_length > NAME_MAX_LENGTH || length > NAME_MAX_LENGTH)
        return;
    size_t limit = 1 + typed_length / 4;
    size_t edits = distance(suggestion->typed, typed_length, name, length);
    /* A beginning is a good guess, too: --temperature for --temp, summarise for sum. */
    size_t common = least(typed_length, length);
    bool begins = common >= (typed_length < length ? 2 : 3) && strncmp(suggestion->typed, name, common) == 0;
    if (begins)
        edits = least(edits, limit);
    if (edits > limit || (!begins && edits >= length) || (suggestion->best && edits >= suggestion->distance))
        return;
    suggestion->best = name;
    suggestion->distance = edits;
}

/* What was executed: this session's cells with their outputs, and those of the shared history file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/past.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "console/history.h"

enum { FILE_SESSION = 1, OWN_SESSION = 2, MOST_BYTES = 16 << 20 };

void past_fini(struct past *past)
{
    for (size_t i = 0; i < past->count; i++) {
        free(past->entries[i].input);
        free(past->entries[i].output);
    }
    free(past->entries);
    *past = (struct past){0};
}

/* The oldest go when all are too much. */
static void make_room(struct past *past, size_t length)
{
    size_t gone = 0;
    while (gone < past->count && past->bytes + length > MOST_BYTES) {
        struct past_entry *entry = &past->entries[gone++];
        past->bytes -= strlen(entry->input);
        free(entry->input);
        free(entry->output);
    }
    if (gone)
        memmove(past->entries, past->entries + gone, (past->count - gone) * sizeof *past->entries);
    past->count -= gone;
}

static bool push(struct past *past, int session, int64_t line, const char *input, size_t length)
{
    if (past->bytes + length > MOST_BYTES)
        make_room(past, length);
    if (past->count == past->capacity) {
        size_t capacity = past->capacity ? 2 * past->capacity : 64;
        struct past_entry *entries = realloc(past->entries, capacity * sizeof *entries);
        if (!entries)
            return false;
        past->entries = entries;
        past->capacity = capacity;
    }
    char *copy = malloc(length + 1);
    if (!copy)
        return false;
    memcpy(copy, input, length);
    copy[length] = '\0';
    past->entries[past->count++] = (struct past_entry){session, line, copy, NULL};
    past->bytes += strlen(copy);
    return true;
}

static void take_line(void *user, const char *entry)
{
    struct past *past = user;
    push(past, FILE_SESSION, (int64_t)past->count + 1, entry, strlen(entry));
}

/* The file stands before this session's cells, so it is read before the first of them. */
static void load(struct past *past)
{
    if (past->loaded)
        return;
    past->loaded = true;
    if (!past->secret)
        history_load(take_line, past);
}

bool past_add(struct past *past, int64_t line, const char *input, size_t length)
{
    load(past);
    if (!push(past, OWN_SESSION, line, input, length))
        return false;
    if (!past->secret && length <= HISTORY_ENTRY_BYTES)
        history_append(past->entries[past->count - 1].input);
    return true;
}

void past_set_output(struct past *past, const struct text *output)
{
    if (past->count && output->length && !past->entries[past->count - 1].output)
        past->entries[past->count - 1].output = strdup(text_string(output));
}

/* ---- answers ---- */

static json_t *row(const struct past_entry *entry, bool with_output)
{
    json_t *input = json_make_string(entry->input);
    if (with_output)
        input = json_pack("[o, o]", input, json_make_string(entry->output));
    return json_pack("[i, I, o]", entry->session, (json_int_t)entry->line, input);
}

static bool seen_later(const struct past *past, size_t index)
{
    for (size_t i = index + 1; i < past->count; i++)
        if (strcmp(past->entries[i].input, past->entries[index].input) == 0)
            return true;
    return false;
}

/* The last n entries that match, in their order. n below 0: all. */
static json_t *latest(const struct past *past, int64_t n, const char *pattern, bool unique, bool with_output)
{
    json_t *rows = json_array();
    for (size_t i = past->count; i > 0 && (n < 0 || (int64_t)json_array_size(rows) < n); i--) {
        const struct past_entry *entry = &past->entries[i - 1];
        if (pattern && fnmatch(pattern, entry->input, 0) != 0)
            continue;
        if (unique && seen_later(past, i - 1))
            continue;
        json_array_insert_new(rows, 0, row(entry, with_output));
    }
    return rows;
}

static json_t *range(const struct past *past, int64_t session, int64_t start, int64_t stop, bool with_output)
{
    json_t *rows = json_array();
    if (session <= 0)
        session += OWN_SESSION; /* 0 is this one, -1 the one before */
    for (size_t i = 0; i < past->count; i++) {
        const struct past_entry *entry = &past->entries[i];
        if (entry->session == session && entry->line >= start && (stop < 0 || entry->line < stop))
            json_array_append_new(rows, row(entry, with_output));
    }
    return rows;
}

json_t *past_answer(struct past *past, const json_t *request)
{
    const char *type = json_get_string(request, "hist_access_type", NULL);
    bool output = json_get_bool(request, "output", false), unique = json_get_bool(request, "unique", false);
    int64_t n = json_get_integer(request, "n", -1);
    json_t *rows;
    load(past);
    if (type && strcmp(type, "range") == 0)
        rows = range(past, json_get_integer(request, "session", 0), json_get_integer(request, "start", 0),
                     json_get_integer(request, "stop", -1), output);
    else if (type && strcmp(type, "search") == 0) {
        const char *pattern = json_get_string(request, "pattern", NULL);
        rows = latest(past, n, pattern ? pattern : "*", unique, output);
    } else
        rows = latest(past, n < 0 ? 1000 : n, NULL, unique, output);
    return json_pack("{s:s, s:o}", "status", "ok", "history", rows);
}

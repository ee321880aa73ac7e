/* Pasted text: kept aside whole, with a short mark standing for it in the line being edited.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/paste.h"

#include <stdlib.h>
#include <string.h>

#include "console/human.h"

static void mark_of(const struct pastes *pastes, size_t index, struct text *mark)
{
    const struct text *paste = &pastes->texts[index];
    size_t lines = 1;
    for (size_t i = 0; i < paste->length; i++)
        lines += paste->bytes[i] == '\n';
    text_printf(mark, "[paste %zu: %s %s, %s bytes]", index + 1, human_count(lines).text,
                lines == 1 ? "line" : "lines", human_count(paste->length).text);
}

/* Terminals send a carriage return for each line's end. */
static void append_byte(struct text *paste, char byte, bool *after_return)
{
    if (byte == '\n' && *after_return) {
        *after_return = false;
        return;
    }
    *after_return = byte == '\r';
    text_putc(paste, byte == '\r' ? '\n' : byte);
}

static bool collect(struct bytes *bytes, struct text *paste)
{
    bool after_return = false;
    for (;;) {
        int byte = bytes_next(bytes);
        if (byte < 0)
            return byte == BYTES_END;
        if (byte == '\033' && bytes_match(bytes, "[201~")) {
            bytes_skip(bytes, 5);
            return !paste->failed;
        }
        append_byte(paste, (char)byte, &after_return);
    }
}

static bool is_plain(const struct text *paste)
{
    for (size_t i = 0; i < paste->length; i++)
        if ((unsigned char)paste->bytes[i] < 0x20 || paste->bytes[i] == 0x7F)
            return false;
    return paste->length <= 400;
}

bool paste_read(struct pastes *pastes, struct bytes *bytes, struct text *shown)
{
    struct text paste = {0};
    bool ok = collect(bytes, &paste);
    if (!ok || is_plain(&paste)) {
        text_puts(shown, ok ? text_string(&paste) : "");
        text_fini(&paste);
        return ok;
    }
    struct text *texts = realloc(pastes->texts, (pastes->count + 1) * sizeof *texts);
    if (!texts) {
        text_fini(&paste);
        return false;
    }
    pastes->texts = texts;
    texts[pastes->count++] = paste;
    mark_of(pastes, pastes->count - 1, shown);
    return true;
}

void paste_expand(const struct pastes *pastes, const char *line, struct text *out)
{
    while (*line) {
        bool found = false;
        for (size_t i = 0; *line == '[' && i < pastes->count && !found; i++) {
            struct text mark = {0};
            mark_of(pastes, i, &mark);
            found = mark.length && strncmp(line, text_string(&mark), mark.length) == 0;
            if (found) {
                text_append(out, pastes->texts[i].bytes, pastes->texts[i].length);
                line += mark.length;
            }
            text_fini(&mark);
        }
        if (!found)
            text_putc(out, *line++);
    }
}

void pastes_clear(struct pastes *pastes)
{
    for (size_t i = 0; i < pastes->count; i++)
        text_fini(&pastes->texts[i]);
    free(pastes->texts);
    *pastes = (struct pastes){0};
}

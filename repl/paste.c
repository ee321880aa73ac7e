/* Pasted text: kept aside whole, with a short note standing for it in the line being edited.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/paste.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/human.h"

static const struct paste *note_taken(const struct pastes *pastes, const char *note)
{
    for (size_t i = 0; i < pastes->count; i++)
        if (strcmp(pastes->pastes[i].note, note) == 0)
            return &pastes->pastes[i];
    return NULL;
}

/* Each note stands for one text: a second one of the same size gets a number. */
static void write_note(const struct pastes *pastes, const struct text *text, char note[160])
{
    size_t lines = 1, tokens = SIZE_MAX;
    for (size_t i = 0; i + 1 < text->length; i++)
        lines += text->bytes[i] == '\n';
    if (pastes->count_tokens)
        tokens = pastes->count_tokens(pastes->user, text->bytes, text->length);
    for (unsigned number = 1; number == 1 || note_taken(pastes, note); number++) {
        char again[32] = "";
        if (number > 1)
            snprintf(again, sizeof again, ", no. %u", number);
        snprintf(note, 160, "[%s %s, %s %s%s]", human_count(lines).text, lines == 1 ? "line" : "lines",
                 human_count(tokens == SIZE_MAX ? text->length : tokens).text,
                 tokens == SIZE_MAX ? "bytes" : "tokens", again);
    }
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

bool paste_keep(struct pastes *pastes, struct text *text, struct text *shown)
{
    struct paste *grown = text->failed ? NULL : realloc(pastes->pastes, (pastes->count + 1) * sizeof *grown);
    if (!grown) {
        text_fini(text);
        return false;
    }
    pastes->pastes = grown;
    struct paste paste = {.text = *text};
    write_note(pastes, text, paste.note);
    text_puts(shown, paste.note);
    grown[pastes->count++] = paste;
    *text = (struct text){0};
    return true;
}

bool paste_read(struct pastes *pastes, struct bytes *bytes, struct text *shown)
{
    struct text paste = {0};
    bool ok = collect(bytes, &paste);
    if (ok && !is_plain(&paste))
        return paste_keep(pastes, &paste, shown);
    text_puts(shown, ok ? text_string(&paste) : "");
    text_fini(&paste);
    return ok;
}

size_t paste_expand(const struct pastes *pastes, const char *line, struct text *out)
{
    size_t found = 0;
    while (*line) {
        const struct paste *paste = NULL;
        for (size_t i = 0; *line == '[' && i < pastes->count && !paste; i++)
            if (strncmp(line, pastes->pastes[i].note, strlen(pastes->pastes[i].note)) == 0)
                paste = &pastes->pastes[i];
        if (paste) {
            text_append(out, paste->text.bytes, paste->text.length);
            line += strlen(paste->note);
            found++;
        } else {
            text_putc(out, *line++);
        }
    }
    return found;
}

size_t paste_note_before(const struct pastes *pastes, const char *string, size_t length)
{
    for (size_t i = 0; i < pastes->count; i++) {
        size_t size = strlen(pastes->pastes[i].note);
        if (size <= length && memcmp(string + length - size, pastes->pastes[i].note, size) == 0)
            return size;
    }
    return 0;
}

void pastes_clear(struct pastes *pastes)
{
    for (size_t i = 0; i < pastes->count; i++)
        text_fini(&pastes->pastes[i].text);
    free(pastes->pastes);
    pastes->pastes = NULL;
    pastes->count = 0;
}

/* Opens documents by the settings, and says what a person must know of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/documents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/say.h"

/* The first line of --password-file, else $LONGLEAF_PASSWORD; never from the command line, which
 * every user of the machine can read. */
static bool read_password(const struct program *program, struct text *password)
{
    const char *path = settings_text(&program->settings, OPTION_PASSWORD_FILE);
    const char *variable = getenv("LONGLEAF_PASSWORD");
    if (!path) {
        if (variable)
            text_puts(password, variable);
        return true;
    }
    char line[1024];
    FILE *file = fopen(path, "re");
    if (!file || !fgets(line, sizeof line, file)) {
        say_error("%s: %s", path, file ? "the password file is empty" : strerror(errno));
        if (file)
            fclose(file);
        return false;
    }
    fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    text_puts(password, line);
    return true;
}

int documents_read(struct program *program, const char *const *paths, size_t count, ll_document **ret)
{
    struct text password = {0};
    if (!read_password(program, &password))
        return LEAVE_DOCUMENT;
    ll_document_options options;
    ll_document_options_init(&options);
    options.kind = settings_text(&program->settings, OPTION_KIND);
    options.encoding = settings_text(&program->settings, OPTION_ENCODING);
    options.ocr = settings_text(&program->settings, OPTION_OCR);
    options.password = password.length ? text_string(&password) : NULL;
    ll_run run = program_run(program);
    ll_error error = {0};
    ll_status status = ll_document_open(paths, count, &options, &run, ret, &error);
    text_fini(&password);
    meter_clear(&program->meter);
    return status == LL_OK ? LEAVE_OK : program_fail(program, CONCERN_DOCUMENT, &error);
}

int documents_open(struct program *program, const char *const *paths, size_t count, ll_document **ret)
{
    int code = documents_read(program, paths, count, ret);
    if (code)
        return code;
    for (size_t i = 0; i < ll_document_note_count(*ret); i++)
        say_note("%s", ll_document_note(*ret, i));
    return LEAVE_OK;
}

json_t *documents_notes(const ll_document *document)
{
    json_t *notes = json_array();
    for (size_t i = 0; i < ll_document_note_count(document); i++) {
        const char *note = ll_document_note(document, i);
        json_array_append_new(notes, json_make_text(note, strlen(note)));
    }
    return notes;
}

int documents_covered(const ll_document *document)
{
    ll_document_info info;
    return ll_document_get_info(document, &info) == LL_OK && (info.unread_pages || info.skipped)
               ? LEAVE_UNCOVERED
               : LEAVE_OK;
}

/* Opens what a person names: files, standard input, pipes; content decides how it is read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/utf8.h"
#include "readers/encoding.h"
#include "readers/pdf.h"

enum { LEAST_PAGE = 32 /* bytes; a text with shorter "pages" does not mean pages by its form feeds */ };

struct source {
    const char *path;
    const ll_document_options *options;
    const ll_run *run;
    const ll_cancel *cancel;
    struct reading *reading;
    ll_error *error;
    int fd;
    struct stat info;
    struct strbuf bytes;
};

void reading_fini(struct reading *reading)
{
    strbuf_fini(&reading->text);
    strbuf_fini(&reading->title);
    page_list_fini(&reading->pages);
}

static void report(const struct source *source, uint64_t done, uint64_t total)
{
    ll_progress progress = {LL_READING, done, total, source->reading->name};
    if (source->run && source->run->on_progress)
        source->run->on_progress(source->run->user, &progress);
}

static size_t most_bytes(const ll_document_options *options)
{
    return options->max_bytes ? options->max_bytes : (size_t)1 << 30;
}

/* ---- opening and reading --------------------------------------------------------------------- */

/* Non-blocking, so that a FIFO nobody writes to waits in poll, where cancel is seen. */
static ll_status open_source(struct source *source)
{
    const char *path = source->path;
    bool standard = strcmp(path, "-") == 0;
    source->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                          : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (source->fd < 0 || fstat(source->fd, &source->info) != 0)
        return error_errno(source->error, "document", standard ? "standard input" : path, errno);
    if (S_ISDIR(source->info.st_mode))
        return error_set(source->error, LL_ARGUMENT, "document", "%s is a directory; name the files in it",
                         source->reading->name);
    if (S_ISBLK(source->info.st_mode))
        return error_set(source->error, LL_ARGUMENT, "document", "%s is a disk, not a document",
                         source->reading->name);
    return LL_OK;
}

static ll_status wait_readable(const struct source *source)
{
    struct pollfd poll_fd = {.fd = source->fd, .events = POLLIN};
    while (!cancel_requested(source->cancel)) {
        int ready = poll(&poll_fd, 1, 50);
        if (ready > 0)
            return LL_OK;
        if (ready < 0 && errno != EINTR)
            return error_errno(source->error, "document", source->reading->name, errno);
    }
    return error_set(source->error, LL_CANCELLED, "document", "reading %s was cancelled",
                     source->reading->name);
}

static ll_status read_bytes(struct source *source, size_t limit)
{
    char block[65536];
    size_t most = most_bytes(source->options);
    while (source->bytes.length < limit) {
        LL_TRY(wait_readable(source));
        ssize_t got = read(source->fd, block, sizeof block);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return error_errno(source->error, "document", source->reading->name, errno);
        if (got == 0)
            break;
        strbuf_append(&source->bytes, block, (size_t)got);
        if (source->bytes.failed)
            return error_nomem(source->error, "document", source->bytes.length);
        if (source->bytes.length > most)
            return error_set(source->error, LL_UNSUPPORTED, "document",
                             "%s holds more than %zu bytes; raise the limit or split it: nothing is ever cut",
                             source->reading->name, most);
        if (source->bytes.length % (1u << 22) < (size_t)got)
            report(source, source->bytes.length,
                   (uint64_t)(source->info.st_size > 0 ? source->info.st_size : 0));
    }
    return LL_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void spell_form_feeds(struct strbuf *text)
{
    for (size_t i = 0; i < text->length; i++)
        if (text->text[i] == '\f')
            text->text[i] = '\n';
}

static bool has_pages(const struct strbuf *text)
{
    size_t feeds = 0;
    for (size_t i = 0; i + 1 < text->length; i++)
        feeds += text->text[i] == '\f';
    return feeds >= 1 && text->length / (feeds + 1) >= LEAST_PAGE;
}

static bool is_blank(const struct strbuf *text)
{
    for (size_t i = 0, step; i < text->length; i += step) {
        int32_t code = utf8_decode(text->text + i, text->length - i, &step);
        if (code != ' ' && (code < '\t' || code > '\r') && code != 0xA0 && code != 0xFEFF && code != 0x200B &&
            code != 0x3000)
            return false;
    }
    return true;
}

static void note_markup(const struct reading *reading)
{
    const char *text = strbuf_text(&reading->text);
    text += strspn(text, " \t\n");
    if (strncmp(text, "<!DOCTYPE html", 14) == 0 || strncmp(text, "<!doctype html", 14) == 0 ||
        strncmp(text, "<html", 5) == 0 || strncmp(text, "<?xml", 5) == 0)
        notes_add(reading->notes, "%s is HTML or XML and was read with its tags", reading->name);
}

static ll_status make_text(const struct source *source, enum kind wanted)
{
    struct reading *reading = source->reading;
    struct strbuf decoded = {0};
    ll_status status = encoding_decode(strbuf_text(&source->bytes), source->bytes.length,
                                       source->options->encoding, reading->name, source->cancel, &decoded,
                                       reading->encoding, reading->notes, source->error);
    reading->source_bytes = source->bytes.length;
    if (status == LL_OK && is_blank(&decoded))
        status = error_set(source->error, LL_UNREADABLE, "document", "%s %s: there is nothing to read",
                           reading->name, source->bytes.length ? "holds only blanks" : "is empty");
    if (status == LL_OK && has_pages(&decoded)) {
        status = pages_clean(decoded.text, decoded.length, false, source->cancel, &reading->text,
                             &reading->pages, source->error);
    } else if (status == LL_OK) {
        spell_form_feeds(&decoded);
        reading->text = decoded;
        decoded = (struct strbuf){0};
    }
    strbuf_fini(&decoded);
    LL_TRY(status);
    reading->kind = wanted != KIND_OTHER                                                  ? wanted
                    : kind_is_markdown(strbuf_text(&reading->text), reading->text.length) ? KIND_MARKDOWN
                                                                                          : KIND_TEXT;
    note_markup(reading);
    return LL_OK;
}

/* ---- PDF ------------------------------------------------------------------------------------- */

/* What came through a pipe is put into a nameless temporary file, for a PDF must be read at random. */
static ll_status make_seekable(struct source *source)
{
    const char *folder = getenv("TMPDIR");
    struct strbuf name = {0};
    strbuf_printf(&name, "%s/longleaf.XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = name.failed ? -1 : mkstemp(name.text);
    if (fd < 0) {
        ll_status status =
            error_errno(source->error, "document", strbuf_text(&name), name.failed ? ENOMEM : errno);
        strbuf_fini(&name);
        return status;
    }
    unlink(name.text);
    strbuf_fini(&name);
    close(source->fd);
    source->fd = fd;
    for (size_t done = 0; done < source->bytes.length;) {
        ssize_t wrote = write(fd, source->bytes.text + done, source->bytes.length - done);
        if (wrote < 0 && errno != EINTR)
            return error_errno(source->error, "document", "the temporary file", errno);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return LL_OK;
}

static ll_status make_pdf(struct source *source)
{
    struct reading *reading = source->reading;
    size_t most = most_bytes(source->options);
    bool regular = S_ISREG(source->info.st_mode);
    if (!regular) {
        LL_TRY(read_bytes(source, SIZE_MAX));
        LL_TRY(make_seekable(source));
    }
    reading->source_bytes = regular ? (uint64_t)source->info.st_size : source->bytes.length;
    if (reading->source_bytes > most)
        return error_set(source->error, LL_UNSUPPORTED, "document",
                         "%s holds more than %zu bytes; raise the limit or split it: nothing is ever cut",
                         reading->name, most);
    reading->kind = KIND_PDF;
    return pdf_read(source->fd, reading->source_bytes, source->options, most, source->cancel, reading,
                    source->error);
}

/* ---- both ------------------------------------------------------------------------------------ */

static ll_status read_by_kind(struct source *source)
{
    enum kind kind = KIND_OTHER, found;
    const char *other = NULL;
    LL_TRY(open_source(source));
    LL_TRY(read_bytes(source, 1024));
    found = kind_of_bytes(strbuf_text(&source->bytes), source->bytes.length, &other);
    if (source->options->kind && !kind_from_name(source->options->kind, &kind))
        return error_set(source->error, LL_ARGUMENT, "document",
                         "\"%.40s\" is no kind of document; use text, markdown or pdf",
                         source->options->kind);
    if (kind == KIND_PDF || (!source->options->kind && found == KIND_PDF))
        return make_pdf(source);
    if (!source->options->kind && found == KIND_OTHER)
        return error_set(source->error, LL_UNREADABLE, "document",
                         "%s is %s, which cannot be read yet: give text, Markdown or PDF",
                         source->reading->name, other);
    LL_TRY(read_bytes(source, SIZE_MAX));
    return make_text(source, kind);
}

ll_status source_read(const char *path, const ll_document_options *options, const ll_run *run,
                      struct reading *reading, ll_error *error)
{
    struct source source = {.path = path,
                            .options = options,
                            .run = run,
                            .cancel = run ? run->cancel : NULL,
                            .reading = reading,
                            .error = error,
                            .fd = -1};
    utf8_printable(path, strlen(path), reading->name, sizeof reading->name);
    if (strcmp(path, "-") == 0)
        snprintf(reading->name, sizeof reading->name, "standard input");
    ll_status status = read_by_kind(&source);
    if (source.fd >= 0)
        close(source.fd);
    strbuf_fini(&source.bytes);
    if (status == LL_OK)
        report(&source, reading->source_bytes, reading->source_bytes);
    return status;
}

ll_status source_read_text(const char *bytes, size_t length, const ll_document_options *options,
                           const ll_run *run, struct reading *reading, ll_error *error)
{
    struct source source = {.options = options,
                            .run = run,
                            .cancel = run ? run->cancel : NULL,
                            .reading = reading,
                            .error = error,
                            .fd = -1};
    enum kind kind = KIND_OTHER;
    snprintf(reading->name, sizeof reading->name, "the text given");
    if (options->kind && (!kind_from_name(options->kind, &kind) || kind == KIND_PDF))
        return error_set(error, LL_ARGUMENT, "document",
                         "text in memory is of kind text or markdown, not \"%.40s\"", options->kind);
    if (length > most_bytes(options))
        return error_set(error, LL_UNSUPPORTED, "document", "the text holds more than %zu bytes",
                         most_bytes(options));
    strbuf_append(&source.bytes, bytes, length);
    ll_status status =
        source.bytes.failed ? error_nomem(error, "document", length) : make_text(&source, kind);
    strbuf_fini(&source.bytes);
    return status;
}

/* Opens what a person names: files, folders, archives, standard input, pipes; content decides the reader.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/utf8.h"
#include "readers/archive.h"
#include "readers/encoding.h"
#include "readers/package.h"
#include "readers/reader.h"
#include "readers/temporary.h"
#include "readers/tree.h"

enum { LOOK = 4096 /* bytes that tell a PDF or an archive */ };

struct source {
    struct source_call *call;
    const char *path;
    const ll_cancel *cancel;
    struct sieve *sieve; /* NULL: a file named by itself */
    struct reading reading;
    ll_error *error;
    int fd;
    bool own_fd;
    struct stat info;
    struct strbuf bytes;
};

static void report(const struct source *source, uint64_t done, uint64_t total)
{
    const ll_run *run = source->call->run;
    ll_progress progress = {LL_READING, done, total, source->reading.name};
    if (run && run->on_progress)
        run->on_progress(run->user, &progress);
}

/* ---- opening and reading --------------------------------------------------------------------- */

/* Non-blocking, so that a FIFO nobody writes to waits in poll, where cancel is seen. */
static ll_status open_source(struct source *source)
{
    const char *path = source->path;
    bool standard = strcmp(path, "-") == 0;
    source->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                          : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    source->own_fd = true;
    if (source->fd < 0 || fstat(source->fd, &source->info) != 0)
        return error_errno(source->error, "document", standard ? "standard input" : path, errno);
    if (S_ISBLK(source->info.st_mode))
        return error_set(source->error, LL_ARGUMENT, "document", "%s is a disk, not a document",
                         source->reading.name);
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
            return error_errno(source->error, "document", source->reading.name, errno);
    }
    return error_set(source->error, LL_CANCELLED, "document", "reading %s was cancelled",
                     source->reading.name);
}

static ll_status refuse_size(const struct source *source)
{
    return error_set(source->error, LL_UNSUPPORTED, "document",
                     "%s holds more than %zu bytes; raise the limit or split it: nothing is ever cut",
                     source->reading.name, source->call->allowance.limits.bytes);
}

static ll_status read_bytes(struct source *source, size_t limit)
{
    char block[8192]; /* stacks may be small */
    size_t most = source->call->allowance.limits.bytes;
    while (source->fd >= 0 && source->bytes.length < limit) {
        LL_TRY(wait_readable(source));
        ssize_t got = read(source->fd, block, sizeof block);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return error_errno(source->error, "document", source->reading.name, errno);
        if (got == 0)
            break;
        strbuf_append(&source->bytes, block, (size_t)got);
        if (source->bytes.failed)
            return error_nomem(source->error, "document", source->bytes.length);
        if (source->bytes.length > most)
            return refuse_size(source);
        if (source->bytes.length % (1u << 22) < (size_t)got)
            report(source, source->bytes.length,
                   (uint64_t)(source->info.st_size > 0 ? source->info.st_size : 0));
    }
    return LL_OK;
}

/* The file is read once; that somebody wrote to it meanwhile can only be told. */
static void note_changes(const struct source *source)
{
    struct stat now;
    if (source->fd < 0 || !S_ISREG(source->info.st_mode) || fstat(source->fd, &now) != 0)
        return;
    if (now.st_size != source->info.st_size || now.st_mtim.tv_sec != source->info.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != source->info.st_mtim.tv_nsec)
        notes_add(source->call->notes, "%s changed while it was read", source->reading.name);
}

/* ---- PDF ------------------------------------------------------------------------------------- */

/* A PDF must be read at random, which a pipe cannot be. */
static ll_status make_seekable(struct source *source)
{
    int fd;
    LL_TRY(temporary_make(strbuf_text(&source->bytes), source->bytes.length, &fd, source->error));
    if (source->own_fd && source->fd >= 0)
        close(source->fd);
    source->fd = fd;
    source->own_fd = true;
    return LL_OK;
}

static ll_status prepare_pdf(struct source *source, struct input *input)
{
    bool regular = source->fd >= 0 && S_ISREG(source->info.st_mode);
    if (!regular) {
        LL_TRY(read_bytes(source, SIZE_MAX));
        LL_TRY(make_seekable(source));
    }
    input->fd = source->fd;
    input->size = regular ? (uint64_t)source->info.st_size : source->bytes.length;
    return input->size > input->allowance->limits.bytes ? refuse_size(source) : LL_OK;
}

/* ---- what it is ------------------------------------------------------------------------------ */

static ll_status refuse_kind(const struct source *source, const char *what)
{
    return error_set(
        source->error, LL_UNREADABLE, "document",
        "%s is %s, which cannot be read: give text, Markdown, HTML, PDF, DOCX, ODT, EPUB, PPTX, a "
        "notebook, mail, CSV, JSON or an archive of these",
        source->reading.name, what);
}

static ll_status forced_kind(const struct source *source, enum kind *ret)
{
    const char *name = source->call->options->kind;
    *ret = KIND_OTHER;
    if (!name || source->sieve || kind_from_name(name, ret))
        return LL_OK;
    return error_set(source->error, LL_ARGUMENT, "document",
                     "\"%.40s\" is no kind of document; longleaf help text lists them", name);
}

/* UTF-16 is told by its zero bytes; all other texts are looked at as they are. */
static ll_status kind_of_source(struct source *source, struct input *input, enum kind *ret)
{
    const char *other = NULL, *bytes = strbuf_text(&source->bytes);
    *ret = kind_of_bytes(bytes, source->bytes.length, &other);
    if (*ret == KIND_PDF)
        return LL_OK;
    if (*ret == KIND_OTHER) {
        if (source->sieve)
            source->sieve->binaries++;
        return source->sieve ? LL_NOT_FOUND : refuse_kind(source, other);
    }
    LL_TRY(read_bytes(source, SIZE_MAX));
    input->bytes = bytes = strbuf_text(&source->bytes);
    input->length = source->bytes.length;
    if (*ret == KIND_ARCHIVE) {
        if (memcmp(bytes, "PK", 2) == 0)
            LL_TRY(package_kind(input, ret, &other));
        if (*ret == KIND_OTHER)
            return refuse_kind(source, other);
        if (*ret == KIND_ARCHIVE && source->sieve) {
            source->sieve->archives++;
            return LL_NOT_FOUND;
        }
        return LL_OK;
    }
    if (source->sieve &&
        (sieve_is_lock(source->path) || sieve_is_minified(source->path, bytes, input->length))) {
        *(sieve_is_lock(source->path) ? &source->sieve->locks : &source->sieve->minified) += 1;
        return LL_NOT_FOUND;
    }
    if (source->sieve && encoding_looks_binary(bytes, input->length < 65536 ? input->length : 65536)) {
        source->sieve->binaries++;
        return LL_NOT_FOUND;
    }
    *ret = kind_of_text(bytes, input->length, source->path);
    return LL_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

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

static ll_status run_reader(struct source *source, struct input *input)
{
    struct reading *reading = &source->reading;
    reading->source_bytes = reading->kind == KIND_PDF ? input->size : input->length;
    LL_TRY(reader_of(reading->kind)(input));
    if (!is_blank(&reading->text))
        return LL_OK;
    if (source->sieve)
        return LL_NOT_FOUND;
    return error_set(source->error, LL_UNREADABLE, "document", "%s %s: there is nothing to read",
                     reading->name,
                     input->length == 0 && reading->kind != KIND_PDF ? "is empty" : "holds only blanks");
}

static ll_status read_by_kind(struct source *source)
{
    struct source_call *call = source->call;
    struct reading *reading = &source->reading;
    struct input input = {.fd = -1,
                          .options = call->options,
                          .allowance = &call->allowance,
                          .cancel = source->cancel,
                          .reading = reading,
                          .error = source->error};
    enum kind forced;
    LL_TRY(forced_kind(source, &forced));
    LL_TRY(read_bytes(source, LOOK));
    reading->kind = forced;
    if (forced == KIND_OTHER)
        LL_TRY(kind_of_source(source, &input, &reading->kind));
    if (reading->kind == KIND_PDF)
        LL_TRY(prepare_pdf(source, &input));
    else
        LL_TRY(read_bytes(source, SIZE_MAX));
    if (!reading->encoding[0])
        snprintf(reading->encoding, sizeof reading->encoding, "UTF-8");
    input.bytes = strbuf_text(&source->bytes);
    input.length = source->bytes.length;
    if (reading->kind == KIND_ARCHIVE)
        return archive_read_all(call, &input, source->path);
    LL_TRY(run_reader(source, &input));
    note_changes(source);
    report(source, reading->source_bytes, reading->source_bytes);
    LL_TRY(call->take(call->user, reading, source->error));
    call->taken++;
    call->skipped += reading->skipped;
    return LL_OK;
}

static void source_fini(struct source *source)
{
    if (source->fd >= 0 && source->own_fd)
        close(source->fd);
    strbuf_fini(&source->bytes);
    reading_fini(&source->reading);
}

ll_status source_read(struct source_call *call, const char *path, ll_error *error)
{
    struct source source = {.call = call,
                            .path = path,
                            .cancel = call->run ? call->run->cancel : NULL,
                            .reading = {.notes = call->notes},
                            .error = error,
                            .fd = -1};
    utf8_printable(path, strlen(path), source.reading.name, sizeof source.reading.name);
    if (strcmp(path, "-") == 0)
        snprintf(source.reading.name, sizeof source.reading.name, "standard input");
    ll_status status = open_source(&source);
    if (status == LL_OK && S_ISDIR(source.info.st_mode))
        status = tree_read(call, source.fd, path, error);
    else if (status == LL_OK)
        status = read_by_kind(&source);
    source_fini(&source);
    return status;
}

ll_status source_read_text(struct source_call *call, const char *bytes, size_t length, ll_error *error)
{
    struct source source = {.call = call,
                            .path = "",
                            .cancel = call->run ? call->run->cancel : NULL,
                            .reading = {.notes = call->notes},
                            .error = error,
                            .fd = -1};
    struct reading *reading = &source.reading;
    struct input input = {bytes,         length,  -1,   0, call->options, &call->allowance,
                          source.cancel, reading, error};
    enum kind kind;
    snprintf(reading->name, sizeof reading->name, "the text given");
    LL_TRY(forced_kind(&source, &kind));
    if (kind != KIND_OTHER && kind != KIND_TEXT && kind != KIND_MARKDOWN)
        return error_set(error, LL_ARGUMENT, "document",
                         "text in memory is of kind text or markdown, not \"%.40s\"", call->options->kind);
    if (length > call->allowance.limits.bytes)
        return error_set(error, LL_UNSUPPORTED, "document", "the text holds more than %zu bytes",
                         call->allowance.limits.bytes);
    bool guess = kind == KIND_OTHER;
    reading->kind = guess ? KIND_TEXT : kind;
    ll_status status = run_reader(&source, &input);
    if (status == LL_OK && guess && kind_is_markdown(strbuf_text(&reading->text), reading->text.length))
        reading->kind = KIND_MARKDOWN;
    if (status == LL_OK)
        status = call->take(call->user, reading, error);
    source_fini(&source);
    return status;
}

ll_status source_read_member(struct source_call *call, const struct source_member *member, ll_error *error)
{
    ll_error reason = {0};
    struct source source = {.call = call,
                            .path = member->name,
                            .cancel = call->run ? call->run->cancel : NULL,
                            .sieve = member->sieve,
                            .reading = {.notes = call->notes},
                            .error = &reason,
                            .fd = member->fd};
    utf8_printable(member->name, strlen(member->name), source.reading.name, sizeof source.reading.name);
    if (member->info)
        source.info = *member->info;
    if (member->fd < 0)
        strbuf_append(&source.bytes, member->bytes, member->length);
    ll_status status =
        source.bytes.failed ? error_nomem(&reason, "document", member->length) : read_by_kind(&source);
    bool fatal = status == LL_NOMEM || status == LL_CANCELLED || call->allowance.spent;
    if (status != LL_OK && status != LL_NOT_FOUND && fatal) {
        if (error)
            *error = reason;
    } else if (status != LL_OK && status != LL_NOT_FOUND) {
        sieve_skip(member->sieve, source.reading.name, reason.text, call->notes);
        call->skipped++;
        status = LL_OK;
    }
    source_fini(&source);
    return status == LL_NOT_FOUND ? LL_OK : status;
}

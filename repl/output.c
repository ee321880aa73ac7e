/* The answer's way out: standard output, or a file that appears whole or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "repl/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/escape.h"

/* A file without a name in the target's folder: whatever ends the program, nothing is left lying there.
 * -1 where the file system has none, or /proc is not there to name it by. */
static int open_nameless(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct text folder = {0};
    text_append(&folder, slash ? path : ".", slash && slash > path ? (size_t)(slash - path) : 1);
    int fd = folder.failed || access("/proc/self/fd", X_OK) != 0
                 ? -1
                 : open(text_string(&folder), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    text_fini(&folder);
    return fd;
}

static bool name_nameless(const struct output *output)
{
    char self[64];
    char *name = output->temporary.bytes, *end = name + output->temporary.length - 6;
    snprintf(self, sizeof self, "/proc/self/fd/%d", output->fd);
    for (unsigned i = 0; i < 1000000; i++) {
        snprintf(end, 7, "%06u", i);
        if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

/* A name beside the target, so that rename stays on one file system. */
static bool open_beside(struct output *output, const char *path)
{
    char *real = realpath(path, NULL); /* through links: the file behind them is replaced */
    text_puts(&output->path, real ? real : path);
    free(real);
    text_printf(&output->temporary, "%s.XXXXXX", text_string(&output->path));
    if (output->path.failed || output->temporary.failed) {
        errno = ENOMEM;
        return false;
    }
    output->fd = open_nameless(text_string(&output->path));
    output->nameless = output->fd >= 0;
    if (!output->nameless)
        output->fd = mkstemp(output->temporary.bytes);
    if (output->fd < 0)
        return false;
    fcntl(output->fd, F_SETFD, FD_CLOEXEC);
    struct stat old;
    mode_t mask = umask(0);
    umask(mask);
    fchmod(output->fd, stat(text_string(&output->path), &old) == 0 ? old.st_mode & 0777 : 0666 & ~mask);
    return true;
}

/* /dev/stdout may be a regular file that a shell goes on writing to: replacing it would lose that. */
static int standard_descriptor(const struct stat *about)
{
    struct stat ours;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &ours) == 0 && ours.st_dev == about->st_dev && ours.st_ino == about->st_ino)
            return fd;
    return -1;
}

bool output_open(struct output *output, const char *path)
{
    *output = (struct output){.fd = STDOUT_FILENO, .last = '\n'};
    struct stat about;
    bool exists = path && strcmp(path, "-") != 0 && stat(path, &about) == 0;
    int standard = exists ? standard_descriptor(&about) : -1;
    if (path && strcmp(path, "-") == 0) {
        path = NULL;
    } else if (standard >= 0) {
        output->fd = fcntl(standard, F_DUPFD_CLOEXEC, 3);
        text_puts(&output->path, path);
        if (output->fd < 0)
            return false;
    } else if (exists && !S_ISREG(about.st_mode)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC); /* a device or pipe takes bytes as they come */
        text_puts(&output->path, path);
        if (output->fd < 0)
            return false;
    } else if (path && !open_beside(output, path)) {
        return false;
    }
    output->terminal = isatty(output->fd);
    return true;
}

void output_write(struct output *output, const char *bytes, size_t length)
{
    if (!length || output->failure)
        return;
    if (output->sink) {
        output->sink(output->sink_user, output->prose, bytes, length);
        output->last = bytes[length - 1];
        return;
    }
    if (output->terminal)
        escape_append(&output->buffer, bytes, length);
    else
        text_append(&output->buffer, bytes, length);
    output->last = bytes[length - 1];
    if (output->buffer.failed)
        output->failure = ENOMEM;
    if (output->buffer.length > 1 << 16)
        output_flush(output);
}

void output_puts(struct output *output, const char *string)
{
    output_write(output, string, strlen(string));
}

void output_printf(struct output *output, const char *format, ...)
{
    va_list list;
    char *line = NULL;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length >= 0)
        line = malloc((size_t)length + 1);
    if (!line) {
        output->failure = output->failure ? output->failure : ENOMEM;
        return;
    }
    va_start(list, format);
    vsnprintf(line, (size_t)length + 1, format, list);
    va_end(list);
    output_write(output, line, (size_t)length);
    free(line);
}

void output_flush(struct output *output)
{
    for (size_t at = 0; at < output->buffer.length && !output->failure;) {
        ssize_t written = write(output->fd, output->buffer.bytes + at, output->buffer.length - at);
        if (written < 0 && errno != EINTR)
            output->failure = errno;
        else if (written > 0)
            at += (size_t)written;
    }
    text_clear(&output->buffer);
}

void output_end_line(struct output *output)
{
    if (output->last != '\n')
        output_puts(output, "\n");
    output_flush(output);
}

static void settle_file(struct output *output, bool keep)
{
    const char *temporary = text_string(&output->temporary);
    if (keep && !output->failure && fsync(output->fd) != 0)
        output->failure = errno;
    if (keep && !output->failure && output->nameless && !name_nameless(output))
        output->failure = errno;
    bool named = !output->nameless || (keep && !output->failure);
    if (close(output->fd) != 0 && !output->failure)
        output->failure = errno;
    if (!named)
        return;
    if (!keep || output->failure)
        unlink(temporary);
    else if (rename(temporary, text_string(&output->path)) != 0) {
        output->failure = errno;
        unlink(temporary);
    }
}

bool output_close(struct output *output, bool keep)
{
    output_flush(output);
    if (output->path.length && output->temporary.length)
        settle_file(output, keep);
    else if (output->path.length)
        close(output->fd);
    else if (close(output->fd) != 0 && !output->failure && errno != EBADF)
        output->failure = errno; /* some file systems report a full disk only here */
    text_fini(&output->buffer);
    text_fini(&output->path);
    text_fini(&output->temporary);
    return !output->failure;
}

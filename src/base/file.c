/* Files: mapped reads, whole reads with a limit, atomic writes.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* madvise */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/mem.h"

/* Non-blocking, so that a pipe nobody writes to is waited for in poll, where cancel is seen. */
static int open_file(const char *path, struct stat *info, ll_error *error, ll_status *status)
{
    int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                    : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, info) != 0) {
        *status = error_errno(error, "file", path, errno);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (S_ISDIR(info->st_mode)) {
        *status = error_set(error, LL_FORMAT, "file", "%s is a directory; name a file in it", path);
        close(fd);
        return -1;
    }
    return fd;
}

ll_status file_map_open(const char *path, struct file_map *ret, ll_error *error)
{
    struct stat info;
    ll_status status = LL_OK;
    int fd = open_file(path, &info, error, &status);
    if (fd < 0)
        return status;
    if (!S_ISREG(info.st_mode) || info.st_size <= 0) {
        status = error_set(error, LL_FORMAT, "file", "%s is %s", path,
                           S_ISREG(info.st_mode) ? "empty" : "not a regular file");
        close(fd);
        return status;
    }
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
        status = error_errno(error, "file", path, errno);
        close(fd);
        return status;
    }
    *ret = (struct file_map){bytes, (size_t)info.st_size, fd, info.st_mtim};
    return LL_OK;
}

ll_status file_map_check(const struct file_map *map, ll_error *error)
{
    struct stat info;
    if (!map->bytes || fstat(map->fd, &info) != 0)
        return LL_OK;
    if ((uint64_t)info.st_size < map->size)
        return error_set(error, LL_IO, "model file",
                         "the file was cut to %lld of %zu bytes while it was in use; put the whole file "
                         "back and open it again",
                         (long long)info.st_size, map->size);
    if (info.st_mtim.tv_sec != map->changed.tv_sec || info.st_mtim.tv_nsec != map->changed.tv_nsec)
        return error_set(error, LL_IO, "model file",
                         "the file was written to while it was in use; open it again");
    return LL_OK;
}

uint64_t file_map_forget(const struct file_map *map)
{
    if (!map->bytes || madvise((void *)(uintptr_t)map->bytes, map->size, MADV_DONTNEED) != 0)
        return 0;
    (void)posix_fadvise(map->fd, 0, 0, POSIX_FADV_DONTNEED);
    return map->size;
}

void file_map_close(struct file_map *map)
{
    if (map->bytes) {
        munmap((void *)(uintptr_t)map->bytes, map->size);
        close(map->fd);
    }
    *map = (struct file_map){0};
}

/* Waits for input in slices short enough for Ctrl-C to be answered at once. */
static bool wait_readable(int fd, const ll_cancel *cancel)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    while (!cancel_requested(cancel)) {
        int ready = poll(&poll_fd, 1, 50);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
    }
    return false;
}

static ll_status read_all(int fd, const char *path, size_t max_bytes, const ll_cancel *cancel,
                          struct strbuf *out, ll_error *error)
{
    char block[8192]; /* stacks may be small */
    size_t total = 0;
    for (;;) {
        if (!wait_readable(fd, cancel))
            return error_set(error, LL_CANCELLED, "file", "reading %s was cancelled", path);
        ssize_t got = read(fd, block, sizeof block);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return error_errno(error, "file", path, errno);
        if (got == 0)
            break;
        total += (size_t)got;
        if (total > max_bytes)
            return error_set(error, LL_UNSUPPORTED, "file",
                             "%s holds more than %zu bytes; raise the limit or split it", path, max_bytes);
        strbuf_append(out, block, (size_t)got);
        if (out->failed)
            return error_nomem(error, "file", total);
    }
    return LL_OK;
}

ll_status file_read(const char *path, size_t max_bytes, const ll_cancel *cancel, struct strbuf *out,
                    ll_error *error)
{
    struct stat info;
    ll_status status = LL_OK;
    int fd = open_file(path, &info, error, &status);
    if (fd < 0)
        return status;
    status = read_all(fd, path, max_bytes, cancel, out, error);
    close(fd);
    return status;
}

/* A rename is only lasting once its folder is on disk. Failure to sync it loses nothing. */
static void sync_folder(const char *path)
{
    char *copy = mem_copy_text(path, strlen(path));
    if (!copy)
        return;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    mem_free(copy);
}

/* A new file beside path, of a name that nothing has yet. mkstemp would make it private, and the mask that
 * says what it should be cannot be asked without changing it for the whole process. */
static int create_beside(const char *path, mode_t mode, struct strbuf *name)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        strbuf_clear(name);
        strbuf_printf(name, "%s.%lx.%u", path, (unsigned long)getpid(), attempt);
        if (name->failed) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open(name->text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Where the rename must go so that a link is not replaced by what it leads to. */
static ll_status follow_link(struct file_writer *writer, ll_error *error)
{
    struct stat info;
    if (lstat(writer->path, &info) != 0 || !S_ISLNK(info.st_mode))
        return LL_OK;
    writer->real = realpath(writer->path, NULL);
    if (!writer->real && errno == ENOENT)
        return error_set(error, LL_ARGUMENT, "file", "%s is a link that leads to nothing; name another file",
                         writer->path);
    if (!writer->real)
        return error_errno(error, "file", writer->path, errno);
    writer->path = writer->real;
    return LL_OK;
}

ll_status file_writer_open(struct file_writer *writer, const char *path, bool secret, ll_error *error)
{
    struct stat info;
    *writer = (struct file_writer){.path = path, .fd = -1};
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return S_ISDIR(info.st_mode)
                   ? error_errno(error, "file", path, EISDIR)
                   : error_set(error, LL_ARGUMENT, "file", "%s is no regular file; name another", path);
    ll_status status = follow_link(writer, error);
    if (status == LL_OK)
        writer->fd = create_beside(writer->path, secret ? 0600 : 0666, &writer->temporary);
    if (status == LL_OK && writer->fd < 0)
        status = writer->temporary.failed ? error_nomem(error, "file", strlen(path))
                                          : error_errno(error, "file", path, errno);
    if (status == LL_OK)
        return LL_OK;
    strbuf_fini(&writer->temporary);
    free(writer->real); /* the system's */
    writer->real = NULL;
    return status;
}

ll_status file_writer_put(struct file_writer *writer, const void *bytes, size_t length, ll_error *error)
{
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(writer->fd, (const char *)bytes + done, length - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return error_errno(error, "file", writer->path, errno);
        done += (size_t)wrote;
    }
    return LL_OK;
}

ll_status file_writer_end(struct file_writer *writer, ll_status status, ll_error *error)
{
    if (status == LL_OK && fsync(writer->fd) != 0 && errno != EINVAL && errno != EROFS)
        status = error_errno(error, "file", writer->path, errno);
    if (close(writer->fd) != 0 && status == LL_OK)
        status = error_errno(error, "file", writer->path, errno);
    if (status == LL_OK && rename(writer->temporary.text, writer->path) != 0)
        status = error_errno(error, "file", writer->path, errno);
    if (status != LL_OK)
        unlink(writer->temporary.text);
    else
        sync_folder(writer->path);
    strbuf_fini(&writer->temporary);
    free(writer->real);
    writer->real = NULL;
    return status;
}

ll_status file_write(const char *path, const char *bytes, size_t length, ll_error *error)
{
    struct file_writer writer;
    LL_TRY(file_writer_open(&writer, path, false, error));
    ll_status status = file_writer_put(&writer, bytes, length, error);
    return file_writer_end(&writer, status, error);
}

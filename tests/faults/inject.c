/* Preloaded library that makes the n-th call of one kind fail, to see what a program does then.
 * SPDX-License-Identifier: Apache-2.0
 *
 * LL_FAULT=KIND:N     the N-th call of KIND (from 1) fails, once; with KIND:N+ it and all later ones
 *                     kinds: malloc read write mmap open fsync rename
 * LL_FAULT_COUNT=FILE the number of calls of each kind is written there when the process ends
 * Calls that the C library makes to itself are not seen; the memory functions are all of kind malloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { MALLOC, READ, WRITE, MMAP, OPEN, FSYNC, RENAME, KINDS };
static const char *const names[KINDS] = {"malloc", "read", "write", "mmap", "open", "fsync", "rename"};
static atomic_long calls[KINDS];
static int fault_kind = -1;
static long fault_at;
static bool fault_stays;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Counting starts here, after the C library has set itself up. */
__attribute__((constructor)) static void start(void)
{
    const char *fault = getenv("LL_FAULT");
    const char *colon = fault ? strchr(fault, ':') : NULL;
    for (int k = 0; k < KINDS; k++) {
        atomic_store(&calls[k], 0);
        if (colon && strlen(names[k]) == (size_t)(colon - fault) &&
            strncmp(fault, names[k], strlen(names[k])) == 0)
            fault_kind = k;
    }
    if (!colon)
        return;
    char *end;
    fault_at = strtol(colon + 1, &end, 10);
    fault_stays = *end == '+';
}

__attribute__((destructor)) static void finish(void)
{
    const char *path = getenv("LL_FAULT_COUNT");
    char text[256];
    size_t length = 0;
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    if (fd < 0)
        return;
    for (int k = 0; k < KINDS; k++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s %ld\n", names[k],
                                   atomic_load(&calls[k]));
    (void)!syscall(SYS_write, fd, text, length);
    (void)!syscall(SYS_close, fd);
}

static bool fails(enum kind kind)
{
    long call = atomic_fetch_add(&calls[kind], 1) + 1;
    return (int)kind == fault_kind && (call == fault_at || (fault_stays && call > fault_at));
}

static void *refuse(int reason)
{
    errno = reason;
    return NULL;
}

void *malloc(size_t size)
{
    return fails(MALLOC) ? refuse(ENOMEM) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(MALLOC) ? refuse(ENOMEM) : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails(MALLOC) ? refuse(ENOMEM) : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(MALLOC) ? refuse(ENOMEM) : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (fails(MALLOC) || !(*memory = __libc_memalign(alignment, size)))
        return ENOMEM;
    return 0;
}

ssize_t read(int fd, void *bytes, size_t size)
{
    if (fails(READ)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_read, fd, bytes, size);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (fails(WRITE)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, size);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails(MMAP)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    long mapped = syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    return (void *)mapped;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    if (fails(OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int fsync(int fd)
{
    if (fails(FSYNC)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    if (fails(RENAME)) {
        errno = EXDEV;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Memory of this machine, of the container around the process, and of the process itself.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* mincore */
#include "base/machine.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { SMALL_FILE = 4096, CACHED_PAGES = 4096 };

static int open_small(const char *root, const char *path)
{
    char whole[PATH_MAX];
    int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof whole ? open(whole, O_RDONLY | O_CLOEXEC) : -1;
}

/* The first bytes of a small file of the kernel's, as text; false when there is none. */
static bool read_small(int fd, char text[SMALL_FILE])
{
    ssize_t got = fd >= 0 ? pread(fd, text, SMALL_FILE - 1, 0) : -1;
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static void close_small(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The number after "key" at the start of a line. */
static uint64_t number_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0)
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

/* ---- containers ---- */

struct group_files { /* what a version of control groups calls things */
    const char *mount, *limit, *usage;
    const char *const *file_cache;
};

static const char *const file_cache_1[] = {"total_inactive_file ", "total_active_file ", NULL};
static const char *const file_cache_2[] = {"inactive_file ", "active_file ", NULL};
static const struct group_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                             "memory.usage_in_bytes", file_cache_1};
static const struct group_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", file_cache_2};

static int open_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path ? open_small("", path) : -1;
}

static void add_group(struct machine *machine, const char *folder, const struct group_files *files)
{
    int limit = open_in(folder, files->limit);
    if (limit < 0 || machine->group_count == MACHINE_GROUPS) {
        close_small(&limit);
        return;
    }
    machine->groups[machine->group_count++] = (struct machine_group){
        limit, open_in(folder, files->usage), open_in(folder, "memory.stat"), files->file_cache};
}

/* The group itself and every one above it: each may be the tightest. Inside a container the path may be
 * the host's; then only the mount's top is there, and it is this container. */
static void add_groups(struct machine *machine, const char *root, const struct group_files *files,
                       const char *group)
{
    char folder[PATH_MAX];
    int top = snprintf(folder, sizeof folder, "%s%s", root, files->mount);
    int length = snprintf(folder, sizeof folder, "%s%s%s", root, files->mount, group);
    if (length <= 0 || (size_t)length >= sizeof folder || strstr(group, "/.."))
        return;
    while (length > top) {
        if (folder[length - 1] != '/')
            add_group(machine, folder, files);
        char *slash = strrchr(folder + top, '/');
        length = slash ? (int)(slash - folder) : top;
        folder[length] = '\0';
    }
    add_group(machine, folder, files);
}

/* Lines are "number:controllers:path"; version 2 has number 0 and no controllers. */
static void find_groups(struct machine *machine, const char *root)
{
    char text[SMALL_FILE], *rest = NULL;
    int fd = open_small(root, "/proc/self/cgroup");
    bool read = read_small(fd, text);
    close_small(&fd);
    for (char *line = read ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        if (controllers[1] == '\0')
            add_groups(machine, root, &version_2, group);
        else if (strcmp(controllers + 1, "memory") == 0)
            add_groups(machine, root, &version_1, group);
    }
}

/* "max", and numbers of about half the address space, mean no limit. */
static void apply_group(const struct machine_group *group, struct machine_memory *memory)
{
    char text[SMALL_FILE];
    if (!read_small(group->limit, text) || text[0] < '0' || text[0] > '9')
        return;
    uint64_t limit = strtoull(text, NULL, 10), used, cached = 0;
    if (limit >= UINT64_MAX / 4 || !read_small(group->usage, text))
        return;
    used = strtoull(text, NULL, 10);
    if (read_small(group->stat, text))
        for (const char *const *name = group->file_cache; *name; name++)
            cached += number_of(text, *name);
    used = used > cached ? used - cached : 0;
    uint64_t left = limit > used ? limit - used : 0;
    if (memory->limit == 0 || limit < memory->limit)
        memory->limit = limit;
    if (memory->total == 0 || limit < memory->total)
        memory->total = limit;
    if (left < memory->available)
        memory->available = left;
}

/* ---- machine ---- */

/* What is free and nothing else: what the system says without /proc, as in a plain chroot. */
static uint64_t memory_unused(void)
{
    struct sysinfo info;
    return sysinfo(&info) == 0 ? ((uint64_t)info.freeram + info.bufferram) * info.mem_unit : 0;
}

void machine_open(struct machine *machine, const char *root)
{
    *machine = (struct machine){.meminfo = open_small(root, "/proc/meminfo"),
                                .statm = open_small(root, "/proc/self/statm")};
    find_groups(machine, root);
}

void machine_close(struct machine *machine)
{
    close_small(&machine->meminfo);
    close_small(&machine->statm);
    for (size_t i = 0; i < machine->group_count; i++) {
        close_small(&machine->groups[i].limit);
        close_small(&machine->groups[i].usage);
        close_small(&machine->groups[i].stat);
    }
    machine->group_count = 0;
}

void machine_memory(const struct machine *machine, struct machine_memory *ret)
{
    char text[SMALL_FILE];
    struct machine_memory memory = {0};
    if (read_small(machine->meminfo, text)) {
        memory.total = number_of(text, "MemTotal:") * 1024;
        memory.available = number_of(text, "MemAvailable:") * 1024;
    }
    if (memory.total == 0) {
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        memory.total = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    }
    if (memory.available == 0)
        memory.available = memory_unused();
    for (size_t i = 0; i < machine->group_count; i++)
        apply_group(&machine->groups[i], &memory);
    *ret = memory;
}

/* ---- process ---- */

void machine_process(const struct machine *machine, struct machine_process *ret)
{
    char text[SMALL_FILE];
    uint64_t size, resident, shared, page = (uint64_t)sysconf(_SC_PAGESIZE);
    *ret = (struct machine_process){0};
    if (read_small(machine->statm, text) &&
        sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &size, &resident, &shared) == 3)
        *ret = (struct machine_process){resident * page, shared * page};
}

uint64_t machine_resident_peak(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

uint64_t machine_cached(const void *mapped, size_t bytes)
{
    unsigned char pages[CACHED_PAGES];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), most = page * sizeof pages;
    uintptr_t start = (uintptr_t)mapped & ~(uintptr_t)(page - 1), end = (uintptr_t)mapped + bytes;
    uint64_t cached = 0;
    for (; start < end; start += most) {
        size_t length = end - start < most ? end - start : most;
        if (mincore((void *)start, length, pages) != 0)
            break;
        for (size_t i = 0; i * page < length; i++)
            cached += (pages[i] & 1) * page;
    }
    return cached < bytes ? cached : bytes;
}

uint64_t machine_forget(void *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = ((uintptr_t)memory + page - 1) & ~(uintptr_t)(page - 1);
    uintptr_t end = ((uintptr_t)memory + bytes) & ~(uintptr_t)(page - 1);
    if (end <= start || madvise((void *)start, end - start, MADV_DONTNEED) != 0)
        return 0;
    return end - start;
}

void machine_heap(struct machine_heap *ret)
{
    *ret = (struct machine_heap){0};
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
    *ret = (struct machine_heap){info.uordblks + info.hblkhd, info.arena + info.hblkhd};
#endif
}

void machine_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

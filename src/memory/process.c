/* Which process this is, so that a later one can tell whether it still lives.
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first bytes of a small file of the system; "" when it cannot be read. */
static void read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, out, size - 1) : -1;
    out[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Field 22 of /proc/PID/stat, in ticks since the boot; the name in field 2 may hold anything, but no field
 * after its last bracket does. */
static unsigned long long began_at(long pid)
{
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    read_small(path, text, sizeof text);
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

void process_name(long pid, char *out, size_t size)
{
    char boot[64];
    read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = '\0';
    snprintf(out, size, "%ld %llu %s", pid, began_at(pid), boot);
}

bool process_lives(const char *name)
{
    char now[128];
    long pid = strtol(name, NULL, 10);
    if (pid <= 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return false;
    process_name(pid, now, sizeof now);
    return strcmp(now, name) == 0;
}

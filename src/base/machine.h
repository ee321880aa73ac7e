/* Memory of this machine, of the container around the process, and of the process itself.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is read is read anew at each call: its files stay open, so that a reading takes some microseconds.
 * [any thread], machine_open and machine_close apart. */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct machine_memory {
    uint64_t total;     /* of the machine, or the container's limit where that is lower */
    uint64_t available; /* could still be given, file caches counted as given back */
    uint64_t limit;     /* of the tightest container around this process; 0: none */
};

struct machine_process {
    uint64_t resident;      /* bytes in memory now */
    uint64_t resident_file; /* of these, pages of mapped files and shared memory */
};

enum { MACHINE_GROUPS = 16 };

struct machine_group { /* one container around this process; descriptors, -1 for a file that is not there */
    int limit, usage, stat;
    const char *const *file_cache; /* names of the lines of stat that count what can be given back */
};

struct machine {
    int meminfo, statm;
    struct machine_group groups[MACHINE_GROUPS];
    size_t group_count;
};

/* root: "" for this machine; tests name a folder that holds proc/ and sys/. Containers are control groups
 * of version 1 and 2, this process's own and all above it. Never fails: what cannot be read is 0, and
 * `available` falls back to what the system says without /proc. */
void machine_open(struct machine *machine, const char *root);
void machine_close(struct machine *machine);
void machine_memory(const struct machine *machine, struct machine_memory *ret);
void machine_process(const struct machine *machine, struct machine_process *ret);
/* The largest `resident` since the process began; 0 when the system does not say. */
uint64_t machine_resident_peak(void);
/* How much of a mapped file is in memory at this moment, in whichever process. */
uint64_t machine_cached(const void *mapped, size_t bytes);
/* Gives whole pages inside memory of the process back to the system; they read as zeroes, or as the file's
 * bytes where a file is mapped. Returns the bytes let go. */
uint64_t machine_forget(void *memory, size_t bytes);
struct machine_heap { /* of the C library's allocator; zero where it does not say */
    uint64_t used, reserved;
};

void machine_heap(struct machine_heap *ret);
/* Gives back what the allocator keeps for later. */
void machine_trim(void);

#endif

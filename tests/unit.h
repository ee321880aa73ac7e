/* What every cmocka test includes: cmocka's own needs, a seeded generator, a scratch folder.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* splitmix64; the seed is printed, and LL_SEED repeats a run. */
static uint64_t unit_random_state;

static inline uint64_t unit_random(void)
{
    uint64_t z = unit_random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline size_t unit_below(size_t limit)
{
    return (size_t)(unit_random() % limit);
}

static inline void unit_seed(void)
{
    const char *given = getenv("LL_SEED");
    unit_random_state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) ^ ((uint64_t)getpid() << 32);
    printf("# LL_SEED=%llu\n", (unsigned long long)unit_random_state);
    fflush(stdout);
}

/* Rounds of a random test: many more in the second tier, few where the processor is emulated. */
static inline size_t unit_rounds(size_t usual)
{
    if (getenv("LL_EMULATED"))
        return usual / 5 + 1;
    return getenv("LL_LONG") ? usual * 20 : usual;
}

/* The path of the default model when it has been fetched, else NULL (the test then calls skip()). Sanitized
 * builds never find it. The answer lives until the next call. */
static inline const char *unit_default_model(void)
{
    static char path[4096];
    const char *models = getenv("LONGLEAF_MODELS"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const char *base = models ? models : data ? data : home ? home : "";
    const char *middle = models ? "" : data ? "/longleaf/models" : "/.local/share/longleaf/models";
    int length = snprintf(path, sizeof path, "%s%s/SmolLM2-135M-Instruct.Q4_1.gguf", base, middle);
    if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) {
        print_message("# the default model is not here: %s\n", path);
        return NULL;
    }
    return path;
}

/* Makes a scratch folder and moves into it; unit_leave_scratch removes it with the plain files in it. */
static inline int unit_enter_scratch(char folder[64])
{
    snprintf(folder, 64, "/tmp/longleaf-unit.XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static inline void unit_leave_scratch(const char *folder)
{
    char command[96];
    if (chdir("/") != 0)
        return;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", folder);
}

#endif

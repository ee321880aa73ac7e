/* Picks the kernels for the processor at hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/fast/isa.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Not every compiler's __builtin_cpu_supports knows the name f16c. */
static bool runs_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool runs_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && runs_f16c();
}

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

/* The brand string: three leaves of sixteen characters, often padded with blanks in front. */
static bool brand(char text[49])
{
    unsigned words[12] = {0};
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u)
        return false;
    for (unsigned leaf = 0; leaf < 3; leaf++)
        __get_cpuid(0x80000002u + leaf, &words[4 * leaf], &words[4 * leaf + 1], &words[4 * leaf + 2],
                    &words[4 * leaf + 3]);
    memcpy(text, words, sizeof words);
    text[48] = '\0';
    return text[0] != '\0';
}
#else
#if defined(__aarch64__)
#include <sys/auxv.h>

/* Bits of the kernel's HWCAP words, as its documentation numbers them. */
enum { HAS_ASIMDDP = 1 << 20, HAS2_I8MM = 1 << 13 };

static bool runs_dotprod(void)
{
    return (getauxval(AT_HWCAP) & HAS_ASIMDDP) != 0;
}

static bool runs_i8mm(void)
{
    return runs_dotprod() && (getauxval(AT_HWCAP2) & HAS2_I8MM) != 0;
}
#endif

static bool brand(char text[49])
{
    (void)text;
    return false;
}
#endif

static bool runs_always(void)
{
    return true;
}

static const struct set {
    const char *word;
    bool (*runs)(void);
    const struct kernels *kernels;
} sets[] = {
    {"scalar", runs_always, &kernels_scalar},
#if defined(__x86_64__)
    {"avx2", runs_avx2, &kernels_avx2},
    {"avx512", runs_avx512, &kernels_avx512},
#elif defined(__aarch64__)
    {"neon", runs_always, &kernels_neon},
    {"dotprod", runs_dotprod, &kernels_dotprod},
    {"i8mm", runs_i8mm, &kernels_i8mm},
#endif
};
enum { SETS = sizeof sets / sizeof *sets };

const char *isa_word(int index)
{
    return index < SETS ? sets[index].word : NULL;
}

const struct kernels *isa_pick(const char *limit)
{
    int most = SETS - 1;
    while (limit && most >= 0 && strcmp(limit, sets[most].word) != 0)
        most--;
    while (most > 0 && !sets[most].runs())
        most--;
    return most < 0 ? NULL : sets[most].kernels;
}

void isa_device_name(char *out, size_t cap)
{
    char text[49];
    struct utsname machine;
    if (brand(text))
        snprintf(out, cap, "%s", text + strspn(text, " "));
    else
        snprintf(out, cap, "%s processor", uname(&machine) == 0 ? machine.machine : "unknown");
}

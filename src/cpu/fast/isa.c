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
static bool brand(char text[49])
{
    (void)text;
    return false;
}
#endif

const struct kernels *isa_pick(const char *limit)
{
    static const char *const words[] = {"scalar", "avx2", "avx512"};
    int most = limit ? -1 : 2;
    for (int i = 0; limit && i < 3; i++)
        if (strcmp(limit, words[i]) == 0)
            most = i;
    if (most < 0)
        return NULL;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (most >= 2 && runs_avx512())
        return &kernels_avx512;
    if (most >= 1 && runs_avx2())
        return &kernels_avx2;
#endif
    return &kernels_scalar;
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

/* Fresh random numbers for tests: a seed that is printed, and can be given back in LONGLEAF_TEST_SEED.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FORMATS_RANDOM_H
#define TESTS_FORMATS_RANDOM_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct random_source {
    uint64_t state;
};

static inline uint64_t random_bits(struct random_source *source) /* splitmix64 */
{
    uint64_t z = source->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline struct random_source random_start(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const char *given = getenv("LONGLEAF_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 20;
    printf("# LONGLEAF_TEST_SEED=%llu\n", (unsigned long long)seed);
    return (struct random_source){seed};
}

static inline uint64_t random_below(struct random_source *source, uint64_t limit)
{
    return random_bits(source) % limit;
}

static inline double random_unit(struct random_source *source) /* 0 < … < 1 */
{
    return ((double)(random_bits(source) >> 12) + 0.5) / 4503599627370496.0;
}

static inline float random_normal(struct random_source *source)
{
    return (float)(sqrt(-2 * log(random_unit(source))) * cos(6.283185307179586 * random_unit(source)));
}

#endif

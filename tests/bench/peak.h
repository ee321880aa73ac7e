/* What the machine can do at most: byte products, float products and memory reads of one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_PEAK_H
#define TESTS_BENCH_PEAK_H

#include <stddef.h>

/* Operations (a product and a sum are two) done by one call; 0 when this processor lacks the instructions. */
double peak_bytes_operations(void); /* AVX-512 VNNI */
double peak_float_operations(void); /* AVX-512 or AVX2 multiply-add */
/* Reads every cache line; the sum keeps the compiler honest. */
unsigned long long peak_read(const void *memory, size_t bytes);

#endif

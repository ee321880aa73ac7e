/* Reads the safetensors files of a model folder: a directory of tensors, all checked before use.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files are hostile until checked: every length, offset, dimension and product is compared with the
 * mapped size, and shards must hold what their index promises. Immutable after open: any thread. */
#ifndef FORMATS_SAFETENSORS_H
#define FORMATS_SAFETENSORS_H

#include "longleaf.h"
#include "tensor/dtype.h"

struct safetensors;

struct safetensor {
    char *name;
    bool known; /* F32, F16 or BF16; else only `type` tells */
    enum dtype dtype;
    char type[16];     /* as the file writes it */
    int dims;          /* 1 … 4, a single number counts as one dimension of 1 */
    uint64_t shape[4]; /* slowest first, as the file has it; missing ones are 1 */
    uint64_t bytes;
    const unsigned char *data;
    bool mapped; /* from a file, so that its pages can be let go and come back */
};

/* All of model.safetensors in the folder, or of the shards that model.safetensors.index.json names. */
ll_status safetensors_open(const char *folder, struct safetensors **ret, ll_error *error);
/* One file's bytes, which the caller keeps; for tests and fuzzing. */
ll_status safetensors_open_memory(const void *bytes, size_t size, struct safetensors **ret, ll_error *error);
void safetensors_close(struct safetensors *weights);
size_t safetensors_count(const struct safetensors *weights);
const struct safetensor *safetensors_at(const struct safetensors *weights, size_t index);
const struct safetensor *safetensors_find(const struct safetensors *weights, const char *name); /* or NULL */
/* As file_map_check, file_map_forget and machine_cached, of all files. [any thread] */
ll_status safetensors_check(const struct safetensors *weights, ll_error *error);
uint64_t safetensors_forget(const struct safetensors *weights);
uint64_t safetensors_cached(const struct safetensors *weights);
uint64_t safetensors_file_bytes(const struct safetensors *weights); /* of all files */

#endif

/* What the plug-in's table lists of device.c and read.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_TABLE_H
#define CUDA_TABLE_H

#include "backend/backend.h"

extern const struct backend_table longleaf_backend_1;

ll_status device_open(const struct backend_options *options, struct backend **ret, ll_error *error);
void device_close(struct backend *backend);
ll_status device_memory_new(struct backend *backend, enum backend_memory_kind kind, uint64_t bytes,
                            void **ret, ll_error *error);
void device_memory_free(struct backend *backend, enum backend_memory_kind kind, void *memory, uint64_t bytes);
void device_memory_use(const struct backend *backend, struct backend_memory_use *ret);
ll_status device_upload(struct backend *backend, void *to, const void *host, uint64_t bytes, ll_error *error);
bool device_supports_weight(const struct backend *backend, enum dtype dtype);
ll_status device_prepare_weight(struct backend *backend, struct tensor *weight, ll_error *error);
void device_begin(struct backend *backend, const struct backend_step *step, const ll_cancel *cancel);
ll_status device_end(struct backend *backend, ll_error *error);
ll_status device_read(struct backend *backend, const struct tensor *tensor, float *host, ll_error *error);
ll_status device_cache_copy(struct backend *backend, const struct backend_cache *cache, int32_t from,
                            int32_t to, ll_error *error);

/* cudaSuccess when this build holds code for the current device (rows.cu). */
int device_has_code(void);

#endif

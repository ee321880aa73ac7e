/* Results on their way out, and copies of cache blocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "cuda/device.h"
#include "cuda/table.h"
#include "tensor/dequant.h"

#define READBACK_BYTES ((uint64_t)4 << 20)

static ll_status reserve_readback(struct device *d, uint64_t bytes, ll_error *error)
{
    if (bytes <= d->readback_bytes)
        return LL_OK;
    if (d->readback)
        cudaFreeHost(d->readback);
    d->readback = NULL;
    d->readback_bytes = 0;
    cudaError_t status = cudaHostAlloc((void **)&d->readback, bytes, cudaHostAllocDefault);
    if (status != cudaSuccess)
        return device_status(status, "reading results", error);
    d->readback_bytes = bytes;
    return LL_OK;
}

ll_status device_read(struct backend *backend, const struct tensor *tensor, float *host, ll_error *error)
{
    struct device *d = device_of(backend);
    uint64_t row_bytes = dtype_row_bytes(tensor->dtype, (uint64_t)tensor->cols);
    cudaSetDevice(d->index);
    LL_TRY(reserve_readback(d, row_bytes > READBACK_BYTES ? row_bytes : READBACK_BYTES, error));
    int64_t run = (int64_t)(d->readback_bytes / row_bytes);
    for (int64_t row = 0; row < tensor->rows; row += run) {
        int64_t rows = tensor->rows - row < run ? tensor->rows - row : run;
        cudaError_t status =
            cudaMemcpy2DAsync(d->readback, row_bytes, tensor_row(tensor, row), (size_t)tensor->stride,
                              row_bytes, (size_t)rows, cudaMemcpyDeviceToHost, d->stream);
        if (status == cudaSuccess)
            status = cudaStreamSynchronize(d->stream);
        if (status != cudaSuccess)
            return device_status(status, "reading results", error);
        if (tensor->dtype == DT_F32)
            memcpy(host + row * tensor->cols, d->readback, (size_t)rows * row_bytes);
        else
            dequantize_row(tensor->dtype, d->readback, host + row * tensor->cols, rows * tensor->cols);
    }
    return LL_OK;
}

ll_status device_upload_rows(struct device *d, void *to, const void *host, uint64_t bytes, ll_error *error)
{
    LL_TRY(reserve_readback(d, READBACK_BYTES, error));
    for (uint64_t at = 0; at < bytes; at += d->readback_bytes) {
        uint64_t count = bytes - at < d->readback_bytes ? bytes - at : d->readback_bytes;
        cudaError_t status = cudaStreamSynchronize(d->stream); /* the last copy has left the buffer */
        memcpy(d->readback, (const char *)host + at, count);
        if (status == cudaSuccess)
            status = cudaMemcpyAsync((char *)to + at, d->readback, count, cudaMemcpyHostToDevice, d->stream);
        if (status != cudaSuccess)
            return device_status(status, "handing rows over", error);
    }
    return LL_OK;
}

static cudaError_t copy_block(struct device *d, void *pool, int64_t bytes, int32_t from, int32_t to)
{
    return cudaMemcpyAsync((char *)pool + to * bytes, (const char *)pool + from * bytes, (size_t)bytes,
                           cudaMemcpyDeviceToDevice, d->stream);
}

ll_status device_cache_copy(struct backend *backend, const struct backend_cache *cache, int32_t from,
                            int32_t to, ll_error *error)
{
    struct device *d = device_of(backend);
    if (from == to)
        return LL_OK;
    cudaSetDevice(d->index);
    cudaError_t status = copy_block(d, cache->k, cache->k_block_bytes, from, to);
    if (status == cudaSuccess)
        status = copy_block(d, cache->v, cache->v_block_bytes, from, to);
    if (status == cudaSuccess && cache->k_norms)
        status = copy_block(d, cache->k_norms, (int64_t)sizeof(float) * cache->kv_heads, from, to);
    return status == cudaSuccess ? LL_OK : device_status(status, "copying cache blocks", error);
}

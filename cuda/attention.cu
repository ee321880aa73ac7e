/* Chooses the attention kernel for a call: by head size, type and card.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/launch.h"

extern "C" {
attention_launch attention_prefill_64, attention_prefill_80, attention_prefill_96, attention_prefill_112,
    attention_prefill_128, attention_prefill_256;
attention_launch attention_decode_64, attention_decode_80, attention_decode_96, attention_decode_112,
    attention_decode_128, attention_decode_256;
attention_launch attention_packed_64, attention_packed_96, attention_packed_128, attention_packed_256;
attention_launch attention_hopper_64, attention_hopper_128;
}

namespace
{

struct kernels {
    int head_dim;
    attention_launch *prefill, *decode, *packed, *hopper;
    int tile_rows, hopper_rows;
};

const kernels table[] = {
    {64, attention_prefill_64, attention_decode_64, attention_packed_64, attention_hopper_64, 128, 192},
    {80, attention_prefill_80, attention_decode_80, nullptr, nullptr, 128, 0},
    {96, attention_prefill_96, attention_decode_96, attention_packed_96, nullptr, 128, 0},
    {112, attention_prefill_112, attention_decode_112, nullptr, nullptr, 128, 0},
    {128, attention_prefill_128, attention_decode_128, attention_packed_128, attention_hopper_128, 128, 128},
    {256, attention_prefill_256, attention_decode_256, attention_packed_256, nullptr, 64, 0},
};

const kernels *find(const attention_call *call)
{
    if (call->dtype != DT_BF16 && call->dtype != DT_F16)
        return nullptr;
    for (const kernels &row : table)
        if (row.head_dim == call->head_dim)
            return &row;
    return nullptr;
}

bool is_hopper()
{
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           major == 9;
}

// The Hopper kernel has no softcap; models that cap their scores take the plain one.
bool use_hopper(const kernels *row, const attention_call *call, attention_kernel kernel)
{
    return kernel != ATTENTION_MMA && row->hopper && call->softcap == 0.0f && is_hopper();
}

} // namespace

extern "C" int attention_tile_rows(const attention_call *call, attention_kernel kernel)
{
    const kernels *row = find(call);
    if (!row)
        return 0;
    return use_hopper(row, call, kernel) ? row->hopper_rows : row->tile_rows;
}

extern "C" int attention_prefill(const attention_call *call, attention_kernel kernel, void *stream)
{
    const kernels *row = find(call);
    if (!row)
        return cudaErrorInvalidValue;
    if (call->tile_count == 0)
        return cudaSuccess;
    return use_hopper(row, call, kernel) ? row->hopper(call, stream) : row->prefill(call, stream);
}

extern "C" int attention_decode(const attention_call *call, void *stream)
{
    const kernels *row = find(call);
    if (!row)
        return cudaErrorInvalidValue;
    attention_launch *launch = call->cache_type == DT_Q8_0 ? row->packed : row->decode;
    if (!launch)
        return cudaErrorInvalidValue;
    return call->part_count == 0 ? cudaSuccess : launch(call, stream);
}

extern "C" int attention_decode_blocks(void)
{
    int device = 0, processors = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    return 2 * processors;
}

extern "C" int attention_decode_rows(dtype cache_type)
{
    return cache_type == DT_Q8_0 ? DECODE_ROWS / 2 : DECODE_ROWS;
}

/* Prefill attention for Hopper (sm_90a): copy engine, warpgroup products, warp specialisation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One block an SM lives for the whole launch and draws (query tile, head) items from a counter. Its
 * first warpgroup is the producer: one warp drives the copy engine. The others are consumers of 64
 * query rows each: they issue the scores of the next key tile before they turn to the softmax of the
 * tile at hand (so products run under exponentials), and take turns at issuing (so one's softmax runs
 * under another's products). Key tiles come from the diagonal leftwards; with ALiBi a consumer that
 * needs no more says so, and the producer stops. docs/attention.md tells the story. */
#include "cuda/chain.cuh"
#include "cuda/hopper_consumer.cuh"
#include "cuda/hopper_producer.cuh"

namespace
{

template <typename T, bool ALIBI>
__global__ __launch_bounds__(THREADS, 1) void prefill(const __grid_constant__ attention_call call,
                                                      const __grid_constant__ CUtensorMap q_map,
                                                      const __grid_constant__ CUtensorMap k_map,
                                                      const __grid_constant__ CUtensorMap v_map)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ unsigned char memory[];
    shared shared(memory);
    int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) {
        prefetch_map(&q_map);
        prefetch_map(&k_map);
        prefetch_map(&v_map);
        control &control = *shared.control;
        barrier_begin(shared_address(&control.q_full), 1);
        barrier_begin(shared_address(&control.q_empty), CONSUMERS * 4);
        for (int i = 0; i < STAGES; i++) {
            barrier_begin(shared_address(&control.k_full[i]), 1);
            barrier_begin(shared_address(&control.k_empty[i]), CONSUMERS * 4);
            barrier_begin(shared_address(&control.v_full[i]), 1);
            barrier_begin(shared_address(&control.v_empty[i]), CONSUMERS * 4);
        }
    }
    chain_wait();
    if (ALIBI)
        write_counters<T>(memory + (shared.counters - shared_address(memory)), thread);
    fence_async();
    __syncthreads();
    if (thread < 128) {
        registers_less<CONSUMERS == 2 ? 40 : 32>();
        if (thread < 32)
            produce(call, shared, &q_map, &k_map, &v_map, thread);
    } else {
        registers_more<CONSUMERS == 2 ? 232 : 160>();
        consume<T, ALIBI>(call, shared, memory + (shared.q - shared_address(memory)), thread);
    }
#endif
}

// ---- host ----
typedef CUresult (*encode_function)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                    const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                    const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// A matrix read in boxes of `box` rows of 64 numbers.
bool make_map(encode_function encode, CUtensorMap *map, dtype dtype, const void *base, uint64_t columns,
              uint64_t rows, uint64_t stride, uint32_t box)
{
    const cuuint64_t sizes[2] = {columns, rows}, strides[1] = {stride * 2};
    const cuuint32_t boxes[2] = {64, box}, steps[2] = {1, 1};
    return encode(map, dtype == DT_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                  2, const_cast<void *>(base), sizes, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <typename T, bool ALIBI>
int launch(const attention_call *call, int blocks, const CUtensorMap &q, const CUtensorMap &k,
           const CUtensorMap &v, cudaStream_t stream)
{
    cudaError_t error = cudaFuncSetAttribute(prefill<T, ALIBI>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(SHARED_BYTES));
    if (error != cudaSuccess)
        return error;
    return chain_launch(prefill<T, ALIBI>, dim3(static_cast<unsigned>(blocks)), THREADS, SHARED_BYTES, stream,
                        *call, q, k, v);
}

} // namespace

#define NAME_(size) attention_hopper_##size
#define NAME(size) NAME_(size)
extern "C" int NAME(HEAD_DIM)(const attention_call *call, void *stream)
{
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess)
        return error != cudaSuccess ? error : cudaErrorNotSupported;
    encode_function encode = reinterpret_cast<encode_function>(entry);
    int device = 0, processors = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    // The pool's end is not known here and does not matter: page numbers come from the engine.
    constexpr uint64_t pool_rows = (1u << 31) - KEYS;
    CUtensorMap q, k, v;
    uint64_t rows = static_cast<uint64_t>(call->rows),
             columns = static_cast<uint64_t>(call->heads) * HEAD_DIM;
    if (call->tile_rows != ROWS ||
        !make_map(encode, &q, call->dtype, call->q, columns, rows, static_cast<uint64_t>(call->q_stride),
                  ROWS) ||
        !make_map(encode, &k, call->dtype, call->k, HEAD_DIM, pool_rows, HEAD_DIM, KEYS) ||
        !make_map(encode, &v, call->dtype, call->v, HEAD_DIM, pool_rows, HEAD_DIM, KEYS))
        return cudaErrorInvalidValue;
    int items = call->tile_count * call->heads, blocks = items < processors ? items : processors;
    cudaStream_t queue = static_cast<cudaStream_t>(stream);
    if (call->dtype == DT_BF16)
        return call->slopes ? launch<__nv_bfloat16, true>(call, blocks, q, k, v, queue)
                            : launch<__nv_bfloat16, false>(call, blocks, q, k, v, queue);
    return call->slopes ? launch<__half, true>(call, blocks, q, k, v, queue)
                        : launch<__half, false>(call, blocks, q, k, v, queue);
}

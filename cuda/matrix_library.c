/* NVIDIA's matrix library (cuBLASLt), opened at run time, for products of many rows.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the library proposes for a shape is kept, with its descriptions, for as long as the shape is among the
 * last PLANS ones used. */
#include "cuda/matrix_library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __has_include
#if __has_include(<cublasLt.h>)
#define HAVE_CUBLASLT 1
#include <cublasLt.h>
#endif
#endif

#ifdef HAVE_CUBLASLT

enum { PLANS = 256, ALIGN = 16 };

struct matrix_key {
    int64_t n, k, rows, weight_stride, in_stride, out_stride;
    enum dtype dtype, out_dtype;
    bool accumulate;
};

struct matrix_plan {
    struct matrix_key key;
    uint64_t used; /* 0: empty */
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t weight, in, out;
    cublasLtMatmulAlgo_t algorithm;
};

/* X(name): the functions called, each found by its own name with cublasLt before it. */
#define FUNCTIONS(X)                                                                                         \
    X(Create)                                                                                                \
    X(Destroy)                                                                                               \
    X(MatmulDescCreate)                                                                                      \
    X(MatmulDescDestroy)                                                                                     \
    X(MatmulDescSetAttribute)                                                                                \
    X(MatrixLayoutCreate)                                                                                    \
    X(MatrixLayoutDestroy)                                                                                   \
    X(MatmulPreferenceCreate)                                                                                \
    X(MatmulPreferenceDestroy)                                                                               \
    X(MatmulPreferenceSetAttribute)                                                                          \
    X(MatmulAlgoGetHeuristic)                                                                                \
    X(Matmul)

struct matrix_library {
    void *file;
    cublasLtHandle_t handle;
    uint64_t clock;
    char reason[256];
#define FIELD(name) __typeof__(cublasLt##name) *name;
    FUNCTIONS(FIELD)
#undef FIELD
    struct matrix_plan plans[PLANS];
};

/* ---- opening ---- */
static void *open_file(void)
{
    static const char *const folders[] = {"", "/usr/local/cuda/lib64/", "/opt/cuda/lib64/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[128];
        snprintf(path, sizeof path, "%slibcublasLt.so.%d", folders[i], CUBLAS_VER_MAJOR);
        void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (file)
            return file;
    }
    return NULL;
}

static bool find_functions(struct matrix_library *library)
{
#define FIND(name)                                                                                           \
    library->name = (__typeof__(library->name))dlsym(library->file, "cublasLt" #name);                       \
    if (!library->name)                                                                                      \
        return false;
    FUNCTIONS(FIND)
#undef FIND
    return true;
}

struct matrix_library *matrix_library_new(void)
{
    struct matrix_library *library = calloc(1, sizeof *library);
    if (!library)
        return NULL;
    library->file = open_file();
    if (!library->file) {
        snprintf(
            library->reason, sizeof library->reason,
            "NVIDIA's matrix library was not found (libcublasLt.so.%d); install cuBLAS of CUDA %d or add its "
            "folder to LD_LIBRARY_PATH",
            CUBLAS_VER_MAJOR, CUBLAS_VER_MAJOR);
        return library;
    }
    bool found = find_functions(library);
    cublasStatus_t status = found ? library->Create(&library->handle) : CUBLAS_STATUS_NOT_SUPPORTED;
    if (status != CUBLAS_STATUS_SUCCESS) {
        library->handle = NULL;
        snprintf(library->reason, sizeof library->reason,
                 "NVIDIA's matrix library (libcublasLt.so.%d) %s (status %d)", CUBLAS_VER_MAJOR,
                 found ? "could not start" : "lacks a function", (int)status);
    }
    return library;
}

static void plan_clear(struct matrix_library *library, struct matrix_plan *plan)
{
    if (plan->product)
        library->MatmulDescDestroy(plan->product);
    if (plan->weight)
        library->MatrixLayoutDestroy(plan->weight);
    if (plan->in)
        library->MatrixLayoutDestroy(plan->in);
    if (plan->out)
        library->MatrixLayoutDestroy(plan->out);
    memset(plan, 0, sizeof *plan);
}

void matrix_library_free(struct matrix_library *library)
{
    if (!library)
        return;
    if (library->handle) {
        for (size_t i = 0; i < PLANS; i++)
            plan_clear(library, &library->plans[i]);
        library->Destroy(library->handle);
    }
    if (library->file)
        dlclose(library->file);
    free(library);
}

/* ---- plans ---- */
static cudaDataType_t type_of(enum dtype dtype)
{
    return dtype == DT_F32 ? CUDA_R_32F : dtype == DT_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

/* The library thinks in columns: our rows are its columns, so it multiplies weightᵀ by in, both as they lie.
 */
static cublasStatus_t plan_describe(struct matrix_library *library, struct matrix_plan *plan)
{
    const struct matrix_key *key = &plan->key;
    cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
    cublasStatus_t status = library->MatmulDescCreate(&plan->product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library->MatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                                 sizeof transposed);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            library->MatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library->MatrixLayoutCreate(&plan->weight, type_of(key->dtype), (uint64_t)key->k,
                                             (uint64_t)key->n, key->weight_stride);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library->MatrixLayoutCreate(&plan->in, type_of(key->dtype), (uint64_t)key->k,
                                             (uint64_t)key->rows, key->in_stride);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library->MatrixLayoutCreate(&plan->out, type_of(key->out_dtype), (uint64_t)key->n,
                                             (uint64_t)key->rows, key->out_stride);
    return status;
}

static cublasStatus_t plan_choose(struct matrix_library *library, struct matrix_plan *plan)
{
    static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    uint64_t workspace = MATRIX_WORKSPACE;
    uint32_t align = ALIGN;
    /* Parts of a sum are added in fp32, never as numbers of the output's type. */
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    cublasLtMatmulPreference_t wish;
    cublasStatus_t status = library->MatmulPreferenceCreate(&wish);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    status = library->MatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                   sizeof workspace);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library->MatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                       &reductions, sizeof reductions);
    for (size_t i = 0; i < 4 && status == CUBLAS_STATUS_SUCCESS; i++)
        status = library->MatmulPreferenceSetAttribute(wish, aligned[i], &align, sizeof align);
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = library->MatmulAlgoGetHeuristic(library->handle, plan->product, plan->weight, plan->in,
                                                 plan->out, plan->out, wish, 1, &found, &count);
    library->MatmulPreferenceDestroy(wish);
    if (status == CUBLAS_STATUS_SUCCESS && (count < 1 || found.state != CUBLAS_STATUS_SUCCESS))
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status == CUBLAS_STATUS_SUCCESS)
        plan->algorithm = found.algo;
    return status;
}

static bool same_key(const struct matrix_key *a, const struct matrix_key *b)
{
    return a->n == b->n && a->k == b->k && a->rows == b->rows && a->weight_stride == b->weight_stride &&
           a->in_stride == b->in_stride && a->out_stride == b->out_stride && a->dtype == b->dtype &&
           a->out_dtype == b->out_dtype && a->accumulate == b->accumulate;
}

/* The plan of this shape, or a new one in the place of the one longest unused. NULL: see *status. */
static struct matrix_plan *plan_for(struct matrix_library *library, const struct matrix_key *key,
                                    cublasStatus_t *status)
{
    struct matrix_plan *oldest = &library->plans[0];
    for (size_t i = 0; i < PLANS; i++) {
        struct matrix_plan *plan = &library->plans[i];
        if (plan->used && same_key(&plan->key, key)) {
            plan->used = ++library->clock;
            return plan;
        }
        if (plan->used < oldest->used)
            oldest = plan;
    }
    plan_clear(library, oldest);
    oldest->key = *key;
    *status = plan_describe(library, oldest);
    if (*status == CUBLAS_STATUS_SUCCESS)
        *status = plan_choose(library, oldest);
    if (*status != CUBLAS_STATUS_SUCCESS) {
        plan_clear(library, oldest);
        return NULL;
    }
    oldest->used = ++library->clock;
    return oldest;
}

static int error_of(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return cudaSuccess;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return cudaErrorMemoryAllocation;
    case CUBLAS_STATUS_INVALID_VALUE:
        return cudaErrorInvalidValue;
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return cudaErrorNotSupported;
    default:
        return cudaErrorUnknown;
    }
}

int matrix_library_multiply(struct matrix_library *library, const struct matrix_call *call, void *stream)
{
    struct matrix_key key = {call->n,         call->k,          call->rows,  call->weight_stride,
                             call->in_stride, call->out_stride, call->dtype, call->out_dtype,
                             call->accumulate};
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    struct matrix_plan *plan = plan_for(library, &key, &status);
    if (!plan)
        return error_of(status);
    float one = 1.0f, held = call->accumulate ? 1.0f : 0.0f;
    return error_of(library->Matmul(library->handle, plan->product, &one, call->weight, plan->weight,
                                    call->in, plan->in, &held, call->out, plan->out, call->out, plan->out,
                                    &plan->algorithm, call->workspace, MATRIX_WORKSPACE,
                                    (cudaStream_t)stream));
}

const char *matrix_library_reason(const struct matrix_library *library)
{
    return library->handle ? NULL : library->reason;
}

#else

struct matrix_library {
    char unused;
};

struct matrix_library *matrix_library_new(void)
{
    return calloc(1, sizeof(struct matrix_library));
}

void matrix_library_free(struct matrix_library *library)
{
    free(library);
}

const char *matrix_library_reason(const struct matrix_library *library)
{
    (void)library;
    return "this build was made without NVIDIA's matrix library (cublasLt.h was not found)";
}

int matrix_library_multiply(struct matrix_library *library, const struct matrix_call *call, void *stream)
{
    (void)library;
    (void)call;
    (void)stream;
    return cudaErrorNotSupported;
}

#endif

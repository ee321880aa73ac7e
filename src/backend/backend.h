/* The contract between the engine and a device: one versioned table of coarse operations.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A backend is opened once per device. All calls come from one thread at a time (the engine holds
 * a lock); a backend may use threads or streams of its own inside. Operations are queued or run at
 * once as the backend likes, in order; results may be read only after end(). A failing operation
 * keeps the first error and turns later ones into no-ops; end() reports it. So a forward pass is a
 * plain list of calls.
 *
 * One step works on a ragged batch: several sequences, each with some new rows (tokens). Row r of
 * every activation belongs to step token r. Key positions are indices in the sequence: 0 … length-1.
 *
 * All tensors named here live in the backend's memory (see memory_new) unless marked host. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "base/cancel.h"
#include "base/log.h"
#include "tensor/tensor.h"

#define BACKEND_VERSION 1u

enum backend_memory_kind { MEMORY_WEIGHTS, MEMORY_CACHE, MEMORY_SCRATCH, MEMORY_LOGITS, MEMORY_KINDS };

enum backend_norm { NORM_RMS, NORM_LAYER };
enum backend_activation { ACTIVATE_SILU, ACTIVATE_GELU_TANH, ACTIVATE_GELU_ERF };

/* K and V of one layer for all sequences: [block][kv_head][token in block][head_dim], row-major, so
 * a head's keys of one block are contiguous. */
struct backend_cache {
    void *k, *v;
    enum dtype k_type, v_type; /* F32, F16, BF16 or Q8_0 (head_dim a multiple of 32) */
    int kv_heads, head_dim;
    int block_tokens;
    int64_t k_block_bytes, v_block_bytes; /* one block, all its heads */
    /* [block][kv_head] fp32: the largest Euclidean norm of the sequence's keys from its first block up
     * to and including this one, never too small. Kept by cache_write; NULL when no head uses ALiBi. */
    float *k_norms;
};

struct backend_sequence {
    int64_t first_row, rows; /* its rows in the step */
    int64_t start;           /* position of its first row = keys already in the cache */
    const int32_t *blocks;   /* host: block numbers, one per block_tokens positions; -1: dropped */
    int64_t block_count;     /* ≥ ceil((start + rows) / block_tokens) */
};

struct backend_step { /* host memory, valid until end() returns */
    int64_t rows;
    const ll_token *tokens;   /* [rows] */
    const int32_t *positions; /* [rows] */
    const struct backend_sequence *sequences;
    int64_t sequence_count;
    const int32_t *outputs; /* rows whose logits are wanted, ascending */
    int64_t output_count;
};

struct backend_product {         /* out = in · weightᵀ (+ bias) (+ what out held, when accumulate) */
    const struct tensor *weight; /* [n, k], any dtype */
    const struct tensor *bias;   /* [1, n] F32 or NULL */
    struct tensor *out;          /* [rows, n] */
    bool accumulate;
};

struct backend_rotary {
    int heads, head_dim, rotary_dim;  /* the first rotary_dim of each head turn */
    bool adjacent;                    /* pairs (2i, 2i+1); else (i, i + rotary_dim/2) */
    const struct tensor *frequencies; /* [1, rotary_dim/2] F32: radians per position of pair i */
    float scale;                      /* on cos and sin (YaRN's attention factor); 1 */
};

struct backend_attention {       /* softmax over the keys a query may see */
    int heads;                   /* query heads; head h uses KV head h / (heads / kv_heads) */
    float scale;                 /* on q·k */
    float softcap;               /* s → softcap · tanh(s / softcap) before the bias; 0: off */
    int window;                  /* sees keys with q_pos - k_pos < window; 0: all before it */
    int sinks;                   /* first keys seen whatever the window */
    const struct tensor *slopes; /* [1, heads] F32, or NULL: bias = -slope · (q_pos - k_pos) */
    float reach;                 /* greatest softmax share that may be skipped; 0: nothing skipped */
};

/* A feed-forward part of several, of which each row is given `used`: those of the greatest scores. The
 * matrices of all experts lie one below the other. Scratch is the caller's: as many rows as the input has. */
struct backend_experts {
    const struct tensor *router;    /* [experts, width] */
    const struct tensor *gate, *up; /* [experts·ffn, width] */
    const struct tensor *down;      /* [experts·width, ffn] */
    int experts, used;
    bool normalise; /* the shares of those chosen sum to 1; else they are shares among all */
    float scale;    /* on the shares */
    enum backend_activation activation;
    struct tensor *scores;              /* scratch: [rows, experts] F32 */
    struct tensor *gathered, *result;   /* scratch: [rows, width] */
    struct tensor *gate_rows, *up_rows; /* scratch: [rows, ffn] */
};

struct backend_memory_use {
    uint64_t total, free; /* the device's; the host's are those of its container where that has less */
    uint64_t limit;       /* of that container; 0: none */
    uint64_t ours[MEMORY_KINDS];
    uint64_t peak[MEMORY_KINDS]; /* the largest `ours` since the backend was opened; 0: not counted */
};

struct backend { /* the common head of every open backend */
    const struct backend_table *table;
    enum dtype activation; /* of temporaries that forward allocates; F32 on the CPU */
    enum dtype residual;   /* of the residual stream */
    int block_tokens;      /* preferred cache block */
    int step_rows;         /* most rows of a step; 0: the engine's own choice */
    bool host_memory;      /* its memory is host memory: weights are used where they are mapped */
    char name[32];         /* "cpu avx512-vnni" */
    char device[128];
    struct backend_reach {       /* of ALiBi's queries in the step that ended last */
        int64_t farthest;        /* positions that a query looked back at the most, itself included */
        int64_t looked, queries; /* looked: the sum over queries of all heads; 0: not counted */
    } reach;
};

struct backend_options {
    int threads; /* CPU; 0: all */
    int index;   /* device number */
    const struct log *log;
};

struct backend_table {
    uint32_t version; /* BACKEND_VERSION */
    uint32_t size;    /* of this struct */
    const char *name; /* "cpu", "reference", "cuda" */

    /* How many devices; 0 with *reason (static text) saying why. May be called before anything else. */
    int (*probe)(const char **reason);
    ll_status (*open)(const struct backend_options *options, struct backend **ret, ll_error *error);
    void (*close)(struct backend *backend); /* frees all memory it handed out */

    /* ---- memory: any size, 64-byte aligned or better, zeroed. LL_NOMEM / LL_DEVICE_MEMORY. ---- */
    ll_status (*memory_new)(struct backend *backend, enum backend_memory_kind kind, uint64_t bytes,
                            void **ret, ll_error *error);
    void (*memory_free)(struct backend *backend, enum backend_memory_kind kind, void *memory, uint64_t bytes);
    void (*memory_use)(const struct backend *backend, struct backend_memory_use *ret); /* any thread */
    /* Host to backend; blocks until the source may change. NULL when host_memory. */
    ll_status (*upload)(struct backend *backend, void *to, const void *host, uint64_t bytes, ll_error *error);
    /* Backend to host, outside of a step; blocks. NULL when host_memory, or when the cache stays inside. */
    ll_status (*download)(struct backend *backend, void *host, const void *from, uint64_t bytes,
                          ll_error *error);
    /* A chance to prepare a weight for products (repack, tables); may do nothing. Called once each at load.
     * It may move the weight: then it has freed the memory that held it, and weight->data and stride say
     * where rows · stride bytes of the same kind lie now, which are the caller's. */
    ll_status (*prepare_weight)(struct backend *backend, struct tensor *weight, ll_error *error);
    bool (*supports_weight)(const struct backend *backend, enum dtype dtype);

    /* ---- one step ---- */
    /* cancel is polled inside long operations; a raised flag makes the rest no-ops and end() say
     * LL_CANCELLED. The cache then holds garbage only in the rows of this step. */
    void (*begin)(struct backend *backend, const struct backend_step *step, const ll_cancel *cancel);
    ll_status (*end)(struct backend *backend, ll_error *error); /* waits */
    /* Copies out after end(): rows × cols of F32 whatever the tensor's dtype. */
    ll_status (*read)(struct backend *backend, const struct tensor *tensor, float *host, ll_error *error);

    /* ---- operations ---- */
    void (*embed)(struct backend *, const struct tensor *table, float scale, struct tensor *out);
    /* Each of the `groups` equal parts of a row is normalised by itself; weight (and bias) [1, cols/groups].
     * RMS: x · w / sqrt(mean(x²) + eps). in and out may be the same tensor. */
    void (*norm)(struct backend *, enum backend_norm kind, const struct tensor *in,
                 const struct tensor *weight, const struct tensor *bias, float eps, int groups,
                 struct tensor *out);
    /* One input, 1 … 4 products of it (Q, K and V; gate and up), so that it is prepared once. */
    void (*products)(struct backend *, const struct tensor *in, const struct backend_product *products,
                     int count);
    void (*rotary)(struct backend *, const struct backend_rotary *rotary, struct tensor *x); /* in place */
    /* Writes the step's K and V rows [rows, kv_heads·head_dim] to the sequences' blocks. */
    void (*cache_write)(struct backend *, const struct backend_cache *cache, const struct tensor *k,
                        const struct tensor *v);
    void (*attention)(struct backend *, const struct backend_attention *attention,
                      const struct backend_cache *cache, const struct tensor *q, struct tensor *out);
    /* out = f(gate) · up, or f(gate) when up is NULL. out may be gate or up. */
    void (*activate)(struct backend *, enum backend_activation kind, const struct tensor *gate,
                     const struct tensor *up, struct tensor *out);
    /* out = the sum of the chosen experts' f(gate) · up through down, by their shares. Not in place. NULL:
     * models with experts cannot run here. */
    void (*experts)(struct backend *, const struct backend_experts *experts, const struct tensor *in,
                    struct tensor *out);
    void (*add)(struct backend *, const struct tensor *a, const struct tensor *b,
                struct tensor *out);                                  /* out may be a */
    void (*clamp)(struct backend *, struct tensor *x, float limit);   /* to ±limit */
    void (*softcap)(struct backend *, struct tensor *x, float limit); /* limit · tanh(x / limit) */
    /* The step's output rows of in, packed: out [output_count, cols]. */
    void (*gather_outputs)(struct backend *, const struct tensor *in, struct tensor *out);
    /* ret[i], host memory, after end(): the column of row i's greatest number, the first of equal ones; -1
     * when the row holds no number above minus infinity. So picking it needs no copy of the row. */
    void (*greatest)(struct backend *, const struct tensor *in, int32_t *ret);
    /* Copies cache blocks inside the backend (copy on write), all layers' worth given one layer at a time. */
    ll_status (*cache_copy)(struct backend *, const struct backend_cache *cache, int32_t from, int32_t to,
                            ll_error *error);
};

#endif

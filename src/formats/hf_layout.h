/* The tensors of a Hugging Face model as GGUF has them: named, put together and turned row by row.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_HF_LAYOUT_H
#define FORMATS_HF_LAYOUT_H

#include "formats/hf_config.h"
#include "formats/safetensors.h"

struct hf_piece { /* rows of one stored tensor, in order */
    const struct safetensor *source;
    uint64_t first, rows;
    uint64_t pairs;  /* rows of a head whose halves are shuffled together; 0: none */
    uint64_t expert; /* its place among others */
};

struct hf_tensor {
    char name[64];
    enum dtype dtype;
    int dims;
    uint64_t shape[4]; /* fastest first; rows are all but the first */
    struct hf_piece *pieces;
    size_t count, capacity;
    const float *own; /* values made from the configuration, instead of pieces */
    bool transposed;  /* rows are the columns of the one piece */
    bool unit_rows;
    float scale, plus; /* 1 and 0: as they are */
    void *made;        /* while held: memory of its own, or NULL */
};

struct hf_layout {
    const struct hf_config *config;
    struct hf_tensor *tensors;
    size_t count, capacity;
};

/* Every stored tensor in its place. LL_UNSUPPORTED: one that has none, or is of an unreadable type. */
ll_status hf_layout_plan(const struct hf_config *config, const struct safetensors *weights,
                         struct hf_layout *ret, ll_error *error);
void hf_layout_fini(struct hf_layout *layout);
/* The bytes of a tensor: mapped ones where nothing is to be done, else made and kept in tensor->made. */
ll_status hf_layout_make(struct hf_tensor *tensor, const void **ret, ll_error *error);

#endif

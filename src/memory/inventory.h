/* The weights of a model by part and by type: from a file's directory, or from the shape alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_INVENTORY_H
#define MEMORY_INVENTORY_H

#include "formats/hf_layout.h"
#include "model/hparams.h"

struct weight_part { /* as stored */
    uint64_t matrix_bytes, matrix_elements;
    uint64_t vector_bytes, vector_elements; /* norms and biases: kept as F32 beside the file */
};

struct weight_type {
    uint64_t bytes, elements;
    size_t tensors;
};

struct inventory {
    int layers;
    struct weight_part *layer;            /* [layers] */
    struct weight_part embedding, output; /* output: the last norm, and the matrix unless it is tied */
    struct weight_part whole;
    struct weight_type types[DT_COUNT];
    uint64_t divisors;      /* numbers that positions need, among the vectors: no parameters */
    uint64_t expert_bytes, expert_elements; /* of matrices of experts, of which each token is given some */
    uint64_t unknown_bytes, unknown_elements; /* of tensors in types that this build cannot read */
    int64_t widest;         /* columns of the widest matrix */
    bool quantized;         /* some matrix is no plain number format */
};

ll_status inventory_read(const struct gguf *gguf, const struct model_hparams *hparams, struct inventory *ret,
                         ll_error *error);
/* Of a folder of weights, as they would be in a file. */
ll_status inventory_layout(const struct hf_layout *layout, const struct model_hparams *hparams,
                           struct inventory *ret, ll_error *error);
/* By arithmetic, all matrices of one type. */
ll_status inventory_compute(const struct hf_config *config, const struct model_hparams *hparams,
                            struct inventory *ret, ll_error *error);
/* The parameters, and those that each token is multiplied by. */
void inventory_parameters(const struct inventory *inventory, const struct model_hparams *hparams,
                          uint64_t *ret_all, uint64_t *ret_token);
/* The type that most bytes are of. */
enum dtype inventory_main_type(const struct inventory *inventory);
void inventory_fini(struct inventory *inventory);

#endif

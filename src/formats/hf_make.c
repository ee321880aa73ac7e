/* Makes the bytes of one tensor of a Hugging Face model in the layout of GGUF.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "formats/hf_layout.h"
#include "formats/quantize.h"
#include "tensor/dequant.h"

static uint64_t columns_of(const struct safetensor *source)
{
    return source->dims == 1 ? 1 : source->shape[1];
}

/* Row r of a piece, in the order that GGUF wants. */
static uint64_t source_row(const struct hf_piece *piece, uint64_t r)
{
    if (piece->pairs == 0)
        return piece->first + r;
    uint64_t head = r / piece->pairs * piece->pairs, in_head = r % piece->pairs;
    return piece->first + head + in_head % 2 * (piece->pairs / 2) + in_head / 2;
}

static bool changes_values(const struct hf_tensor *tensor, const struct hf_piece *piece)
{
    return tensor->scale != 1.0f || tensor->plus != 0.0f || tensor->unit_rows || tensor->transposed ||
           piece->source->dtype != tensor->dtype;
}

static void change_row(const struct hf_tensor *tensor, float *row, uint64_t count)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < count; i++)
        sum += (double)row[i] * row[i];
    double scale = tensor->unit_rows && sum > 0.0 ? tensor->scale / sqrt(sum) : tensor->scale;
    for (uint64_t i = 0; i < count; i++)
        row[i] = (float)(row[i] * scale + tensor->plus);
}

/* A column of the source. */
static void gather_column(const struct safetensor *source, uint64_t column, float *out)
{
    uint64_t size = dtype_row_bytes(source->dtype, 1), cols = source->shape[1];
    for (uint64_t i = 0; i < source->shape[0]; i++)
        dequantize_row(source->dtype, source->data + (i * cols + column) * size, &out[i], 1);
}

static void make_piece(const struct hf_tensor *tensor, const struct hf_piece *piece, float *row,
                       unsigned char *out)
{
    const struct safetensor *source = piece->source;
    uint64_t cols = tensor->transposed ? source->shape[0] : columns_of(source);
    uint64_t rows = tensor->transposed ? source->shape[1] : piece->rows;
    uint64_t from = dtype_row_bytes(source->dtype, columns_of(source)),
             to = dtype_row_bytes(tensor->dtype, cols);
    for (uint64_t r = 0; r < rows; r++, out += to) {
        const unsigned char *in = source->data + source_row(piece, r) * from;
        if (!changes_values(tensor, piece)) {
            memcpy(out, in, (size_t)to);
            continue;
        }
        if (tensor->transposed)
            gather_column(source, r, row);
        else
            dequantize_row(source->dtype, in, row, (int64_t)cols);
        change_row(tensor, row, cols);
        quantize_row(tensor->dtype, row, out, (int64_t)cols);
    }
}

static uint64_t piece_bytes(const struct hf_tensor *tensor, const struct hf_piece *piece)
{
    uint64_t cols = columns_of(piece->source);
    return tensor->transposed
               ? dtype_row_bytes(tensor->dtype, piece->source->shape[0]) * piece->source->shape[1]
               : dtype_row_bytes(tensor->dtype, cols) * piece->rows;
}

/* What has been copied is not needed in memory a second time. */
static void let_go(const struct safetensor *source)
{
    union {
        const void *read;
        void *page;
    } mapped = {.read = source->data};
    if (source->mapped)
        machine_forget(mapped.page, (size_t)source->bytes);
}

static void make_pieces(const struct hf_tensor *tensor, float *row, unsigned char *out)
{
    for (size_t i = 0; i < tensor->count; i++) {
        const struct hf_piece *piece = &tensor->pieces[i];
        make_piece(tensor, piece, row, out);
        out += piece_bytes(tensor, piece);
        if (i + 1 == tensor->count || piece[1].source != piece->source)
            let_go(piece->source);
    }
}

ll_status hf_layout_make(struct hf_tensor *tensor, const void **ret, ll_error *error)
{
    const struct hf_piece *first = tensor->pieces;
    uint64_t bytes = 0, widest = 1;
    if (tensor->own) {
        *ret = tensor->own;
        return LL_OK;
    }
    uintptr_t start =
        (uintptr_t)(first->source->data +
                    first->first * dtype_row_bytes(first->source->dtype, columns_of(first->source)));
    if (tensor->count == 1 && first->pairs == 0 && !changes_values(tensor, first) && start % 8 == 0) {
        *ret = (const void *)start;
        return LL_OK;
    }
    for (size_t i = 0; i < tensor->count; i++) {
        const struct safetensor *source = tensor->pieces[i].source;
        uint64_t cols = tensor->transposed ? source->shape[0] : columns_of(source);
        bytes += piece_bytes(tensor, &tensor->pieces[i]);
        widest = cols > widest ? cols : widest;
    }
    float *row = mem_new((size_t)widest, sizeof *row);
    unsigned char *made = mem_new((size_t)bytes, 1);
    if (row && made)
        make_pieces(tensor, row, made);
    bool good = row && made;
    mem_free(row);
    if (!good)
        mem_free(made);
    tensor->made = good ? made : NULL;
    *ret = tensor->made;
    return good ? LL_OK : error_nomem(error, "convert", (size_t)bytes);
}

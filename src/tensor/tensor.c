/* Views into a matrix: a run of its rows, a run of its columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor.h"

struct tensor tensor_columns(const struct tensor *tensor, int64_t first, int64_t cols)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    struct tensor view = *tensor;
    view.cols = cols;
    if (tensor->data)
        view.data = (char *)tensor->data + first / info->block_elements * info->block_bytes;
    return view;
}

struct tensor tensor_rows(const struct tensor *tensor, int64_t first, int64_t rows)
{
    struct tensor view = *tensor;
    view.rows = rows;
    if (tensor->data)
        view.data = tensor_row(tensor, first);
    return view;
}

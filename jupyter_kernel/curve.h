/* Memory against context length, predicted from a model's metadata: a table and a curve.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_CURVE_H
#define JUPYTER_KERNEL_CURVE_H

#include "jupyter_kernel/talk.h"

/* Of the model that is open, or that would be: nothing is loaded. Shows the curve and gives the table.
 * False: the turn's output holds the failure. */
bool curve_show(struct turn *turn, json_t **ret);

#endif

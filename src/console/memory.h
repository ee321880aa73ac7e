/* What memory is used for, in words, as JSON and for Prometheus: /memory, %memory and files of metrics.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_MEMORY_H
#define CONSOLE_MEMORY_H

#include "console/text.h"
#include "longleaf.h"

enum memory_form { MEMORY_TEXT, MEMORY_JSON, MEMORY_PROMETHEUS };

/* Appends the whole account of one engine: each device by component, the process, the model's file in the
 * page cache, the session's KV blocks and speeds. model and session may be NULL: their lines are left out.
 * Text and Prometheus are whole lines; JSON is one object on one line. Any thread may call it, also while
 * the session computes. */
void memory_show(enum memory_form form, const ll_engine *engine, const ll_model *model,
                 const ll_session *session, struct text *out);

#endif

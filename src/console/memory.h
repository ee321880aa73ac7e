/* What memory is used for, in words, as JSON and for Prometheus: /memory, %memory and files of metrics.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_MEMORY_H
#define CONSOLE_MEMORY_H

#include <jansson.h>

#include "console/text.h"
#include "longleaf.h"

enum memory_form { MEMORY_TEXT, MEMORY_JSON, MEMORY_PROMETHEUS };
enum memory_request { REQUEST_TEXT, REQUEST_JSON, REQUEST_PROMETHEUS, REQUEST_TRIM }; /* forms first */

/* Appends the whole account of one engine: each device by component, the process, the model's file in the
 * page cache, the session's KV blocks and speeds. model and session may be NULL: their lines are left out.
 * Text and Prometheus are whole lines; JSON is one object on one line. Any thread may call it, also while
 * the session computes. */
void memory_show(enum memory_form form, const ll_engine *engine, const ll_model *model,
                 const ll_session *session, struct text *out);
/* The same JSON object, without the model's file; the caller's. */
json_t *memory_json(const ll_engine *engine, const ll_session *session);

/* The word after /memory: nothing, "text", "json", "prometheus" or "trim". False: another one. */
bool memory_read_request(const char *word, size_t length, enum memory_request *ret);
/* Gives back to the system what is not needed until the next message, and says what came of it. model and
 * session may be NULL. LL_BUSY: the session is at work. */
ll_status memory_trim(const ll_engine *engine, ll_model *model, ll_session *session, struct text *out,
                      ll_error *error);

/* The device's name, and how many layers it has where the processor has others. */
void memory_name_device(const ll_engine *engine, const ll_model *model, struct text *out);

#endif

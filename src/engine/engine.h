/* The engine's inside: its device, its log, and the lock that lets one step run at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdatomic.h>

#include "base/log.h"
#include "engine/devices.h"

struct backend *engine_backend(const ll_engine *engine);
/* For the layers that the device has no room for: opened when first asked for, and kept. NULL: there is none
 * besides. Under the engine's lock. */
ll_status engine_host(ll_engine *engine, struct backend **ret, ll_error *error);
struct backend *engine_second(const ll_engine *engine); /* NULL: it has not been opened */
ll_device_kind engine_kind(const ll_engine *engine);
const struct log *engine_log(const ll_engine *engine);
/* Held around every use of the backend: steps, cache changes, loading. Never while a callback runs. */
void engine_lock(ll_engine *engine);
void engine_unlock(ll_engine *engine);
/* Weights outside the backend's memory count as weights too: used where their file is mapped, and made from a
 * folder's; negative when a model closes. */
void engine_count_host_weights(ll_engine *engine, int64_t mapped, int64_t made);
/* Scratch of the device or of its host that is taken and that no step has written to yet; negative when one
 * does. */
void engine_count_idle_scratch(ll_engine *engine, bool host, int64_t bytes);
/* Bytes that may still be taken of the engine's device or of its host: of the memory, its container and (on
 * the device) the engine's own limit whichever has least, with weights that are used where their file is
 * mapped counted as taken. Read anew. */
uint64_t engine_room(ll_engine *engine, const struct backend *backend);
/* Before keys are written to memory that has only been promised so far (the host's is given page by page):
 * LL_NOMEM when another program has taken it meanwhile. Warns once when memory runs short, through the
 * log when the lock is put down. Reads the system's figures anew, some 20 microseconds for a block of keys.
 * Under the engine's lock. */
ll_status engine_check_growth(ll_engine *engine, uint64_t bytes, ll_error *error);
/* Logits kept for callers, outside the backend's memory; negative when they are freed. */
void engine_count_logits(ll_engine *engine, int64_t bytes);
/* Bytes of KV blocks that hold keys, of all pools, on the device or on its host, and of the device's that
 * have been written to: for block_options. */
atomic_uint_fast64_t *engine_cache_used(ll_engine *engine, bool host);
atomic_uint_fast64_t *engine_cache_resident(ll_engine *engine);
/* For ll_engine_get_activity. Under the engine's lock. */
void engine_show_activity(ll_engine *engine, const ll_activity *activity);
/* A model holds its engine. */
void engine_retain(ll_engine *engine);

#endif

/* The cancel flag: raised by one thread or a signal handler, polled by another.
 * SPDX-License-Identifier: Apache-2.0
 * Public functions are in longleaf.h; a NULL flag is never raised. */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <stdatomic.h>

#include "longleaf.h"

struct ll_cancel {
    atomic_bool requested;
};

static inline bool cancel_requested(const struct ll_cancel *cancel)
{
    return cancel && atomic_load_explicit(&cancel->requested, memory_order_relaxed);
}

#endif

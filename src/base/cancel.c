/* The cancel flag: raised by one thread or a signal handler, polled by another.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/cancel.h"

#include "base/mem.h"

ll_cancel *ll_cancel_new(void)
{
    return mem_new(1, sizeof(struct ll_cancel));
}

void ll_cancel_request(ll_cancel *cancel)
{
    if (cancel)
        atomic_store(&cancel->requested, true);
}

bool ll_cancel_requested(const ll_cancel *cancel)
{
    return cancel_requested(cancel);
}

void ll_cancel_reset(ll_cancel *cancel)
{
    if (cancel)
        atomic_store(&cancel->requested, false);
}

void ll_cancel_free(ll_cancel *cancel)
{
    mem_free(cancel);
}

/* Whether the stack that this process is allowed holds what the programs need.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/stack.h"

#include <sys/resource.h>

enum { STACK_BYTES = 256 << 10 }; /* what is needed was seen to be below half of that */

bool stack_suffices(struct text *problem)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_BYTES)
        return true;
    text_printf(problem,
                "the stack of this process is limited to %llu KiB and %d are needed; `ulimit -s %d` sets it",
                (unsigned long long)limit.rlim_cur >> 10, STACK_BYTES >> 10, STACK_BYTES >> 10);
    return false;
}

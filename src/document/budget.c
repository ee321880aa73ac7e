/* The arithmetic of windows and merges: no call can overflow the context, by construction.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/budget.h"

bool budget_make(const struct budget_request *request, struct budget *ret, size_t *ret_needed)
{
    size_t fixed = request->prefix + request->suffix + BUDGET_GUARD;
    size_t least = fixed + 2 * request->label + 3 * BUDGET_LEAST_OUTPUT;
    *ret_needed = least;
    if (request->context < least)
        return false;
    size_t room = request->context - fixed;
    size_t most = (room - 2 * request->label) / 3;
    ret->output = request->wanted_output < most ? request->wanted_output : most;
    if (ret->output < BUDGET_LEAST_OUTPUT)
        ret->output = BUDGET_LEAST_OUTPUT;
    ret->window = room - ret->output - request->label;
    ret->fan_out = (room - ret->output) / (ret->output + request->label);
    return true;
}

size_t budget_groups(size_t children, size_t fan_out)
{
    return children / fan_out + (children % fan_out != 0);
}

void budget_group(size_t children, size_t groups, size_t group, size_t *ret_first, size_t *ret_last)
{
    size_t size = children / groups, larger = children % groups;
    *ret_first = group * size + (group < larger ? group : larger);
    *ret_last = *ret_first + size + (group < larger);
}

size_t budget_levels(size_t windows, size_t fan_out, size_t *ret_calls)
{
    size_t levels = 0, calls = 0;
    for (size_t children = windows; children > 1; levels++) {
        size_t groups = budget_groups(children, fan_out);
        /* Sizes differ by one at most: single children exist only where the size is one. */
        calls += children / groups >= 2 ? groups : children % groups;
        children = groups;
    }
    *ret_calls = calls;
    return levels;
}

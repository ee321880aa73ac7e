/* Mixtures of experts on the CPU: the table's slot of both backends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_EXPERTS_H
#define CPU_EXPERTS_H

#include "cpu/host.h"

void host_experts(struct backend *backend, const struct backend_experts *experts, const struct tensor *in,
                  struct tensor *out);

#endif

/* Runs a recorded step: each operation by a kernel, or several by one where they fit together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_RUN_H
#define CUDA_RUN_H

struct device;

/* Queues all operations; failures and a raised cancel flag are kept in the device. */
void run_operations(struct device *device);

#endif

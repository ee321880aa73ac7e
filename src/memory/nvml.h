/* A GPU's own sensors through NVIDIA's management library, opened at run time where there is one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_NVML_H
#define MEMORY_NVML_H

struct nvml;

/* index: of the device as the CUDA driver shows it to this process. NULL when there is no library, no such
 * device or no memory: sensors are a comfort, never a condition. */
struct nvml *nvml_open(int index);
void nvml_close(struct nvml *nvml); /* NULL is allowed */
/* Share of time busy (0 … 1), degrees Celsius, watts; NAN for what is not known. nvml may be NULL. [any
 * thread] */
void nvml_read(const struct nvml *nvml, float *busy, float *celsius, float *watts);

#endif

/* A GPU's own sensors through NVIDIA's management library, opened at run time where there is one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_NVML_H
#define MEMORY_NVML_H

struct nvml;

struct nvml_reading {           /* NAN for what is not known */
    float busy, celsius, watts; /* busy: share of time, 0 … 1 */
    double joules;              /* since the driver was loaded */
};

/* library: "libnvidia-ml.so.1", which comes with the driver. index: of the device as the CUDA driver shows it
 * to this process. NULL when there is no library, no such device or no memory, and *why is a sentence about
 * it: sensors are a comfort, never a condition. */
struct nvml *nvml_open(const char *library, int index, const char **why);
void nvml_close(struct nvml *nvml); /* NULL is allowed */
/* What a thread of nvml's own has read in the last fifth of a second: asking the driver takes longer than a
 * gauge may. nvml may be NULL. [any thread] */
void nvml_read(const struct nvml *nvml, struct nvml_reading *ret);

#endif

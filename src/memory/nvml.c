/* A GPU's own sensors through NVIDIA's management library, opened at run time where there is one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library's entry points are declared here by hand, from its published interface: no header of it is
 * needed to build, and a machine without it loses only these figures. */
#include "memory/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef void *nvml_device;

struct nvml_utilization {
    unsigned gpu, memory; /* per cent */
};

enum { NVML_SUCCESS = 0, NVML_TEMPERATURE_GPU = 0 };

struct nvml {
    void *library;
    nvml_device device;
    int (*shut_down)(void);
    int (*utilization)(nvml_device device, struct nvml_utilization *ret);
    int (*temperature)(nvml_device device, int sensor, unsigned *ret);
    int (*power)(nvml_device device, unsigned *ret_milliwatts);
};

/* ISO C has no conversion between data and function pointers; POSIX promises that this copy works. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* CUDA_VISIBLE_DEVICES renumbers what CUDA shows, and only that. Its entry for index: a number, or the
 * beginning of a device's name; the empty text when the variable says nothing. */
static void visible_name(int index, char *name, size_t size)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    name[0] = '\0';
    while (at && index-- > 0) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    size_t length = at ? strcspn(at, ",") : 0;
    if (length == 0 || length >= size)
        return;
    memcpy(name, at, length);
    name[length] = '\0';
}

static bool find_device(struct nvml *nvml, int index)
{
    int (*by_index)(unsigned index, nvml_device *ret), (*by_name)(const char *name, nvml_device *ret);
    char name[96], *end = name;
    visible_name(index, name, sizeof name);
    unsigned long number = name[0] ? strtoul(name, &end, 10) : (unsigned long)index;
    if (*end == '\0')
        return find(nvml->library, "nvmlDeviceGetHandleByIndex_v2", &by_index) &&
               by_index((unsigned)number, &nvml->device) == NVML_SUCCESS;
    return find(nvml->library, "nvmlDeviceGetHandleByUUID", &by_name) &&
           by_name(name, &nvml->device) == NVML_SUCCESS;
}

struct nvml *nvml_open(int index)
{
    int (*start)(void);
    struct nvml *nvml = mem_new(1, sizeof *nvml);
    if (!nvml)
        return NULL;
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library || !find(nvml->library, "nvmlInit_v2", &start) ||
        !find(nvml->library, "nvmlShutdown", &nvml->shut_down) || start() != NVML_SUCCESS) {
        nvml->shut_down = NULL;
        nvml_close(nvml);
        return NULL;
    }
    if (!find_device(nvml, index)) {
        nvml_close(nvml);
        return NULL;
    }
    find(nvml->library, "nvmlDeviceGetUtilizationRates", &nvml->utilization);
    find(nvml->library, "nvmlDeviceGetTemperature", &nvml->temperature);
    find(nvml->library, "nvmlDeviceGetPowerUsage", &nvml->power);
    return nvml;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->shut_down)
        nvml->shut_down();
    if (nvml->library)
        dlclose(nvml->library);
    mem_free(nvml);
}

void nvml_read(const struct nvml *nvml, float *busy, float *celsius, float *watts)
{
    struct nvml_utilization utilization;
    unsigned value;
    *busy = *celsius = *watts = NAN;
    if (!nvml)
        return;
    if (nvml->utilization && nvml->utilization(nvml->device, &utilization) == NVML_SUCCESS)
        *busy = (float)utilization.gpu / 100.0f;
    if (nvml->temperature && nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        *celsius = (float)value;
    if (nvml->power && nvml->power(nvml->device, &value) == NVML_SUCCESS)
        *watts = (float)value / 1000.0f;
}

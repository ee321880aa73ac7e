/* A stand-in for NVIDIA's management library: two devices whose figures the test knows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

struct utilization {
    unsigned gpu, memory;
};

static int names[2] = {0, 1};
static unsigned long long energy = 5000;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
int nvmlDeviceGetHandleByUUID(const char *name, void **ret);
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *ret);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret);
int nvmlDeviceGetPowerUsage(void *device, unsigned *ret);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    *ret = index < 2 ? &names[index] : NULL;
    return index < 2 ? 0 : 2;
}

int nvmlDeviceGetHandleByUUID(const char *name, void **ret)
{
    *ret = &names[1];
    return strcmp(name, "GPU-second") == 0 ? 0 : 2;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *ret)
{
    *ret = (struct utilization){device == &names[0] ? 40 : 75, 10};
    return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret)
{
    (void)sensor;
    *ret = device == &names[0] ? 50 : 61;
    return 0;
}

/* The first device has no such sensor. */
int nvmlDeviceGetPowerUsage(void *device, unsigned *ret)
{
    *ret = 350250;
    return device == &names[0] ? 3 : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret)
{
    (void)device;
    energy += 1000;
    *ret = energy;
    return 0;
}

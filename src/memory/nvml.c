/* A GPU's own sensors through NVIDIA's management library, opened at run time where there is one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library's entry points are declared here by hand, from its published interface: no header of it is
 * needed to build, and a machine without it loses only these figures. */
#include "memory/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/published.h"

typedef void *nvml_device;

struct nvml_utilization {
    unsigned gpu, memory; /* per cent */
};

enum { NVML_SUCCESS = 0, NVML_TEMPERATURE_GPU = 0, SAMPLE_NS = 200000000 };

struct nvml {
    void *library;
    nvml_device device;
    int (*shut_down)(void);
    int (*utilization)(nvml_device device, struct nvml_utilization *ret);
    int (*temperature)(nvml_device device, int sensor, unsigned *ret);
    int (*power)(nvml_device device, unsigned *ret_milliwatts);
    int (*energy)(nvml_device device, unsigned long long *ret_millijoules);
    struct published shown; /* an nvml_reading */
    pthread_t sampler;
    bool sampling, leave; /* leave: under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
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

static void sample(struct nvml *nvml)
{
    struct nvml_reading reading = {NAN, NAN, NAN, (double)NAN};
    struct nvml_utilization utilization;
    unsigned value;
    unsigned long long energy;
    if (nvml->utilization && nvml->utilization(nvml->device, &utilization) == NVML_SUCCESS)
        reading.busy = (float)utilization.gpu / 100.0f;
    if (nvml->temperature && nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        reading.celsius = (float)value;
    if (nvml->power && nvml->power(nvml->device, &value) == NVML_SUCCESS)
        reading.watts = (float)value / 1000.0f;
    if (nvml->energy && nvml->energy(nvml->device, &energy) == NVML_SUCCESS)
        reading.joules = (double)energy / 1000.0;
    published_write(&nvml->shown, &reading, sizeof reading);
}

static void *sample_again(void *user)
{
    struct nvml *nvml = user;
    pthread_mutex_lock(&nvml->lock);
    while (!nvml->leave) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += SAMPLE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&nvml->wake, &nvml->lock, &until);
        if (!nvml->leave)
            sample(nvml);
    }
    pthread_mutex_unlock(&nvml->lock);
    return NULL;
}

/* Without a thread the first reading stays. Signals are for the program's own threads. */
static void start_sampling(struct nvml *nvml)
{
    sigset_t all, before;
    sample(nvml);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    nvml->sampling = pthread_create(&nvml->sampler, NULL, sample_again, nvml) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_sampling(struct nvml *nvml)
{
    pthread_mutex_lock(&nvml->lock);
    nvml->leave = true;
    pthread_cond_signal(&nvml->wake);
    pthread_mutex_unlock(&nvml->lock);
    if (nvml->sampling)
        pthread_join(nvml->sampler, NULL);
}

static struct nvml *give_up(struct nvml *nvml, const char *sentence, const char **why)
{
    nvml_close(nvml);
    *why = sentence;
    return NULL;
}

struct nvml *nvml_open(const char *library, int index, const char **why)
{
    int (*start)(void);
    struct nvml *nvml = mem_new(1, sizeof *nvml);
    if (!nvml)
        return give_up(NULL, "no memory for the GPU's sensors", why);
    pthread_mutex_init(&nvml->lock, NULL);
    pthread_cond_init(&nvml->wake, NULL);
    nvml->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return give_up(
            nvml,
            "the GPU's load, temperature and power are unknown: libnvidia-ml.so.1, which comes with "
            "the driver, cannot be opened",
            why);
    if (!find(nvml->library, "nvmlInit_v2", &start) ||
        !find(nvml->library, "nvmlShutdown", &nvml->shut_down) || start() != NVML_SUCCESS) {
        nvml->shut_down = NULL;
        return give_up(nvml,
                       "the GPU's load, temperature and power are unknown: libnvidia-ml.so.1 does not start; "
                       "it may be older or newer than the driver",
                       why);
    }
    if (!find_device(nvml, index))
        return give_up(nvml,
                       "the GPU's load, temperature and power are unknown: libnvidia-ml.so.1 does not know "
                       "this device",
                       why);
    find(nvml->library, "nvmlDeviceGetUtilizationRates", &nvml->utilization);
    find(nvml->library, "nvmlDeviceGetTemperature", &nvml->temperature);
    find(nvml->library, "nvmlDeviceGetPowerUsage", &nvml->power);
    find(nvml->library, "nvmlDeviceGetTotalEnergyConsumption", &nvml->energy);
    start_sampling(nvml);
    return nvml;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml)
        return;
    stop_sampling(nvml);
    pthread_mutex_destroy(&nvml->lock);
    pthread_cond_destroy(&nvml->wake);
    if (nvml->shut_down)
        nvml->shut_down();
    if (nvml->library)
        dlclose(nvml->library);
    mem_free(nvml);
}

void nvml_read(const struct nvml *nvml, struct nvml_reading *ret)
{
    *ret = (struct nvml_reading){NAN, NAN, NAN, (double)NAN};
    if (nvml)
        published_read(&nvml->shown, ret, sizeof *ret);
}

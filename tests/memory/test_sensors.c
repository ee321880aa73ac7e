/* Tests of a GPU's sensors, with a stand-in for NVIDIA's library: opened at run time, missed with a sentence.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <time.h>

#include "memory/nvml.h"
#include "unit.h"

static const char *stand_in(void)
{
    static char path[4096];
    const char *folder = getenv("top_builddir");
    snprintf(path, sizeof path, "%s/tests/memory/.libs/sensors.so", folder ? folder : ".");
    return path;
}

static void what_the_library_says_is_what_is_read(void **state)
{
    struct nvml_reading reading;
    const char *why = NULL;
    (void)state;
    unsetenv("CUDA_VISIBLE_DEVICES");
    struct nvml *nvml = nvml_open(stand_in(), 1, &why);
    if (!nvml)
        fail_msg("%s", why);
    nvml_read(nvml, &reading);
    assert_true(reading.busy == 0.75f && reading.celsius == 61.0f && reading.watts == 350.25f);
    assert_true(reading.joules >= 6.0);
    nvml_close(nvml);
}

static void a_sensor_that_a_device_has_not_is_not_a_number_and_the_others_are_there(void **state)
{
    struct nvml_reading reading;
    const char *why = NULL;
    (void)state;
    struct nvml *nvml = nvml_open(stand_in(), 0, &why);
    assert_non_null(nvml);
    nvml_read(nvml, &reading);
    assert_true(isnan(reading.watts) && reading.busy == 0.4f && reading.celsius == 50.0f);
    nvml_close(nvml);
}

static void devices_are_renumbered_as_cuda_shows_them(void **state)
{
    static const char *const shown[] = {"1,0", "GPU-second", "1"};
    struct nvml_reading reading;
    const char *why = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        setenv("CUDA_VISIBLE_DEVICES", shown[i], 1);
        struct nvml *nvml = nvml_open(stand_in(), 0, &why);
        assert_non_null(nvml);
        nvml_read(nvml, &reading);
        assert_true(reading.celsius == 61.0f);
        nvml_close(nvml);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void readings_go_on_by_themselves(void **state)
{
    struct nvml_reading first, now;
    const char *why = NULL;
    const struct timespec nap = {.tv_nsec = 20000000};
    (void)state;
    struct nvml *nvml = nvml_open(stand_in(), 0, &why);
    assert_non_null(nvml);
    nvml_read(nvml, &first);
    do { /* the event is waited for, not the clock */
        nanosleep(&nap, NULL);
        nvml_read(nvml, &now);
    } while (now.joules <= first.joules);
    nvml_close(nvml);
}

static void what_is_missing_is_said_in_a_sentence(void **state)
{
    struct nvml_reading reading;
    const char *why = NULL;
    (void)state;
    assert_null(nvml_open("/nowhere/libnvidia-ml.so.1", 0, &why));
    assert_non_null(strstr(why, "cannot be opened"));
    assert_null(nvml_open("libm.so.6", 0, &why));
    assert_non_null(strstr(why, "does not start"));
    assert_null(nvml_open(stand_in(), 7, &why));
    assert_non_null(strstr(why, "does not know this device"));
    nvml_read(NULL, &reading);
    assert_true(isnan(reading.busy) && isnan(reading.celsius) && isnan(reading.watts) &&
                isnan(reading.joules));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_library_says_is_what_is_read),
        cmocka_unit_test(a_sensor_that_a_device_has_not_is_not_a_number_and_the_others_are_there),
        cmocka_unit_test(devices_are_renumbered_as_cuda_shows_them),
        cmocka_unit_test(readings_go_on_by_themselves),
        cmocka_unit_test(what_is_missing_is_said_in_a_sentence),
    };
    return cmocka_run_group_tests_name("memory/sensors", tests, NULL, NULL);
}

/* Numbers as people read them: bytes, counts, durations, rates, shares, bars.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct human human_bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct human human;
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(human.text, sizeof human.text, "%u B", (unsigned)bytes);
    else
        snprintf(human.text, sizeof human.text, "%.*f %s",
                 value < 9.995   ? 2
                 : value < 99.95 ? 1
                                 : 0,
                 value, units[unit]);
    return human;
}

struct human human_count(uint64_t count)
{
    struct human human = {""};
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t out = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            human.text[out++] = ',';
        human.text[out++] = digits[i];
    }
    human.text[out] = '\0';
    return human;
}

struct human human_seconds(double seconds)
{
    struct human human;
    if (!(seconds >= 0) || seconds > 1e9) {
        snprintf(human.text, sizeof human.text, "?");
        return human;
    }
    unsigned long whole = (unsigned long)(seconds + 0.5);
    if (seconds < 9.995)
        snprintf(human.text, sizeof human.text, "%.2f s", seconds);
    else if (whole < 60)
        snprintf(human.text, sizeof human.text, "%lu s", whole);
    else if (whole < 3600)
        snprintf(human.text, sizeof human.text, "%lu min %lu s", whole / 60, whole % 60);
    else
        snprintf(human.text, sizeof human.text, "%lu h %lu min", whole / 3600, whole % 3600 / 60);
    return human;
}

struct human human_rate(double per_second)
{
    struct human human;
    if (!isfinite(per_second) || per_second < 0)
        snprintf(human.text, sizeof human.text, "?");
    else
        snprintf(human.text, sizeof human.text, "%.*f",
                 per_second < 1     ? 2
                 : per_second < 100 ? 1
                                    : 0,
                 per_second);
    return human;
}

struct human human_share(double share)
{
    struct human human;
    if (!isfinite(share))
        snprintf(human.text, sizeof human.text, "?");
    else if (share >= 1)
        snprintf(human.text, sizeof human.text, "100 %%");
    else
        snprintf(human.text, sizeof human.text, "%.1f %%", floor(fmax(share, 0) * 1000) / 10);
    return human;
}

struct human human_things(uint64_t count, const char *one)
{
    struct human human;
    struct human number = human_count(count);
    snprintf(human.text, sizeof human.text, "%.26s %.18s%s", number.text, one, count == 1 ? "" : "s");
    return human;
}

struct human human_bar(double share, size_t cells, bool unicode)
{
    struct human human = {""};
    size_t limit = unicode ? (sizeof human.text - 1) / 3 : 40;
    if (cells > limit)
        cells = limit;
    if (!isfinite(share) || share < 0)
        share = 0;
    size_t full = share >= 1 ? cells : (size_t)(share * (double)cells);
    if (share > 0 && !full)
        full = 1; /* something is not nothing */
    for (size_t i = 0; i < cells; i++)
        strcat(human.text, i < full ? (unicode ? "█" : "#") : (unicode ? "░" : "."));
    return human;
}

double human_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

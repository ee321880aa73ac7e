/* One line of progress on a terminal: phase, bar, rate, time left.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/meter.h"

#include <string.h>
#include <unistd.h>

#include "console/escape.h"
#include "console/human.h"
#include "console/terminal.h"

static const struct {
    const char *words, *unit; /* unit NULL: bytes */
} phases[] = {
    [LL_LOADING] = {"loading the model", NULL},     [LL_PREFILLING] = {"reading the prompt", "tokens/s"},
    [LL_DECODING] = {"writing", "tokens/s"},        [LL_READING] = {"reading the document", NULL},
    [LL_CHUNKING] = {"cutting into windows", NULL}, [LL_SUMMARIZING] = {"summarising", "windows/s"},
    [LL_FUSING] = {"joining the parts", "calls/s"},
    [LL_ASKING] = {"asking", "windows/s"},
};

const char *meter_phase_words(ll_phase phase)
{
    return (size_t)phase < sizeof phases / sizeof *phases ? phases[phase].words : "working";
}

void meter_init(struct meter *meter, int fd, bool on)
{
    *meter = (struct meter){
        .fd = on && terminal_draws(fd) ? fd : -1, .phase = -1, .hold = 1, .unicode = terminal_unicode()};
}

static void rate_append(const struct meter *meter, struct text *out, const ll_progress *progress, double rate)
{
    const char *unit = meter->unit;
    if (!unit && (size_t)progress->phase < sizeof phases / sizeof *phases)
        unit = phases[progress->phase].unit;
    if (unit)
        text_printf(out, "  %s %s", human_rate(rate).text, unit);
    else
        text_printf(out, "  %s/s", human_bytes((uint64_t)rate).text);
}

static void share_append(const struct meter *meter, struct text *out, const ll_progress *progress,
                         size_t columns)
{
    double share = progress->total ? (double)progress->done / (double)progress->total : 0;
    if (!progress->total) {
        text_printf(out, "  %s", human_count(progress->done).text);
        return;
    }
    if (columns >= 60)
        text_printf(out, "  %s", human_bar(share, columns >= 100 ? 15 : 10, meter->unicode).text);
    text_printf(out, "  %.0f %%", share > 1 ? 100 : share * 100);
}

void meter_line(const struct meter *meter, struct text *out, const ll_progress *progress, double elapsed,
                size_t columns)
{
    double work = progress->done > meter->first ? (double)(progress->done - meter->first) : 0;
    double rate = elapsed > 0 ? work / elapsed : 0;
    text_puts(out, meter->words ? meter->words : meter_phase_words(progress->phase));
    if (progress->label && *progress->label) {
        text_puts(out, ": ");
        escape_append_line(out, progress->label);
    }
    share_append(meter, out, progress, columns);
    if (rate > 0)
        rate_append(meter, out, progress, rate);
    if (rate > 0 && progress->total > progress->done)
        text_printf(out, "  %s left", human_seconds((double)(progress->total - progress->done) / rate).text);
}

static void meter_put(struct meter *meter, const struct text *line)
{
    if (!line->failed && write(meter->fd, line->bytes, line->length) < 0)
        meter->fd = -1; /* the terminal is gone: nothing to draw on */
}

static void meter_draw(struct meter *meter, const ll_progress *progress, double now)
{
    size_t columns = terminal_columns(meter->fd);
    struct text words = {0}, line = {0};
    meter_line(meter, &words, progress, now - meter->began, columns);
    text_puts(&line, "\r");
    text_append(&line, text_string(&words), text_fit(text_string(&words), columns > 1 ? columns - 1 : 1));
    text_puts(&line, "\033[K");
    meter_put(meter, &line);
    meter->shown = true;
    meter->drawn = now;
    text_fini(&words);
    text_fini(&line);
}

void meter_update(struct meter *meter, const ll_progress *progress)
{
    if (meter->fd < 0)
        return;
    double now = human_clock();
    if (meter->phase != (int)progress->phase) {
        meter->phase = (int)progress->phase;
        /* The first report may come late; its work counts from nothing only when nothing was done. */
        meter->first = progress->done;
        meter->began = now;
    }
    if (now - meter->began < meter->hold || now - meter->drawn < 0.1)
        return;
    meter_draw(meter, progress, now);
}

void meter_clear(struct meter *meter)
{
    struct text line = {0};
    if (meter->shown && meter->fd >= 0) {
        text_puts(&line, "\r\033[K");
        meter_put(meter, &line);
    }
    meter->shown = false;
    meter->phase = -1;
    text_fini(&line);
}

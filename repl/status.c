/* The status line of a conversation: what goes on, how full the context is, memory by component.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/status.h"

#include <string.h>

#include "console/human.h"
#include "console/meter.h"

enum { PARTS = 8 };

struct parts {
    struct text text[PARTS];
    size_t count;
};

static struct text *next_part(struct parts *parts)
{
    return &parts->text[parts->count < PARTS ? parts->count++ : PARTS - 1];
}

static void add_progress(struct parts *parts, const struct status *status)
{
    const struct feed_progress *p = &status->progress;
    struct text *part = next_part(parts);
    double elapsed = human_clock() - p->began;
    double rate = elapsed > 0 ? (double)(p->done - (p->first < p->done ? p->first : p->done)) / elapsed : 0;
    text_puts(part, meter_phase_words(p->phase));
    if (p->label[0])
        text_printf(part, " %s", p->label);
    if (p->total)
        text_printf(part, " %.0f %%", 100 * (double)p->done / (double)p->total);
    if (p->total > p->done && rate > 0)
        text_printf(part, ", %s left", human_seconds((double)(p->total - p->done) / rate).text);
}

static void add_activity(struct parts *parts, const struct status *status, const ll_session_stats *stats)
{
    double seconds = stats->decode_seconds - status->seconds_before;
    size_t decoded = stats->decoded - status->decoded_before;
    if (!status->busy) {
        text_puts(next_part(parts), text_string(&status->talk->work->label));
        return;
    }
    bool decoding = decoded && (!status->progress.active || status->progress.phase == LL_PREFILLING);
    if (decoding)
        text_printf(next_part(parts), "writing, %s tokens/s",
                    human_rate(stats->decode_rate > 0 ? stats->decode_rate : (double)decoded / seconds).text);
    else if (status->progress.active)
        add_progress(parts, status);
    else
        text_puts(next_part(parts), "working");
}

static void add_cache(struct parts *parts, const ll_session_stats *stats)
{
    double share = stats->cache_capacity ? (double)stats->position / (double)stats->cache_capacity : 0;
    text_printf(next_part(parts), "context %s/%s %s", human_count(stats->position).text,
                human_count(stats->cache_capacity).text, human_share(share).text);
}

static void add_reuse(struct parts *parts, const ll_session_stats *stats)
{
    if (stats->reused)
        text_printf(next_part(parts), "%s reused", human_count(stats->reused).text);
}

/* How far back the model looks, where that is not simply everything: as the backend counted it. */
static void add_sight(struct parts *parts, const struct talk *talk, const ll_session_stats *stats)
{
    if (stats->window)
        text_printf(next_part(parts), "window %s", human_count(stats->window).text);
    if (stats->reach && talk->work->info.position == LL_ALIBI)
        text_printf(next_part(parts), "ALiBi reach %s", human_count(stats->reach).text);
}

static void add_memory(struct parts *parts, const struct status *status, const ll_memory *memory)
{
    text_printf(next_part(parts), "%s %s/%s", status->talk->on_device ? "VRAM" : "RAM",
                human_bytes(memory->weights + memory->cache + memory->scratch).text,
                human_bytes(memory->total).text);
}

static void add_components(struct parts *parts, const ll_memory *memory, const ll_session_stats *stats)
{
    text_printf(next_part(parts), "weights %s, cache %s in %s, scratch %s", human_bytes(memory->weights).text,
                human_bytes(memory->cache).text, human_things(stats->cache_blocks, "block").text,
                human_bytes(memory->scratch).text);
}

/* Narrow terminals show how full the context is rather than which model is at rest. */
static size_t first_part(const struct parts *parts, const struct status *status, size_t columns)
{
    size_t name = text_columns(text_string(&parts->text[0]));
    size_t context = text_columns(text_string(&parts->text[1]));
    return !status->waiting && !status->busy && name + 3 + context > columns ? 1 : 0;
}

void status_line(const struct status *status, size_t columns, struct text *out)
{
    struct parts parts = {0};
    ll_session_stats stats;
    ll_memory memory;
    const char *gap = status->unicode ? " · " : " | ";
    if (!talk_gauge(status->talk, &stats, &memory))
        return;
    if (status->waiting)
        text_printf(next_part(&parts), "%zu waiting", status->waiting);
    add_activity(&parts, status, &stats);
    add_cache(&parts, &stats);
    add_memory(&parts, status, &memory);
    add_sight(&parts, status->talk, &stats);
    add_reuse(&parts, &stats);
    add_components(&parts, &memory, &stats);
    text_puts(out, status->styled ? "\033[2m" : "");
    size_t used = 0, first = first_part(&parts, status, columns);
    for (size_t i = first; i < parts.count; i++) {
        size_t width = text_columns(text_string(&parts.text[i])) + (i > first ? 3 : 0);
        if (used + width > columns)
            break;
        text_printf(out, "%s%s", i > first ? gap : "", text_string(&parts.text[i]));
        used += width;
    }
    text_puts(out, status->styled ? "\033[0m" : "");
    for (size_t i = 0; i < PARTS; i++)
        text_fini(&parts.text[i]);
}

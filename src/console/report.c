/* What a running program says of itself (console/beacon.h), read and checked: it may say anything.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* struct ucred */
#include "console/report.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "console/escape.h"
#include "console/human.h"
#include "console/meeting.h"

/* ---- from JSON ---- */

static uint64_t read_count(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static double read_number(const json_t *object, const char *key, double fallback)
{
    const json_t *value = json_object_get(object, key);
    double number = json_is_number(value) ? json_number_value(value) : fallback;
    return isfinite(number) ? number : fallback;
}

static void read_word(const json_t *object, const char *key, char *out, size_t size)
{
    const char *word = json_string_value(json_object_get(object, key));
    size_t fits = word ? strlen(word) : 0;
    if (fits >= size)
        for (fits = size - 1; fits && ((unsigned char)word[fits] & 0xC0) == 0x80; fits--)
            continue;
    if (fits)
        memcpy(out, word, fits);
    out[fits] = '\0';
}

static void read_device(const json_t *device, struct report *report)
{
    const json_t *components = json_object_get(device, "components");
    ll_memory *memory = &report->memory;
    read_word(device, "name", report->device, sizeof report->device);
    memory->total = read_count(device, "total");
    memory->free = read_count(device, "free");
    memory->limit = read_count(device, "limit");
    for (int i = 0; i < LL_COMPONENTS; i++) {
        const json_t *row = json_object_get(components, ll_component_name((ll_component)i));
        memory->used[i] = read_count(row, "used");
        memory->reserved[i] = read_count(row, "reserved");
        memory->peak[i] = read_count(row, "peak");
    }
    memory->busy = (float)read_number(device, "busy", (double)NAN);
    memory->celsius = (float)read_number(device, "celsius", (double)NAN);
    memory->watts = (float)read_number(device, "watts", (double)NAN);
}

static void read_session(const json_t *object, ll_session_stats *s)
{
    s->position = (size_t)read_count(object, "position");
    s->cache_capacity = (size_t)read_count(object, "capacity");
    s->reused = (size_t)read_count(object, "reused");
    s->block_tokens = (size_t)read_count(object, "block_tokens");
    s->cache_blocks = (size_t)read_count(object, "blocks_used");
    s->blocks_shared = (size_t)read_count(object, "blocks_shared");
    s->blocks_free = (size_t)read_count(object, "blocks_free");
    s->cache_bytes = read_count(object, "cache_bytes");
    s->cache_used_bytes = read_count(object, "cache_used_bytes");
    s->prefill_rate = read_number(object, "prefill_rate", 0);
    s->decode_rate = read_number(object, "decode_rate", 0);
}

static uint32_t small(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static int compare_windows(const void *a, const void *b)
{
    const ll_window_work *x = a, *y = b;
    return (x->window > y->window) - (x->window < y->window);
}

static void read_activity(const json_t *object, ll_activity *activity)
{
    const json_t *now = json_object_get(object, "now");
    size_t count = json_array_size(now);
    activity->windows = (size_t)read_count(object, "windows");
    activity->finished = (size_t)read_count(object, "finished");
    activity->blocks_used = (size_t)read_count(object, "blocks_used");
    activity->blocks_shared = (size_t)read_count(object, "blocks_shared");
    activity->blocks_free = (size_t)read_count(object, "blocks_free");
    activity->block_tokens = (size_t)read_count(object, "block_tokens");
    activity->running = count < LL_WINDOWS_AT_ONCE ? count : LL_WINDOWS_AT_ONCE;
    for (size_t i = 0; i < activity->running; i++) {
        const json_t *row = json_array_get(now, i);
        activity->now[i] =
            (ll_window_work){small(read_count(row, "window")), small(read_count(row, "prompt")),
                             small(read_count(row, "read")), small(read_count(row, "written"))};
    }
    qsort(activity->now, activity->running, sizeof *activity->now, compare_windows);
}

bool report_read(const char *bytes, size_t length, struct report *ret)
{
    json_t *root = length <= REPORT_BYTES ? json_loadb(bytes, length, 0, NULL) : NULL;
    *ret = (struct report){0};
    if (!root || read_count(root, "report") != 1) {
        json_decref(root);
        return false;
    }
    read_word(root, "program", ret->program, sizeof ret->program);
    read_word(root, "verb", ret->verb, sizeof ret->verb);
    read_word(root, "version", ret->version, sizeof ret->version);
    read_word(root, "model", ret->model, sizeof ret->model);
    uint64_t pid = read_count(root, "pid");
    ret->pid = pid <= INT32_MAX ? (long)pid : 0;
    ret->began = (int64_t)read_count(root, "began");
    ret->working = json_is_string(json_object_get(root, "phase"));
    read_word(root, "phase", ret->phase, sizeof ret->phase);
    read_word(root, "label", ret->label, sizeof ret->label);
    ret->done = read_count(root, "done");
    ret->total = read_count(root, "total");
    ret->phase_seconds = read_number(root, "phase_seconds", 0);
    const json_t *memory = json_object_get(root, "memory"), *session = json_object_get(memory, "session");
    ret->with_memory = json_is_object(memory);
    ret->with_session = json_is_object(session);
    read_device(json_array_get(json_object_get(memory, "devices"), 0), ret);
    ret->memory.resident = read_count(memory, "resident");
    ret->memory.resident_peak = read_count(memory, "resident_peak");
    read_session(session, &ret->session);
    read_activity(json_object_get(root, "activity"), &ret->activity);
    json_decref(root);
    return true;
}

double report_time_left(const struct report *report)
{
    if (!report->working || !report->done || report->done >= report->total || report->phase_seconds <= 0)
        return 0;
    return report->phase_seconds * (double)(report->total - report->done) / (double)report->done;
}

/* ---- as text ---- */

static void show_work(const struct report *report, struct text *out)
{
    if (!report->working) {
        text_puts(out, "  waiting\n");
        return;
    }
    text_puts(out, "  ");
    escape_append_line(out, report->phase);
    if (report->label[0]) {
        text_puts(out, ", ");
        escape_append_line(out, report->label);
    }
    if (report->done && !report->total)
        text_printf(out, ", %s so far", human_count(report->done).text);
    if (report->total)
        text_printf(out, ", %s", human_share((double)report->done / (double)report->total).text);
    double left = report_time_left(report);
    if (left > 0)
        text_printf(out, ", %s left", human_seconds(left).text);
    text_putc(out, '\n');
}

static void show_windows(const ll_activity *activity, struct text *out)
{
    if (!activity->windows)
        return;
    text_printf(out, "  windows: %zu of %zu finished, %zu running\n", activity->finished, activity->windows,
                activity->running);
    for (size_t i = 0; i < activity->running; i++)
        text_printf(out,
                    "    window %" PRIu32 ": %" PRIu32 " of %" PRIu32 " tokens read, %" PRIu32 " written\n",
                    activity->now[i].window + 1, activity->now[i].read, activity->now[i].prompt,
                    activity->now[i].written);
}

void report_show(const struct report *report, struct text *out)
{
    escape_append_line(out, report->program);
    text_putc(out, ' ');
    escape_append_line(out, report->verb);
    text_printf(out, ", process %ld", report->pid);
    if (report->model[0]) {
        text_puts(out, ", ");
        escape_append_line(out, report->model);
    }
    text_putc(out, '\n');
    show_work(report, out);
    for (int i = 0; report->with_memory && i < LL_COMPONENTS; i++)
        text_printf(out, "  %-10s %12s used %12s reserved %12s at the most\n",
                    ll_component_name((ll_component)i), human_bytes(report->memory.used[i]).text,
                    human_bytes(report->memory.reserved[i]).text, human_bytes(report->memory.peak[i]).text);
    if (report->with_session)
        text_printf(
            out, "  context    %s of %s tokens, %s reused; %zu KV blocks used, %zu shared, %zu free\n",
            human_count(report->session.position).text, human_count(report->session.cache_capacity).text,
            human_count(report->session.reused).text, report->session.cache_blocks,
            report->session.blocks_shared, report->session.blocks_free);
    show_windows(&report->activity, out);
}

/* ---- who is there ---- */

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return x < y ? -1 : x > y;
}

bool report_find(long pids[REPORT_PROGRAMS], size_t *ret_count, struct text *problem)
{
    struct text why = {0};
    *ret_count = 0;
    int folder = meeting_open(false, &why);
    if (folder < 0 && errno != ENOENT)
        text_puts(problem, text_string(&why));
    text_fini(&why);
    DIR *list = folder >= 0 ? fdopendir(folder) : NULL;
    struct dirent *entry;
    while (list && *ret_count < REPORT_PROGRAMS && (entry = readdir(list))) {
        long pid = 0;
        int end = 0;
        if (sscanf(entry->d_name, "%9ld.sock%n", &pid, &end) == 1 && end && !entry->d_name[end] && pid > 0)
            pids[(*ret_count)++] = pid;
    }
    if (list)
        closedir(list);
    else if (folder >= 0)
        close(folder);
    qsort(pids, *ret_count, sizeof *pids, compare);
    return problem->length == 0;
}

/* Who listens there must be this user, whatever the folder's rights say. */
static bool is_ours(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

/* Who is stopped (Ctrl-Z) takes callers and never answers. */
static bool read_all(int fd, const struct report_patience *patience, struct text *text, bool *ret_woken)
{
    double limit = human_clock() + 1;
    char block[1 << 13];
    for (;;) {
        struct pollfd wait[1 + REPORT_WAKERS] = {{.fd = fd, .events = POLLIN}};
        double left = limit - human_clock();
        if (left <= 0 || text->length > REPORT_BYTES)
            return false;
        for (int i = 0; i < REPORT_WAKERS; i++)
            wait[1 + i] = (struct pollfd){.fd = patience ? patience->wakers[i] : -1, .events = POLLIN};
        poll(wait, 1 + REPORT_WAKERS, (int)(left * 1000) + 1);
        for (int i = 0; i < REPORT_WAKERS && !wait[0].revents; i++)
            *ret_woken |= wait[1 + i].revents != 0;
        if (*ret_woken)
            return false;
        ssize_t got = recv(fd, block, sizeof block, MSG_DONTWAIT);
        if (got == 0)
            return text->length && !text->failed;
        if (got > 0)
            text_append(text, block, (size_t)got);
        else if (errno != EAGAIN && errno != EINTR)
            return false;
    }
}

bool report_fetch(long pid, const struct report_patience *patience, struct text *text, struct text *problem)
{
    char name[32];
    struct sockaddr_un address;
    int folder = meeting_open(false, problem);
    if (folder < 0)
        return false;
    snprintf(name, sizeof name, "%ld.sock", pid);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool there = fd >= 0 && meeting_address(folder, name, &address) &&
                 connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    bool full = !there && fd >= 0 && errno == EAGAIN; /* of callers that it has not answered yet */
    bool ours = there && is_ours(fd);
    bool woken = false, ok = ours && read_all(fd, patience, text, &woken);
    if (!there && !full)
        text_printf(problem, "no longleaf of yours runs as process %ld", pid);
    else if (there && !ours)
        text_printf(problem, "process %ld is another user's", pid);
    else if (!ok && !woken)
        text_printf(problem, "process %ld does not answer; it may be stopped", pid);
    if (fd >= 0)
        close(fd);
    close(folder);
    return ok;
}

/* Shows the same user's other programs what this one does: a socket that answers each caller with a report.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4, struct ucred */
#include "console/beacon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "console/human.h"
#include "console/meeting.h"
#include "console/memory.h"
#include "console/meter.h"

struct beacon {
    pthread_mutex_t mutex; /* for all that is told */
    char program[32], verb[16], model[128], label[128];
    const ll_engine *engine;
    const ll_session *session;
    int64_t began; /* milliseconds since 1970 */
    bool working;
    ll_phase phase;
    uint64_t done, total;
    double phase_began;
    int folder, listener, stop[2]; /* -1: nobody can call */
    char name[32];                 /* of the socket in the folder; empty: there is none */
    pthread_t thread;
};

/* ---- the report ---- */

static json_t *count_json(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *activity_json(const ll_activity *activity)
{
    json_t *object = json_object(), *now = json_array();
    json_object_set_new(object, "windows", count_json(activity->windows));
    json_object_set_new(object, "finished", count_json(activity->finished));
    json_object_set_new(object, "blocks_used", count_json(activity->blocks_used));
    json_object_set_new(object, "blocks_shared", count_json(activity->blocks_shared));
    json_object_set_new(object, "blocks_free", count_json(activity->blocks_free));
    json_object_set_new(object, "block_tokens", count_json(activity->block_tokens));
    for (size_t i = 0; i < activity->running; i++) {
        const ll_window_work *work = &activity->now[i];
        json_t *row = json_object();
        json_object_set_new(row, "window", count_json(work->window));
        json_object_set_new(row, "prompt", count_json(work->prompt));
        json_object_set_new(row, "read", count_json(work->read));
        json_object_set_new(row, "written", count_json(work->written));
        json_array_append_new(now, row);
    }
    json_object_set_new(object, "now", now);
    return object;
}

/* Windows are computed before the first of them is finished and reported. */
static void phase_json(const struct beacon *beacon, const ll_activity *activity, json_t *report)
{
    if (!beacon->working)
        return;
    if (activity->windows && beacon->phase == LL_CHUNKING) {
        json_object_set_new(report, "phase", json_string(meter_phase_words(LL_SUMMARIZING)));
        json_object_set_new(report, "done", count_json(activity->finished));
        json_object_set_new(report, "total", count_json(activity->windows));
        return;
    }
    json_object_set_new(report, "phase", json_string(meter_phase_words(beacon->phase)));
    json_object_set_new(report, "label", json_string(beacon->label));
    json_object_set_new(report, "done", count_json(beacon->done));
    json_object_set_new(report, "total", count_json(beacon->total));
    json_object_set_new(report, "phase_seconds", json_real(human_clock() - beacon->phase_began));
}

/* Under the mutex, so that nothing is closed meanwhile. */
static json_t *report_json(const struct beacon *beacon)
{
    json_t *report = json_object();
    ll_activity activity = {0};
    if (beacon->engine)
        ll_engine_get_activity(beacon->engine, &activity);
    json_object_set_new(report, "report", json_integer(1));
    json_object_set_new(report, "program", json_string(beacon->program));
    json_object_set_new(report, "verb", json_string(beacon->verb));
    json_object_set_new(report, "version", json_string(ll_version()));
    json_object_set_new(report, "pid", json_integer((json_int_t)getpid()));
    json_object_set_new(report, "began", json_integer((json_int_t)beacon->began));
    json_object_set_new(report, "model", json_string(beacon->model));
    phase_json(beacon, &activity, report);
    if (!beacon->engine)
        return report;
    json_object_set_new(report, "memory", memory_json(beacon->engine, beacon->session));
    if (activity.windows)
        json_object_set_new(report, "activity", activity_json(&activity));
    return report;
}

void beacon_report(struct beacon *beacon, struct text *out)
{
    if (!beacon)
        return;
    pthread_mutex_lock(&beacon->mutex);
    json_t *report = report_json(beacon);
    pthread_mutex_unlock(&beacon->mutex);
    char *line = json_dumps(report, JSON_COMPACT);
    json_decref(report);
    text_puts(out, line ? line : "");
    text_putc(out, '\n');
    out->failed = out->failed || !line;
    free(line);
}

/* ---- callers ---- */

static bool is_allowed(int caller)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(caller, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

/* A report fits in the socket's own buffer; a caller that leaves it full gets a part and is let go. */
static void answer(struct beacon *beacon, int caller)
{
    struct text report = {0};
    if (is_allowed(caller)) {
        beacon_report(beacon, &report);
        if (!report.failed)
            (void)!send(caller, report.bytes, report.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    text_fini(&report);
    close(caller);
}

static void *serve(void *user)
{
    struct beacon *beacon = user;
    prctl(PR_SET_NAME, "ll-beacon");
    struct pollfd wait[2] = {{.fd = beacon->listener, .events = POLLIN},
                             {.fd = beacon->stop[0], .events = POLLIN}};
    for (;;) {
        int ready = poll(wait, 2, -1);
        if (ready < 0 && errno != EINTR)
            return NULL;
        if (ready > 0 && wait[1].revents)
            return NULL;
        int caller = ready > 0 ? accept4(beacon->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
        if (caller >= 0)
            answer(beacon, caller);
        else if (ready > 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            poll(&wait[1], 1, 200); /* no descriptors left: not in a circle */
    }
}

/* ---- opening and closing ---- */

/* What programs left that were killed: nobody answers there any more. */
static void sweep(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    struct dirent *entry;
    while (list && (entry = readdir(list))) {
        struct sockaddr_un address;
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".sock") != 0 ||
            !meeting_address(folder, entry->d_name, &address))
            continue;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED)
            unlinkat(folder, entry->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (list)
        closedir(list);
    else if (again >= 0)
        close(again);
}

/* The name by which it is found comes last: until it listens, others would sweep it away. */
static bool listen_there(struct beacon *beacon)
{
    struct sockaddr_un address;
    struct text problem = {0};
    char early[32], name[32];
    beacon->folder = meeting_open(true, &problem);
    text_fini(&problem);
    snprintf(early, sizeof early, "%ld.new", (long)getpid());
    snprintf(name, sizeof name, "%ld.sock", (long)getpid());
    if (beacon->folder < 0 || !meeting_address(beacon->folder, early, &address))
        return false;
    sweep(beacon->folder);
    unlinkat(beacon->folder, early, 0); /* of one that had this number and was killed just then */
    beacon->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (beacon->listener < 0 || bind(beacon->listener, (struct sockaddr *)&address, sizeof address) != 0)
        return false;
    if (listen(beacon->listener, 8) == 0 && pipe2(beacon->stop, O_CLOEXEC | O_NONBLOCK) == 0 &&
        renameat2(beacon->folder, early, beacon->folder, name, RENAME_NOREPLACE) == 0) {
        memcpy(beacon->name, name, sizeof name);
        return true;
    }
    unlinkat(beacon->folder, early, 0);
    return false;
}

static bool start_thread(struct beacon *beacon)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for other threads */
    bool started = pthread_create(&beacon->thread, NULL, serve, beacon) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void close_socket(struct beacon *beacon)
{
    if (beacon->name[0])
        unlinkat(beacon->folder, beacon->name, 0);
    if (beacon->listener >= 0)
        close(beacon->listener);
    for (int i = 0; i < 2; i++)
        if (beacon->stop[i] >= 0)
            close(beacon->stop[i]);
    if (beacon->folder >= 0)
        close(beacon->folder);
    beacon->listener = beacon->folder = beacon->stop[0] = beacon->stop[1] = -1;
}

struct beacon *beacon_open(const char *program, const char *verb)
{
    struct beacon *beacon = calloc(1, sizeof *beacon);
    struct timespec now;
    if (!beacon)
        return NULL;
    *beacon = (struct beacon){.folder = -1, .listener = -1, .stop = {-1, -1}};
    pthread_mutex_init(&beacon->mutex, NULL);
    clock_gettime(CLOCK_REALTIME, &now);
    beacon->began = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    snprintf(beacon->program, sizeof beacon->program, "%s", program);
    snprintf(beacon->verb, sizeof beacon->verb, "%s", verb);
    if (!listen_there(beacon) || !start_thread(beacon))
        close_socket(beacon);
    return beacon;
}

void beacon_close(struct beacon *beacon)
{
    if (!beacon)
        return;
    if (beacon->listener >= 0) {
        (void)!write(beacon->stop[1], "", 1);
        pthread_join(beacon->thread, NULL);
        close_socket(beacon);
    }
    pthread_mutex_destroy(&beacon->mutex);
    free(beacon);
}

/* ---- what is told ---- */

void beacon_watch(struct beacon *beacon, const char *model, const ll_engine *engine,
                  const ll_session *session)
{
    if (!beacon)
        return;
    pthread_mutex_lock(&beacon->mutex);
    snprintf(beacon->model, sizeof beacon->model, "%s", model ? model : "");
    beacon->engine = engine;
    beacon->session = session;
    pthread_mutex_unlock(&beacon->mutex);
}

void beacon_leave(struct beacon *beacon, const ll_engine *engine)
{
    if (!beacon)
        return;
    pthread_mutex_lock(&beacon->mutex);
    if (beacon->engine == engine) {
        beacon->engine = NULL;
        beacon->session = NULL;
    }
    pthread_mutex_unlock(&beacon->mutex);
}

void beacon_token(struct beacon *beacon)
{
    if (!beacon)
        return;
    pthread_mutex_lock(&beacon->mutex);
    if (!beacon->working || beacon->phase != LL_DECODING) {
        beacon->working = true;
        beacon->phase = LL_DECODING;
        beacon->phase_began = human_clock();
        beacon->done = beacon->total = 0;
        beacon->label[0] = '\0';
    }
    beacon->done++;
    pthread_mutex_unlock(&beacon->mutex);
}

void beacon_progress(struct beacon *beacon, const ll_progress *progress)
{
    if (!beacon)
        return;
    pthread_mutex_lock(&beacon->mutex);
    if (progress && (!beacon->working || beacon->phase != progress->phase))
        beacon->phase_began = human_clock();
    beacon->working = progress != NULL;
    if (progress) {
        beacon->phase = progress->phase;
        beacon->done = progress->done;
        beacon->total = progress->total;
        snprintf(beacon->label, sizeof beacon->label, "%s", progress->label ? progress->label : "");
    }
    pthread_mutex_unlock(&beacon->mutex);
}

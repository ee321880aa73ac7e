/* From the engine's thread to the screen's: text in the order it came, and the latest progress.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/feed.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "console/human.h"
#include "console/text.h"

struct piece {
    enum feed_kind kind;
    size_t end; /* in the text */
};

struct feed {
    pthread_mutex_t mutex;
    struct text text;
    struct piece *pieces;
    size_t count, room;
    struct feed_progress progress;
    int pipe[2];
};

struct feed *feed_open(void)
{
    struct feed *feed = calloc(1, sizeof *feed);
    if (!feed || pipe(feed->pipe) != 0) {
        free(feed);
        return NULL;
    }
    pthread_mutex_init(&feed->mutex, NULL);
    for (int i = 0; i < 2; i++) {
        fcntl(feed->pipe[i], F_SETFL, O_NONBLOCK);
        fcntl(feed->pipe[i], F_SETFD, FD_CLOEXEC);
    }
    return feed;
}

void feed_close(struct feed *feed)
{
    if (!feed)
        return;
    close(feed->pipe[0]);
    close(feed->pipe[1]);
    text_fini(&feed->text);
    free(feed->pieces);
    pthread_mutex_destroy(&feed->mutex);
    free(feed);
}

void feed_wake(struct feed *feed)
{
    ssize_t ignored = write(feed->pipe[1], "", 1); /* a full pipe wakes, too */
    (void)ignored;
}

static bool add_piece(struct feed *feed, enum feed_kind kind)
{
    if (feed->count == feed->room) {
        size_t room = feed->room * 2 + 16;
        struct piece *pieces = realloc(feed->pieces, room * sizeof *pieces);
        if (!pieces)
            return false;
        feed->pieces = pieces;
        feed->room = room;
    }
    feed->pieces[feed->count++] = (struct piece){kind, feed->text.length};
    return true;
}

void feed_put(struct feed *feed, enum feed_kind kind, const char *bytes, size_t length)
{
    pthread_mutex_lock(&feed->mutex);
    bool first = feed->count == 0;
    if (first || feed->pieces[feed->count - 1].kind != kind)
        add_piece(feed, kind);
    text_append(&feed->text, bytes, length);
    if (feed->count)
        feed->pieces[feed->count - 1].end = feed->text.length;
    pthread_mutex_unlock(&feed->mutex);
    if (first)
        feed_wake(feed);
}

void feed_put_progress(struct feed *feed, const ll_progress *progress)
{
    pthread_mutex_lock(&feed->mutex);
    struct feed_progress *p = &feed->progress;
    if (progress && (!p->active || p->phase != progress->phase)) {
        p->began = human_clock();
        p->first = progress->done;
    }
    p->active = progress != NULL;
    if (progress) {
        p->phase = progress->phase;
        p->done = progress->done;
        p->total = progress->total;
        snprintf(p->label, sizeof p->label, "%s", progress->label ? progress->label : "");
    }
    pthread_mutex_unlock(&feed->mutex);
}

int feed_descriptor(const struct feed *feed)
{
    return feed->pipe[0];
}

void feed_drain(struct feed *feed)
{
    char bytes[256];
    while (read(feed->pipe[0], bytes, sizeof bytes) > 0) {
    }
}

void feed_take(struct feed *feed, feed_fn each, void *user)
{
    pthread_mutex_lock(&feed->mutex);
    struct text text = feed->text;
    struct piece *pieces = feed->pieces;
    size_t count = feed->count, at = 0;
    feed->text = (struct text){0};
    feed->pieces = NULL;
    feed->count = feed->room = 0;
    pthread_mutex_unlock(&feed->mutex);
    for (size_t i = 0; i < count; i++) {
        each(user, pieces[i].kind, text.bytes + at, pieces[i].end - at);
        at = pieces[i].end;
    }
    text_fini(&text);
    free(pieces);
}

void feed_get_progress(struct feed *feed, struct feed_progress *ret)
{
    pthread_mutex_lock(&feed->mutex);
    *ret = feed->progress;
    pthread_mutex_unlock(&feed->mutex);
}

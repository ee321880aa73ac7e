/* SVG pictures as PNG, by rsvg-convert where it is installed, for readers that draw no SVG.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/raster.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/human.h"

enum { MOST_PNG = 4 << 20 };
static const double patience = 5; /* seconds */

extern char **environ;

struct child {
    pid_t pid;
    int in, out; /* our ends */
};

static bool make_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    if (fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0)
        return true;
    close(ends[0]);
    close(ends[1]);
    return false;
}

static bool make_pipes(int in[2], int out[2])
{
    if (!make_pipe(in))
        return false;
    if (make_pipe(out))
        return true;
    close(in[0]);
    close(in[1]);
    return false;
}

/* Signals are at their usual meaning in the child, whatever the kernel does with them. */
static bool set_signals(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    return posix_spawnattr_setsigdefault(attributes, &all) == 0 &&
           posix_spawnattr_setsigmask(attributes, &none) == 0 &&
           posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) == 0;
}

static bool spawn(int in, int out, pid_t *ret)
{
    char program[] = "rsvg-convert", format[] = "--format=png";
    char *words[] = {program, format, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    bool ok = set_signals(&attributes) && posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO) == 0 &&
              posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
              posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawnp(ret, words[0], &actions, &attributes, words, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return ok;
}

static bool start(struct child *child)
{
    int in[2], out[2];
    if (!make_pipes(in, out))
        return false;
    bool ok = fcntl(in[1], F_SETFL, O_NONBLOCK) == 0 && fcntl(out[0], F_SETFL, O_NONBLOCK) == 0 &&
              spawn(in[0], out[1], &child->pid);
    close(in[0]);
    close(out[1]);
    child->in = in[1];
    child->out = out[0];
    if (ok)
        return true;
    close(child->in);
    close(child->out);
    return false;
}

/* Closes the child's input when all is written, or when it wants no more. */
static void give(struct child *child, const struct text *svg, size_t *at)
{
    ssize_t wrote = write(child->in, svg->bytes + *at, svg->length - *at);
    if (wrote > 0)
        *at += (size_t)wrote;
    if (*at < svg->length && (wrote > 0 || errno == EAGAIN || errno == EINTR))
        return;
    close(child->in);
    child->in = -1;
}

/* False: the output has ended, or has become too long. */
static bool take(const struct child *child, struct text *png)
{
    char bytes[8192];
    ssize_t got = read(child->out, bytes, sizeof bytes);
    if (got > 0)
        text_append(png, bytes, (size_t)got);
    return got > 0 ? png->length <= MOST_PNG && !png->failed : got < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool talk_to(struct child *child, const struct text *svg, struct text *png)
{
    double end = human_clock() + patience;
    size_t at = 0;
    for (;;) {
        struct pollfd fds[] = {{.fd = child->out, .events = POLLIN}, {.fd = child->in, .events = POLLOUT}};
        double left = end - human_clock();
        if (left <= 0)
            return false;
        if (poll(fds, 2, (int)(left * 1e3) + 1) < 0 && errno != EINTR)
            return false;
        if (fds[1].revents)
            give(child, svg, &at);
        if (fds[0].revents && !take(child, png))
            return at == svg->length;
    }
}

static bool end(struct child *child, bool well)
{
    int status = 0;
    if (child->in >= 0)
        close(child->in);
    close(child->out);
    if (!well)
        kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void write_base64(const struct text *png, struct text *out)
{
    enum { PIECE = 3 * 1024 };
    unsigned char digits[PIECE / 3 * 4 + 1];
    for (size_t at = 0; at < png->length; at += PIECE) {
        size_t length = png->length - at < PIECE ? png->length - at : PIECE;
        int written = EVP_EncodeBlock(digits, (const unsigned char *)png->bytes + at, (int)length);
        text_append(out, (const char *)digits, (size_t)written);
    }
}

bool raster_png(const struct text *svg, struct text *ret)
{
    static const char magic[] = "\x89PNG\r\n\x1a\n";
    struct child child;
    struct text png = {0};
    if (svg->failed || !svg->length || !start(&child))
        return false;
    bool ok = end(&child, talk_to(&child, svg, &png));
    ok = ok && !png.failed && png.length > sizeof magic && memcmp(png.bytes, magic, sizeof magic - 1) == 0;
    if (ok)
        write_base64(&png, ret);
    text_fini(&png);
    return ok && !ret->failed;
}

/* The user's own text editor, for a message that wants more than a line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/editor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

static bool read_all(const char *path, struct text *out)
{
    char block[1 << 12];
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && ((got = read(fd, block, sizeof block)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0)
            text_append(out, block, (size_t)got);
    if (fd >= 0)
        close(fd);
    while (out->length && out->bytes[out->length - 1] == '\n')
        out->bytes[--out->length] = '\0';
    return fd >= 0 && got == 0 && !out->failed;
}

static const char *chosen_editor(void)
{
    const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");
    return visual && *visual ? visual : editor && *editor ? editor : "vi";
}

/* The shell splits what EDITOR holds, as every program lets it. The editor gets the signals' defaults. */
static int run(const char *editor, const char *path)
{
    struct text command = {0};
    int status = -1;
    text_printf(&command, "%s \"$1\"", editor);
    pid_t child = command.failed ? -1 : fork();
    if (child == 0) {
        static const int signals[] = {SIGINT, SIGTERM, SIGPIPE, SIGTSTP, SIGWINCH, SIGCONT, SIGHUP};
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            signal(signals[i], SIG_DFL);
        execl("/bin/sh", "sh", "-c", text_string(&command), "sh", path, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    text_fini(&command);
    return status;
}

bool editor_run(struct text *text, struct text *problem)
{
    const char *folder = getenv("TMPDIR");
    struct text path = {0}, changed = {0};
    text_printf(&path, "%s/longleaf-message.XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = path.failed ? -1 : mkstemp(path.bytes);
    bool ok = fd >= 0 && write_all(fd, text_string(text), text->length);
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (!ok) {
        text_printf(problem, "the message could not be written for the editor: %s", strerror(errno));
    } else if (run(chosen_editor(), text_string(&path)) != 0) {
        text_printf(problem, "the editor “%s” failed, so the message is as it was; $EDITOR names another",
                    chosen_editor());
        ok = false;
    } else if (!read_all(text_string(&path), &changed)) {
        text_puts(problem, "what the editor saved could not be read, so the message is as it was");
        ok = false;
    }
    if (fd >= 0)
        unlink(text_string(&path));
    if (ok) {
        text_fini(text);
        *text = changed;
    } else {
        text_fini(&changed);
    }
    text_fini(&path);
    return ok;
}

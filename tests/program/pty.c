/* pty SCRIPT TRANSCRIPT COMMAND…: runs a command in a terminal of its own and types as a person would.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The script has a step a line:
 *   expect TEXT    waits until the output after the last match holds TEXT (60 seconds at most)
 *   output         waits until anything comes after the last match
 *   send TEXT      types; \r \n \e \t \\ and \xHH are understood
 *   paste COUNT    types COUNT bytes of numbered lines inside the marks of a bracketed paste
 *   resize COLUMNS ROWS
 *   hangup         closes the terminal
 *   end            waits until the command ends (60 seconds at most)
 * Ends with the command's exit status, 128 + N when a signal ended it, 99 when a step failed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 60

struct session {
    int terminal;
    pid_t child;
    char *output; /* all so far */
    size_t length, room, matched;
    bool ended; /* the terminal's other side is closed */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Takes what the terminal has to say within so many milliseconds. False: nothing came. */
static bool take(struct session *session, int milliseconds)
{
    struct pollfd wait = {.fd = session->terminal, .events = POLLIN};
    if (session->ended || poll(&wait, 1, milliseconds) <= 0)
        return false;
    if (session->length + 65536 > session->room) {
        session->room = session->length * 2 + 131072;
        session->output = realloc(session->output, session->room);
        if (!session->output)
            exit(99);
    }
    ssize_t got = read(session->terminal, session->output + session->length, 65536);
    if (got <= 0)
        session->ended = got == 0 || errno != EAGAIN;
    else
        session->length += (size_t)got;
    return got > 0;
}

static bool step_expect(struct session *session, const char *text)
{
    double limit = now() + WAIT_SECONDS;
    size_t length = strlen(text);
    while (now() < limit) {
        char *from = session->output ? session->output + session->matched : NULL;
        char *found = from ? memmem(from, session->length - session->matched, text, length) : NULL;
        if (found) {
            session->matched = (size_t)(found - session->output) + length;
            return true;
        }
        if (!take(session, 100) && session->ended)
            break;
    }
    fprintf(stderr, "pty: the output lacks: %s\n", text);
    return false;
}

static bool step_output(struct session *session)
{
    double limit = now() + WAIT_SECONDS;
    while (session->length == session->matched && !session->ended && now() < limit)
        take(session, 100);
    bool came = session->length > session->matched;
    session->matched = session->length;
    return came;
}

static size_t unescape(char *text)
{
    char *out = text;
    for (char *in = text; *in; in++) {
        if (*in != '\\' || !in[1]) {
            *out++ = *in;
            continue;
        }
        in++;
        if (*in == 'x' && in[1] && in[2]) {
            char digits[3] = {in[1], in[2], '\0'};
            *out++ = (char)strtol(digits, NULL, 16);
            in += 2;
        } else {
            *out++ = *in == 'r' ? '\r' : *in == 'n' ? '\n' : *in == 'e' ? '\033' : *in == 't' ? '\t' : *in;
        }
    }
    return (size_t)(out - text);
}

/* Writes all, and takes output meanwhile: a terminal whose both sides are full would wait for ever. */
static bool type(struct session *session, const char *bytes, size_t length)
{
    double limit = now() + WAIT_SECONDS;
    fcntl(session->terminal, F_SETFL, O_NONBLOCK);
    while (length && now() < limit && !session->ended) {
        ssize_t written = write(session->terminal, bytes, length);
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno != EAGAIN) {
            break;
        }
        take(session, written > 0 ? 0 : 20);
    }
    if (length)
        fprintf(stderr, "pty: %zu bytes could not be typed\n", length);
    return length == 0;
}

static bool step_paste(struct session *session, size_t count)
{
    char *paste = malloc(count + 64);
    if (!paste)
        return false;
    size_t at = (size_t)sprintf(paste, "\033[200~"), end = at + count;
    for (size_t line = 0; at < end; line++) {
        char text[32];
        int length = snprintf(text, sizeof text, "line %zu of the paste\r", line);
        size_t part = (size_t)length < end - at ? (size_t)length : end - at;
        memcpy(paste + at, text, part);
        at += part;
    }
    at += (size_t)sprintf(paste + at, "\033[201~");
    bool ok = type(session, paste, at);
    free(paste);
    return ok;
}

static bool step_end(struct session *session)
{
    double limit = now() + WAIT_SECONDS;
    while (now() < limit && !session->ended)
        take(session, 100);
    if (!session->ended)
        fprintf(stderr, "pty: the command did not end\n");
    return session->ended;
}

static bool step(struct session *session, char *line)
{
    char *rest = strchr(line, ' ');
    if (rest)
        *rest++ = '\0';
    if (strcmp(line, "expect") == 0 && rest) {
        rest[unescape(rest)] = '\0';
        return step_expect(session, rest);
    }
    if (strcmp(line, "send") == 0 && rest) {
        size_t length = unescape(rest);
        return type(session, rest, length);
    }
    if (strcmp(line, "paste") == 0 && rest)
        return step_paste(session, strtoul(rest, NULL, 10));
    if (strcmp(line, "resize") == 0 && rest) {
        struct winsize size = {0};
        sscanf(rest, "%hu %hu", &size.ws_col, &size.ws_row);
        return ioctl(session->terminal, TIOCSWINSZ, &size) == 0;
    }
    if (strcmp(line, "output") == 0)
        return step_output(session);
    if (strcmp(line, "hangup") == 0) {
        close(session->terminal);
        session->ended = true;
        return true;
    }
    if (strcmp(line, "end") == 0)
        return step_end(session);
    fprintf(stderr, "pty: no such step: %s\n", line);
    return false;
}

static bool start(struct session *session, char **command)
{
    struct winsize size = {.ws_col = 80, .ws_row = 24};
    session->terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (session->terminal < 0 || grantpt(session->terminal) != 0 || unlockpt(session->terminal) != 0)
        return false;
    ioctl(session->terminal, TIOCSWINSZ, &size);
    session->child = fork();
    if (session->child != 0)
        return session->child > 0;
    setsid();
    int side = open(ptsname(session->terminal), O_RDWR);
    ioctl(side, TIOCSCTTY, 0);
    for (int fd = 0; fd < 3; fd++)
        dup2(side, fd);
    if (side > 2)
        close(side);
    close(session->terminal);
    execvp(command[0], command);
    _exit(98);
}

static int settle(struct session *session, bool ok, const char *path)
{
    int status = 0;
    if (!ok)
        kill(session->child, SIGKILL);
    waitpid(session->child, &status, 0);
    FILE *transcript = fopen(path, "w");
    if (!transcript ||
        fwrite(session->output ? session->output : "", 1, session->length, transcript) != session->length)
        ok = false;
    if (transcript)
        fclose(transcript);
    free(session->output);
    return !ok ? 99 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    struct session session = {0};
    FILE *script = argc > 3 ? fopen(argv[1], "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    bool ok = script && start(&session, argv + 3);
    if (!ok) {
        fprintf(stderr, "usage: pty SCRIPT TRANSCRIPT COMMAND [ARGUMENT...]\n");
        return 99;
    }
    while (ok && getline(&line, &room, script) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            ok = step(&session, line);
    }
    free(line);
    fclose(script);
    return settle(&session, ok, argv[2]);
}

/* A conversation's files: saved with its computed state, exported, and kept against a crash.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/history.h"
#include "console/human.h"
#include "repl/say.h"
#include "repl/talk.h"

enum { MOST_BYTES = 1 << 28 };

/* ---- for others ---- */

static int write_file(const char *path, const struct text *bytes)
{
    struct output file;
    bool ok = !bytes->failed && output_open(&file, path);
    if (!ok) {
        say_error("%s: %s", path, bytes->failed ? "no memory" : strerror(errno));
        return LEAVE_OTHER;
    }
    output_write(&file, text_string(bytes), bytes->length);
    ok = output_close(&file, true);
    if (!ok)
        say_error("%s: the conversation could not be written: %s", path, strerror(file.failure));
    return ok ? LEAVE_OK : LEAVE_OTHER;
}

int talk_export(struct talk *talk, const char *argument, size_t length)
{
    size_t word = strcspn(argument, " \t");
    enum conversation_form form = conversation_form(argument, word);
    const char *path = argument + word + strspn(argument + word, " \t");
    struct text page = {0};
    if (form == FORM_UNKNOWN || !*path) {
        say_error("/export takes md, html or json and then a file name, not “%.*s”",
                  (int)(length < 60 ? length : 60), argument);
        return LEAVE_USAGE;
    }
    conversation_export(&talk->conversation, form, text_string(&talk->work->label), &page);
    int code = write_file(path, &page);
    if (!code)
        say_aside("%s %s in %s", human_things(talk->conversation.now.count, "message").text,
                  talk->conversation.now.count == 1 ? "is" : "are", path);
    text_fini(&page);
    return code;
}

/* ---- against a crash ---- */

static void write_all(const struct talk *talk, struct text *out)
{
    const char **names = calloc(talk->document_count + 1, sizeof *names);
    for (size_t i = 0; names && i < talk->document_count; i++)
        names[i] = talk->documents[i].name;
    conversation_write(&talk->conversation, names, names ? talk->document_count : 0, out);
    free(names);
}

void talk_keep_safe(struct talk *talk)
{
    struct text bytes = {0}, temporary = {0};
    if (!talk->saved.length)
        return;
    write_all(talk, &bytes);
    text_printf(&temporary, "%s.new", text_string(&talk->saved));
    int fd = bytes.failed || temporary.failed
                 ? -1
                 : open(text_string(&temporary), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0;
    for (size_t at = 0; ok && at < bytes.length;) {
        ssize_t written = write(fd, bytes.bytes + at, bytes.length - at);
        ok = written > 0 || (written < 0 && errno == EINTR);
        at += written > 0 ? (size_t)written : 0;
    }
    if (fd >= 0)
        close(fd);
    if (ok)
        rename(text_string(&temporary), text_string(&talk->saved));
    text_fini(&bytes);
    text_fini(&temporary);
}

void talk_forget_safe(struct talk *talk)
{
    if (talk->saved.length)
        unlink(text_string(&talk->saved));
    text_clear(&talk->saved);
}

/* One that ended and was not waited for yet is no longer running, though it still has its number. */
static bool is_running(long process)
{
    char path[64], state = 0;
    if (kill((pid_t)process, 0) != 0 && errno != EPERM)
        return false;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*[^)]) %c", &state) != 1)
        state = 0;
    if (file)
        fclose(file);
    return state != 'Z';
}

/* The newest of those whose program is gone. */
static bool find_lost(struct text *path)
{
    struct text folder = {0};
    struct timespec newest = {0};
    DIR *list = history_folder(&folder) ? opendir(text_string(&folder)) : NULL;
    struct dirent *entry;
    while (list && (entry = readdir(list))) {
        struct text each = {0};
        struct stat about;
        long owner = 0;
        int end = 0;
        if (sscanf(entry->d_name, "conversation-%ld.json%n", &owner, &end) != 1 || !end ||
            entry->d_name[end] || owner <= 0 || is_running(owner))
            continue;
        text_printf(&each, "%s/%s", text_string(&folder), entry->d_name);
        if (stat(text_string(&each), &about) == 0 &&
            (about.st_mtim.tv_sec > newest.tv_sec ||
             (about.st_mtim.tv_sec == newest.tv_sec && about.st_mtim.tv_nsec >= newest.tv_nsec))) {
            newest = about.st_mtim;
            text_clear(path);
            text_puts(path, text_string(&each));
        }
        text_fini(&each);
    }
    if (list)
        closedir(list);
    text_fini(&folder);
    return path->length && !path->failed;
}

void talk_say_lost(struct talk *talk)
{
    struct text lost = {0}, folder = {0};
    if (find_lost(&lost))
        say_note("an earlier conversation ended without being left; /open last brings it back");
    if (history_folder(&folder))
        text_printf(&talk->saved, "%s/conversation-%ld.json", text_string(&folder), (long)getpid());
    text_fini(&lost);
    text_fini(&folder);
}

/* ---- opening ---- */

static bool read_file(const char *path, struct text *out)
{
    char block[1 << 13];
    ssize_t got = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && out->length < MOST_BYTES &&
           ((got = read(fd, block, sizeof block)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0)
            text_append(out, block, (size_t)got);
    if (fd >= 0)
        close(fd);
    return fd >= 0 && got == 0 && !out->failed;
}

struct attached {
    struct talk *talk;
    size_t missing;
};

static void attach_again(void *user, const char *name)
{
    struct attached *attached = user;
    struct talk *talk = attached->talk;
    for (size_t i = 0; i < talk->document_count; i++)
        if (strcmp(talk->documents[i].name, name) == 0)
            return;
    if (access(name, R_OK) != 0 || talk_attach(talk, name) != LEAVE_OK)
        attached->missing++;
}

/* Puts what was read in place of the present conversation; snapshot NULL: its keys are computed anew. */
static int take_conversation(struct talk *talk, const char *path, const struct text *bytes,
                             const char *snapshot)
{
    struct conversation read = {0};
    struct text problem = {0};
    struct attached attached = {.talk = talk};
    ll_run run = program_run(talk->program);
    ll_error error = {0};
    int code = LEAVE_OK;
    if (!conversation_read(&read, text_string(bytes), bytes->length, attach_again, &attached, &problem)) {
        say_error("%s: %s", path, text_string(&problem));
        code = LEAVE_OTHER;
    } else if (snapshot && ll_session_load(talk->work->session, snapshot, &run, &error) != LL_OK) {
        conversation_fini(&read);
        code = program_fail(talk->program, CONCERN_WORK, &error);
    } else {
        conversation_fini(&talk->conversation);
        talk->conversation = read;
        talk_settle(talk);
        talk->retries = 0;
        if (attached.missing)
            say_note(
                "not there any more: %s of the conversation; what the model was given of them is still in it",
                human_things(attached.missing, "document").text);
    }
    text_fini(&problem);
    return code;
}

static bool is_snapshot(const char *path)
{
    size_t length;
    ll_error error = {0};
    ll_status status = ll_snapshot_attached(path, NULL, 0, &length, &error);
    return status == LL_OK || status == LL_UNSUPPORTED;
}

/* What the caller of ll_session_save gave: the conversation. */
static int read_attached(struct talk *talk, const char *path, struct text *bytes)
{
    ll_error error = {0};
    size_t length = 0;
    char *words = NULL;
    ll_status status = ll_snapshot_attached(path, NULL, 0, &length, &error);
    if (status == LL_OK && !(words = malloc(length + 1))) {
        say_error("%s: no memory for the conversation in it", path);
        return LEAVE_MEMORY;
    }
    if (status == LL_OK)
        status = ll_snapshot_attached(path, words, length, &length, &error);
    if (status == LL_OK)
        text_append(bytes, words, length);
    free(words);
    return status == LL_OK ? LEAVE_OK : program_fail(talk->program, CONCERN_WORK, &error);
}

static int open_file(struct talk *talk, const char *path)
{
    struct text bytes = {0};
    bool snapshot = is_snapshot(path);
    int code = LEAVE_OK;
    errno = 0;
    if (snapshot) {
        code = read_attached(talk, path, &bytes);
    } else if (!read_file(path, &bytes)) {
        say_error("%s: %s", path, errno ? strerror(errno) : "it cannot be read");
        code = LEAVE_OTHER;
    }
    if (!code)
        code = take_conversation(talk, path, &bytes, snapshot ? path : NULL);
    if (!code) {
        say_aside("%s %s%s", human_things(talk->conversation.now.count, "message").text,
                  talk->conversation.now.count == 1 ? "is back" : "are back",
                  snapshot ? ", and nothing of them needs computing" : "");
        talk_keep_safe(talk);
    }
    text_fini(&bytes);
    return code;
}

static int open_lost(struct talk *talk)
{
    struct text path = {0};
    int code = LEAVE_USAGE;
    if (!find_lost(&path))
        say_error("no conversation was cut off, so there is no last one to open");
    else
        code = open_file(talk, text_string(&path));
    if (!code)
        unlink(text_string(&path));
    text_fini(&path);
    return code;
}

int talk_open(struct talk *talk, const char *path)
{
    return strcmp(path, "last") == 0 ? open_lost(talk) : open_file(talk, path);
}

int talk_save(struct talk *talk, const char *path)
{
    struct text bytes = {0};
    struct stat about;
    ll_error error = {0};
    ll_run run = program_run(talk->program);
    write_all(talk, &bytes);
    ll_status status =
        ll_session_save(talk->work->session, path, text_string(&bytes), bytes.length, &run, &error);
    if (status == LL_OK)
        say_aside("%s and the state of %s are in %s (%s)",
                  human_things(talk->conversation.now.count, "message").text,
                  human_things(ll_session_position(talk->work->session), "token").text, path,
                  human_bytes(stat(path, &about) == 0 ? (uint64_t)about.st_size : 0).text);
    text_fini(&bytes);
    return status == LL_OK ? LEAVE_OK : program_fail(talk->program, CONCERN_WORK, &error);
}

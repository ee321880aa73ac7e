/* Magics of the conversation: its turns, marks, system message, and what is written of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/human.h"
#include "jupyter_kernel/magic.h"

static const char *ending(size_t count)
{
    return count == 1 ? "" : "s";
}

static json_t *state_line(const struct talk *talk, const char *done)
{
    size_t count = talk->conversation.now.count;
    json_t *bundle = bundle_line("%s; the conversation has %zu message%s", done, count, ending(count));
    json_put_count(bundle_object(bundle), "messages", count);
    return bundle;
}

bool magic_reset(struct turn *turn, const struct call *call, json_t **ret)
{
    struct text reply = {0};
    bool force = strcmp(call->argument, "-f") == 0;
    if (call->argument_length && !force) {
        output_fail(turn->output, FAIL_USAGE, "%%reset takes -f or nothing, not “%s”", call->argument);
        return false;
    }
    if (!force && !call->question) {
        output_fail(turn->output, FAIL_USAGE,
                    "%%reset asks before it forgets the conversation, and this client answers no questions; "
                    "%%reset -f does not ask");
        return false;
    }
    if (!force) {
        enum reply came = question_ask(call->question, call->request,
                                       "Forget the conversation (documents stay)? [y/N] ", &reply);
        bool yes = came == REPLY_GIVEN && reply.length && (reply.bytes[0] == 'y' || reply.bytes[0] == 'Y');
        text_fini(&reply);
        if (came == REPLY_STOPPED) {
            output_fail(turn->output, FAIL_INTERRUPT, "stopped; nothing was forgotten");
            return false;
        }
        if (came == REPLY_UNSENT) {
            output_fail(turn->output, FAIL_USAGE,
                        "the question does not reach this client, whose stdin channel is not connected; "
                        "nothing was forgotten, and %%reset -f does not ask");
            return false;
        }
        if (!yes) {
            *ret = state_line(turn->talk, "nothing was forgotten");
            return true;
        }
    }
    if (!conversation_reset(&turn->talk->conversation)) {
        output_fail(turn->output, FAIL_MEMORY, "there is no memory to keep the conversation for %%undo");
        return false;
    }
    for (size_t i = 0; i < turn->talk->document_count; i++)
        turn->talk->documents[i].sent = false;
    turn->talk->warned = false;
    *ret = bundle_line("a new conversation begins; %%undo brings the old one back");
    json_put_count(bundle_object(*ret), "messages", 0);
    return true;
}

bool magic_system(struct turn *turn, const struct call *call, json_t **ret)
{
    struct talk *talk = turn->talk;
    struct text message = {0};
    text_append(&message, call->block ? call->body : call->argument,
                call->block ? call->body_length : call->argument_length);
    bool ok = true;
    if (message.length)
        ok = !message.failed && conversation_set_system(&talk->conversation, text_string(&message));
    text_fini(&message);
    if (!ok)
        output_fail(turn->output, FAIL_MEMORY, "there is no memory for the system message");
    else if (talk->conversation.system)
        *ret = bundle_line("system message: %s", talk->conversation.system);
    else
        *ret = bundle_line("no system message is set; the model's own is used");
    if (ok)
        json_put_string(bundle_object(*ret), "system", talk->conversation.system);
    return ok;
}

bool magic_prompt(struct turn *turn, const struct call *call, json_t **ret)
{
    struct text text = {0}, plain = {0};
    size_t tokens = 0;
    if (!talk_preview(turn, call->block ? call->body : call->argument,
                      call->block ? call->body_length : call->argument_length, &text, &tokens)) {
        text_fini(&text);
        return false;
    }
    text_printf(&plain, "%s\n[%s tokens of %s]", text_string(&text), human_count(tokens).text,
                human_count(talk_capacity(turn->talk)).text);
    *ret = bundle_new(text_string(&plain), plain.length);
    bundle_add_code(*ret, &plain);
    json_t *object = json_object();
    json_put_text(object, "text", &text);
    json_put_count(object, "tokens", tokens);
    json_put(*ret, "application/json", object);
    text_fini(&text);
    text_fini(&plain);
    return true;
}

bool magic_undo(struct turn *turn, const struct call *call, json_t **ret)
{
    (void)call;
    if (!conversation_undo(&turn->talk->conversation)) {
        output_fail(turn->output, FAIL_USAGE, "there is no turn to take back");
        return false;
    }
    *ret = state_line(turn->talk, "the last turn is taken back");
    return true;
}

bool magic_retry(struct turn *turn, const struct call *call, json_t **ret)
{
    (void)call;
    (void)ret;
    return talk_retry(turn);
}

bool magic_continue(struct turn *turn, const struct call *call, json_t **ret)
{
    (void)call;
    (void)ret;
    return talk_continue(turn);
}

/* ---- marks ---- */

static json_t *list_marks(const struct conversation *conversation)
{
    struct text plain = {0};
    struct text markdown = {0};
    json_t *rows = json_array();
    if (!conversation->mark_count) {
        text_puts(&plain, "no point is marked; %mark NAME marks this one");
        text_puts(&markdown, "no point is marked; `%mark NAME` marks this one");
    }
    for (size_t i = 0; i < conversation->mark_count; i++) {
        const struct conversation_mark *mark = &conversation->marks[i];
        text_printf(&plain, "%s%s: %zu messages", i ? "\n" : "", mark->name, mark->state.count);
        text_puts(&markdown, "- ");
        markdown_append(&markdown, mark->name, strlen(mark->name));
        text_printf(&markdown, ": %zu messages\n", mark->state.count);
        json_t *row = json_object();
        json_put_string(row, "name", mark->name);
        json_put_count(row, "messages", mark->state.count);
        json_array_append_new(rows, row);
    }
    json_t *bundle = bundle_new(text_string(&plain), plain.length);
    bundle_add(bundle, "text/markdown", &markdown);
    json_put(bundle, "application/json", json_pack("{s:o}", "marks", rows));
    text_fini(&plain);
    text_fini(&markdown);
    return bundle;
}

bool magic_mark(struct turn *turn, const struct call *call, json_t **ret)
{
    struct conversation *conversation = &turn->talk->conversation;
    if (!call->argument_length) {
        *ret = list_marks(conversation);
        return true;
    }
    if (!conversation_mark(conversation, call->argument)) {
        output_fail(turn->output, FAIL_MEMORY, "there is no memory for a mark");
        return false;
    }
    *ret = bundle_line("marked as %s; %%back %s returns here", call->argument, call->argument);
    json_put_string(bundle_object(*ret), "mark", call->argument);
    return true;
}

bool magic_back(struct turn *turn, const struct call *call, json_t **ret)
{
    struct conversation *conversation = &turn->talk->conversation;
    const struct conversation_mark *mark =
        call->argument_length      ? conversation_find_mark(conversation, call->argument)
        : conversation->mark_count ? &conversation->marks[conversation->mark_count - 1]
                                   : NULL;
    if (!mark) {
        output_fail(turn->output, FAIL_USAGE,
                    call->argument_length ? "no point is marked as %s; %%mark lists those that are"
                                          : "no point is marked; %%mark NAME marks one%s",
                    call->argument);
        return false;
    }
    char name[128];
    snprintf(name, sizeof name, "%s", mark->name);
    if (!conversation_back(conversation, mark)) {
        output_fail(turn->output, FAIL_MEMORY, "there is no memory to return");
        return false;
    }
    *ret = bundle_line("back at %s; the conversation has %zu message%s", name, conversation->now.count,
                       ending(conversation->now.count));
    json_put_string(bundle_object(*ret), "mark", name);
    json_put_count(bundle_object(*ret), "messages", conversation->now.count);
    return true;
}

/* ---- text and files ---- */

bool magic_echo(struct turn *turn, const struct call *call, json_t **ret)
{
    (void)ret;
    const char *stream = "stdout", *text = call->argument;
    static const char flag[] = "--stderr";
    if (strncmp(text, flag, sizeof flag - 1) == 0 &&
        (!text[sizeof flag - 1] || text[sizeof flag - 1] == ' ')) {
        stream = "stderr";
        text += sizeof flag - 1;
        text += strspn(text, " ");
    }
    struct text whole = {0};
    text_puts(&whole, text);
    if (*text && call->block)
        text_putc(&whole, '\n');
    if (call->block)
        text_append(&whole, call->body, call->body_length);
    text_putc(&whole, '\n');
    output_stream(turn->output, stream, text_string(&whole), whole.length);
    text_fini(&whole);
    return true;
}

/* Whole or not at all: a new file beside the old one takes its name when all is on the disk. */
static bool write_whole(const char *path, const char *bytes, size_t length)
{
    struct text beside = {0};
    text_printf(&beside, "%s.XXXXXX", path);
    if (beside.failed) {
        errno = ENOMEM;
        return false;
    }
    int fd = mkstemp(beside.bytes);
    bool ok = fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
    for (size_t at = 0; ok && at < length;) {
        ssize_t wrote = write(fd, bytes + at, length - at);
        if (wrote > 0)
            at += (size_t)wrote;
        else
            ok = wrote < 0 && errno == EINTR;
    }
    mode_t mask = umask(0);
    umask(mask);
    ok = ok && fchmod(fd, 0666 & ~mask) == 0 && fsync(fd) == 0;
    int failure = errno;
    if (fd >= 0)
        close(fd);
    if (ok && rename(beside.bytes, path) != 0) {
        ok = false;
        failure = errno;
    }
    if (!ok && fd >= 0)
        unlink(beside.bytes);
    text_fini(&beside);
    errno = failure;
    return ok;
}

static bool write_file(struct turn *turn, const char *path, const char *bytes, size_t length, json_t **ret)
{
    if (!write_whole(path, bytes, length)) {
        output_fail(turn->output, FAIL_FILE, "%s cannot be written: %s", path, strerror(errno));
        return false;
    }
    *ret = bundle_line("wrote %s, %s", path, human_bytes(length).text);
    json_put_string(bundle_object(*ret), "path", path);
    json_put_count(bundle_object(*ret), "bytes", length);
    return true;
}

bool magic_export(struct turn *turn, const struct call *call, json_t **ret)
{
    size_t word = strcspn(call->argument, " \t");
    const char *path = call->argument + word;
    path += strspn(path, " \t");
    enum conversation_form form = conversation_form(call->argument, word);
    if (form == FORM_UNKNOWN || !*path) {
        output_fail(turn->output, FAIL_USAGE, "%%export takes md, html or json, then a file name");
        return false;
    }
    const struct text *label = &turn->talk->label;
    struct text out = {0};
    conversation_export(&turn->talk->conversation, form, label->length ? text_string(label) : "The model",
                        &out);
    bool ok = !out.failed;
    if (!ok)
        output_fail(turn->output, FAIL_MEMORY, "there is no memory for the export");
    ok = ok && write_file(turn, path, text_string(&out), out.length, ret);
    text_fini(&out);
    return ok;
}

bool magic_file(struct turn *turn, const struct call *call, json_t **ret)
{
    struct text whole = {0};
    if (!call->argument_length) {
        output_fail(turn->output, FAIL_USAGE, "%%%%file needs the name of a file after it");
        return false;
    }
    text_append(&whole, call->body, call->body_length);
    text_putc(&whole, '\n');
    bool ok = !whole.failed && write_file(turn, call->argument, whole.bytes, whole.length, ret);
    text_fini(&whole);
    return ok;
}

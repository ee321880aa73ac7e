/* chat: a conversation line by line, with documents, commands and interrupted answers kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "console/human.h"
#include "repl/line.h"
#include "repl/say.h"
#include "repl/signals.h"
#include "repl/talk_command.h"
#include "repl/verbs.h"

#define FENCE "\"\"\""

static bool ends_with_fence(const struct text *text, size_t from)
{
    return text->length >= from + 3 && memcmp(text->bytes + text->length - 3, FENCE, 3) == 0;
}

/* A message is one line, or all between two fences; the second prompt is empty, so that what is on the
 * screen can be copied as it is. */
static enum line_event read_message(struct line_reader *reader, const char *prompt, struct text *message,
                                    bool *fenced, bool *had_text)
{
    struct text line = {0};
    enum line_event event = line_read(reader, prompt, &line, had_text);
    *fenced = event == LINE_READ && line.length >= 3 && memcmp(line.bytes, FENCE, 3) == 0;
    text_append(message, text_string(&line), line.length);
    bool closed = !*fenced || ends_with_fence(message, 3);
    while (event == LINE_READ && !closed) {
        event = line_read(reader, "", &line, had_text);
        if (event == LINE_READ) {
            text_putc(message, '\n');
            text_append(message, text_string(&line), line.length);
            closed = ends_with_fence(message, 3);
        }
    }
    if (event == LINE_END && *fenced) /* an open fence at the end of input: what came is a message */
        event = LINE_READ;
    text_fini(&line);
    return message->failed ? LINE_FAILED : event;
}

/* What stands between the fences, without the newlines that belong to them. */
static void strip_fences(const struct text *message, const char **ret_text, size_t *ret_length)
{
    const char *text = text_string(message) + 3;
    size_t length = message->length - 3;
    if (length >= 3 && memcmp(text + length - 3, FENCE, 3) == 0)
        length -= 3;
    if (length && text[0] == '\n') {
        text++;
        length--;
    }
    if (length && text[length - 1] == '\n')
        length--;
    *ret_text = text;
    *ret_length = length;
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]))
            return false;
    return true;
}

/* One message or command. Answers that were stopped end nothing. */
static int take_message(struct talk *talk, struct line_reader *reader, const struct text *message,
                        bool fenced, bool *quit)
{
    const char *text = text_string(message);
    size_t length = message->length;
    if (fenced)
        strip_fences(message, &text, &length);
    if (is_blank(text, length))
        return LEAVE_OK;
    line_remember(reader, text_string(message));
    bool command = !fenced && text[0] == '/' && !memchr(text, '\n', length);
    int code = command ? talk_command(talk, text, length, quit) : talk_ask(talk, text, length);
    output_flush(&talk->program->output);
    return code;
}

struct chat {
    struct talk *talk;
    struct line_reader *reader;
    int worst; /* the first failure; it matters when no person watches */
    bool quit, interrupted_once;
};

/* After Ctrl-C at the prompt: the second time, with nothing typed between, leaves. */
static void take_interrupt(struct chat *chat, bool had_text)
{
    if (signals_seen() == SIGTERM || !line_is_terminal(chat->reader)) {
        chat->worst = program_interrupted();
        chat->quit = true;
        return;
    }
    signals_drain();
    signals_forget();
    if (chat->interrupted_once && !had_text)
        chat->quit = true;
    else if (!had_text)
        say_aside("(Ctrl-C again leaves; so do Ctrl-D and /quit)");
    chat->interrupted_once = !had_text;
}

static void chat_step(struct chat *chat)
{
    struct text message = {0};
    bool fenced = false, had_text = false;
    enum line_event event = read_message(chat->reader, "> ", &message, &fenced, &had_text);
    if (event == LINE_INTERRUPTED) {
        take_interrupt(chat, had_text || message.length);
    } else if (event == LINE_END) {
        chat->quit = true;
    } else if (event == LINE_FAILED) {
        say_error("standard input: %s", strerror(errno));
        chat->worst = LEAVE_OTHER;
        chat->quit = true;
    } else {
        chat->interrupted_once = false;
        int code = take_message(chat->talk, chat->reader, &message, fenced, &chat->quit);
        if (code && !chat->worst)
            chat->worst = code;
        if (chat->talk->program->output.failure)
            chat->quit = true;
    }
    text_fini(&message);
}

/* An answer that was stopped leaves the prompt; SIGTERM, or a pipe as input, ends the program. */
static void settle_signal(struct chat *chat)
{
    if (chat->quit || !signals_seen())
        return;
    if (signals_seen() == SIGTERM || !line_is_terminal(chat->reader)) {
        chat->worst = program_interrupted();
        chat->quit = true;
        return;
    }
    signals_drain();
    signals_forget();
}

static int chat_loop(struct program *program, struct talk *talk)
{
    struct chat chat = {.talk = talk};
    chat.reader = line_open(settings_flag(&program->settings, OPTION_PLAIN));
    if (!chat.reader) {
        say_error("the terminal cannot be set up: %s", strerror(errno));
        return LEAVE_OTHER;
    }
    signals_set_patient(true);
    if (line_is_terminal(chat.reader))
        say_aside("%s, %s tokens of context; /help lists the commands", text_string(&talk->work->label),
                  human_count(work_capacity(talk->work)).text);
    while (!chat.quit) {
        chat_step(&chat);
        settle_signal(&chat);
    }
    bool watched = line_is_terminal(chat.reader);
    line_close(chat.reader);
    return watched && chat.worst < LEAVE_TERMINATED ? LEAVE_OK : chat.worst;
}

int verb_chat(struct program *program)
{
    struct work work = {0};
    struct talk talk = {.program = program, .work = &work};
    int code = work_open(&work, program, NULL, WORK_SESSION);
    for (int i = 0; !code && i < program->operand_count; i++)
        code = talk_attach(&talk, program->operands[i]);
    if (!code)
        code = chat_loop(program, &talk);
    talk_fini(&talk);
    work_close(&work);
    return code;
}

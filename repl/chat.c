/* The loop of a conversation: lines in, work done one piece at a time, the screen kept alive meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/chat.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/command.h"
#include "console/escape.h"
#include "console/human.h"
#include "console/memory.h"
#include "repl/bytes.h"
#include "repl/dash.h"
#include "repl/editor.h"
#include "repl/line.h"
#include "repl/message.h"
#include "repl/paintable.h"
#include "repl/say.h"
#include "repl/signals.h"
#include "repl/status.h"
#include "repl/talk_command.h"
#include "repl/worker.h"

#define PROMPT "> "

struct chat {
    struct talk *talk;
    struct line_reader *reader;
    struct message_builder builder;
    int worst; /* the first failure; it matters when no person watches */
    bool quit, interrupted_once, left_by_signal;
    /* with a screen: */
    bool live;
    struct screen screen;
    struct feed *feed;
    struct worker *worker;
    struct talk_message job; /* being worked on */
    bool job_quits;
    struct talk_message *queue; /* typed meanwhile */
    size_t queue_count;
    struct status status;
    const char **marks;
    double idle_since; /* human_clock; -1: the model rests already */
};

static void message_fini(struct talk_message *message)
{
    text_fini(&message->text);
    text_fini(&message->shown);
    *message = (struct talk_message){0};
}

/* ---- one message ---- */

static bool is_command(const struct talk_message *message)
{
    const char *text = text_string(&message->text);
    return !message->fenced && text[0] == '/' && !strchr(text, '\n');
}

/* One message or command. Answers that were stopped end nothing. */
static int work_on(struct chat *chat, const struct talk_message *message, bool *quit)
{
    struct talk *talk = chat->talk;
    int code = is_command(message)
                   ? talk_command(talk, text_string(&message->text), message->text.length, quit)
                   : talk_ask(talk, message);
    if (code >= LEAVE_HUNG_UP)
        code = program_interrupted();
    beacon_progress(talk->program->beacon, NULL);
    output_end_line(&talk->program->output);
    return code;
}

static void note_code(struct chat *chat, int code)
{
    if (code && !chat->worst)
        chat->worst = code;
    if (chat->talk->program->output.failure)
        chat->quit = true;
}

/* An answer that was stopped leaves the prompt; other signals, or a pipe as input, end the program. */
static void settle_signal(struct chat *chat)
{
    int seen = signals_seen();
    if (!seen)
        return;
    if (seen != SIGINT || !line_is_terminal(chat->reader)) {
        chat->worst = program_interrupted();
        chat->quit = true;
        chat->left_by_signal = true;
        return;
    }
    signals_drain();
    signals_forget();
}

/* ---- with a screen: the engine's thread ---- */

static int run_job(void *user)
{
    struct chat *chat = user;
    return work_on(chat, &chat->job, &chat->job_quits);
}

static void on_progress(void *user, const ll_progress *progress)
{
    feed_put_progress(user, progress);
}

static void on_output(void *user, bool prose, const char *bytes, size_t length)
{
    feed_put(user, prose ? FEED_PROSE : FEED_VERBATIM, bytes, length);
}

static void on_said(void *user, const char *bytes, size_t length)
{
    feed_put(user, FEED_SAID, bytes, length);
}

static void start_job(struct chat *chat)
{
    ll_session_stats stats = {0};
    ll_memory memory;
    talk_gauge(chat->talk, &stats, &memory);
    chat->status.decoded_before = stats.decoded;
    chat->status.seconds_before = stats.decode_seconds;
    feed_put_progress(chat->feed, NULL);
    if (!worker_start(chat->worker, run_job, chat)) {
        say_error("the work could not be begun: %s", strerror(errno));
        message_fini(&chat->job);
    }
}

static void end_job(struct chat *chat, int code)
{
    message_fini(&chat->job);
    note_code(chat, code);
    chat->quit = chat->quit || chat->job_quits;
    settle_signal(chat);
    feed_put_progress(chat->feed, NULL);
    chat->status.busy = false;
    chat->idle_since = human_clock();
    screen_settle(&chat->screen);
}

/* ---- what only the screen's thread can do ---- */

static bool is_bare(const struct talk_message *message, enum command wanted)
{
    const char *argument, *near;
    size_t length;
    return is_command(message) &&
           command_parse(IN_REPL, text_string(&message->text), message->text.length, &argument, &length,
                         &near) == wanted &&
           !length;
}

/* /dash: at once, also while the model works, since that is what a person wants to see. */
static void show_dash(struct chat *chat)
{
    line_suspend(chat->reader);
    bool shown = dash_run(stderr, chat->talk->program->beacon, 0);
    screen_resize(&chat->screen);
    line_resume(chat->reader);
    if (!shown)
        say_error("this terminal has no screen for the dashboard; /memory and /kv say it in words");
}

/* /edit alone: the last message in $EDITOR, then asked again. */
static void edit_last(struct chat *chat, struct talk_message *message)
{
    const struct conversation_message *last = conversation_last(&chat->talk->conversation, "user");
    struct text text = {0}, problem = {0};
    size_t length = 0;
    const char *typed = last ? conversation_typed(last, &length) : "";
    text_append(&text, typed, length);
    if (!last) {
        say_error("there is no message yet to change");
        message_fini(message);
    } else {
        line_suspend(chat->reader);
        bool ok = editor_run(&text, &problem);
        line_resume(chat->reader);
        if (!ok || !text.length) {
            say_error("%s", ok ? "the message came back empty, so nothing was asked" : text_string(&problem));
            message_fini(message);
        } else {
            text_clear(&message->text);
            text_printf(&message->text, "/edit %s", text_string(&text));
            text_clear(&message->shown);
            text_puts(&message->shown, text_string(&message->text));
        }
    }
    text_fini(&text);
    text_fini(&problem);
}

static void start_next(struct chat *chat)
{
    struct talk_message message = chat->queue[0];
    memmove(chat->queue, chat->queue + 1, --chat->queue_count * sizeof *chat->queue);
    screen_echo(&chat->screen, PROMPT, text_string(&message.shown));
    if (is_bare(&message, COMMAND_EDIT)) {
        edit_last(chat, &message);
        if (!message.text.length)
            return;
    }
    chat->job = message;
    chat->job_quits = false;
    chat->status.busy = true;
    start_job(chat);
    chat->status.busy = worker_busy(chat->worker);
}

/* Milliseconds until the model is to be laid to rest, or does so when the time has come; -1: never. */
static int rest_when_due(struct chat *chat)
{
    double wanted = settings_number(&chat->talk->program->settings, OPTION_IDLE) * 60.0;
    struct work *work = chat->talk->work;
    struct text account = {0};
    ll_error error = {0};
    if (wanted <= 0.0 || chat->idle_since < 0.0 || !work->model || worker_busy(chat->worker))
        return -1;
    double left = chat->idle_since + wanted - human_clock();
    if (left > 0.0)
        return left < 1e6 ? (int)(left * 1000.0) + 1 : 1000000000;
    chat->idle_since = -1.0;
    if (memory_trim(work->engine, work->model, work->session, &account, &error) == LL_OK)
        say_aside("nothing was asked for a while: the model's memory is given back; the next message reads "
                  "it again");
    text_fini(&account);
    return 0;
}

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int on_idle(void *user)
{
    struct chat *chat = user;
    int code;
    if (worker_finished(chat->worker, &code))
        end_job(chat, code);
    while (!chat->quit && chat->queue_count && !worker_busy(chat->worker))
        start_next(chat);
    if (chat->quit)
        return BYTES_LEAVE;
    int rest = rest_when_due(chat);
    return sooner(rest, screen_work(&chat->screen, worker_busy(chat->worker)));
}

/* While the model works, Ctrl-C is for the work. */
static bool on_stop(void *user)
{
    struct chat *chat = user;
    return worker_busy(chat->worker);
}

static size_t count_tokens(void *user, const char *text, size_t length)
{
    struct chat *chat = user;
    size_t count = SIZE_MAX;
    if (worker_busy(chat->worker) && chat->talk->work->model == NULL)
        return SIZE_MAX;
    if (ll_tokenize(chat->talk->work->model, text, length, false, false, NULL, 0, &count, NULL) != LL_OK)
        return SIZE_MAX;
    return count;
}

static const char *const *give_marks(void *user)
{
    struct chat *chat = user;
    const struct conversation *c = &chat->talk->conversation;
    if (worker_busy(chat->worker)) /* the engine's thread may be changing them */
        return NULL;
    const char **marks = realloc(chat->marks, (c->mark_count + 1) * sizeof *marks);
    if (!marks)
        return NULL;
    chat->marks = marks;
    for (size_t i = 0; i < c->mark_count; i++)
        marks[i] = c->marks[i].name;
    marks[c->mark_count] = NULL;
    return marks;
}

/* Lines of an unfinished message, then the status. */
static void write_status(void *user, size_t columns, struct text *out)
{
    struct chat *chat = user;
    if (chat->builder.open) {
        struct text shown = {0};
        escape_append(&shown, text_string(&chat->builder.message.shown), chat->builder.message.shown.length);
        for (const char *line = text_string(&shown); *line; line += *line == '\n') {
            size_t length = strcspn(line, "\n");
            struct text row = {0};
            text_append(&row, line, length);
            text_puts(out, line == text_string(&shown) ? PROMPT : "");
            text_append(out, text_string(&row), text_fit(text_string(&row), columns - 2));
            text_putc(out, '\n');
            text_fini(&row);
            line += length;
        }
        text_fini(&shown);
    }
    feed_get_progress(chat->feed, &chat->status.progress);
    chat->status.waiting = chat->queue_count;
    size_t before = out->length;
    status_line(&chat->status, columns, out);
    if (out->length > before)
        text_putc(out, '\n');
}

/* ---- lines ---- */

static void queue_message(struct chat *chat)
{
    struct talk_message *queue = realloc(chat->queue, (chat->queue_count + 1) * sizeof *queue);
    if (!queue) {
        say_error("no memory for the message");
        message_clear(&chat->builder);
        return;
    }
    chat->queue = queue;
    queue[chat->queue_count++] = chat->builder.message;
    chat->builder = (struct message_builder){0};
}

static void take_whole(struct chat *chat)
{
    struct talk_message *message = &chat->builder.message;
    if (message->text.failed || message->shown.failed) {
        say_error("no memory for the message");
        message_clear(&chat->builder);
        return;
    }
    if (message_is_blank(message)) {
        message_clear(&chat->builder);
        return;
    }
    line_remember(chat->reader, text_string(&message->text));
    if (chat->live && is_bare(message, COMMAND_DASH)) {
        message_clear(&chat->builder);
        show_dash(chat);
        return;
    }
    if (chat->live) {
        queue_message(chat);
        return;
    }
    bool quit = false;
    note_code(chat, work_on(chat, message, &quit));
    chat->quit = chat->quit || quit;
    message_clear(&chat->builder);
    settle_signal(chat);
}

/* After Ctrl-C at the prompt: the second time, with nothing typed between, leaves. */
static void take_interrupt(struct chat *chat, bool had_text)
{
    if (chat->quit)
        return;
    if (signals_seen() != SIGINT || !line_is_terminal(chat->reader)) {
        chat->worst = program_interrupted();
        chat->quit = true;
        chat->left_by_signal = true;
        return;
    }
    signals_drain();
    signals_forget();
    if (chat->interrupted_once && !had_text) {
        chat->worst = LEAVE_INTERRUPTED;
        chat->quit = true;
        chat->left_by_signal = true;
    } else if (!had_text) {
        say_aside("(Ctrl-C again leaves; so do Ctrl-D and /quit)");
    }
    chat->interrupted_once = !had_text;
}

/* Ctrl-D, or a terminal that went away: what is being worked on is stopped and kept. */
static void take_end(struct chat *chat)
{
    if (message_end(&chat->builder))
        take_whole(chat);
    if (chat->live && worker_busy(chat->worker))
        ll_cancel_request(chat->talk->program->cancel);
    chat->quit = true;
}

static void chat_step(struct chat *chat)
{
    struct text line = {0}, shown = {0};
    bool had_text = false;
    const char *prompt = chat->builder.open ? "" : PROMPT;
    enum line_event event = line_read(chat->reader, prompt, &line, &shown, &had_text);
    if (event == LINE_INTERRUPTED) {
        had_text = had_text || chat->builder.open;
        message_clear(&chat->builder);
        take_interrupt(chat, had_text);
    } else if (event == LINE_END) {
        take_end(chat);
    } else if (event == LINE_FAILED) {
        say_error("standard input: %s", strerror(errno));
        chat->worst = LEAVE_OTHER;
        chat->quit = true;
    } else {
        chat->interrupted_once = false;
        if (message_take(&chat->builder, &line, chat->live ? &shown : &line))
            take_whole(chat);
    }
    text_fini(&line);
    text_fini(&shown);
}

/* ---- opening and closing ---- */

static bool open_live(struct chat *chat)
{
    struct program *program = chat->talk->program;
    if (settings_flag(&program->settings, OPTION_PLAIN) || !isatty(STDIN_FILENO) ||
        !paintable_is(STDERR_FILENO))
        return true;
    chat->feed = feed_open();
    chat->worker = chat->feed ? worker_open(chat->feed) : NULL;
    if (!chat->worker)
        return false;
    chat->live = true;
    screen_init(&chat->screen, STDERR_FILENO, chat->feed);
    chat->screen.status = write_status;
    chat->screen.status_user = chat;
    chat->status =
        (struct status){.talk = chat->talk, .styled = chat->screen.styled, .unicode = chat->screen.unicode};
    meter_init(&program->meter, -1, false);
    program->on_progress = on_progress;
    program->progress_user = chat->feed;
    say_set_sink(on_said, chat->feed);
    if (program->output.terminal) {
        program->output.sink = on_output;
        program->output.sink_user = chat->feed;
    }
    return true;
}

static void close_live(struct chat *chat)
{
    struct program *program = chat->talk->program;
    if (!chat->live)
        return;
    int code;
    if (worker_busy(chat->worker)) {
        ll_cancel_request(program->cancel);
        while (!worker_finished(chat->worker, &code))
            usleep(2000);
        message_fini(&chat->job);
    }
    chat->screen.status = NULL;
    screen_settle(&chat->screen);
    program->output.sink = NULL;
    say_set_sink(NULL, NULL);
    program->on_progress = NULL;
    for (size_t i = 0; i < chat->queue_count; i++)
        message_fini(&chat->queue[i]);
    free(chat->queue);
    free(chat->marks);
    worker_close(chat->worker);
}

static struct line_reader *open_reader(struct chat *chat)
{
    const struct settings *settings = &chat->talk->program->settings;
    struct line_options options = {.screen = chat->live ? &chat->screen : NULL,
                                   .vi = settings_count(settings, OPTION_KEYS, 0) == 1,
                                   .private = settings_flag(settings, OPTION_PRIVATE),
                                   .on_idle = on_idle,
                                   .on_stop = on_stop,
                                   .count_tokens = count_tokens,
                                   .marks = give_marks,
                                   .user = chat};
    return line_open(&options);
}

int chat_run(struct talk *talk)
{
    struct chat chat = {.talk = talk, .idle_since = human_clock()};
    chat.reader = open_live(&chat) ? open_reader(&chat) : NULL;
    if (!chat.reader) {
        say_error("the terminal cannot be set up: %s", strerror(errno));
        return LEAVE_OTHER;
    }
    signals_set_patient(true);
    bool watched = line_is_terminal(chat.reader);
    if (watched)
        say_aside("%s, %s tokens of context; /help lists the commands", text_string(&talk->work->label),
                  human_count(work_capacity(talk->work)).text);
    if (watched && !settings_flag(&talk->program->settings, OPTION_PRIVATE))
        talk_say_lost(talk);
    while (!chat.quit)
        chat_step(&chat);
    message_clear(&chat.builder);
    close_live(&chat);
    line_close(chat.reader);
    if (chat.live) {
        screen_fini(&chat.screen);
        feed_close(chat.feed);
    }
    if (!chat.left_by_signal || chat.worst == LEAVE_INTERRUPTED)
        talk_forget_safe(talk);
    return watched && !chat.left_by_signal ? LEAVE_OK : chat.worst;
}

/* Sentences for a person on standard error; hostile characters shown, not obeyed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console/escape.h"
#include "console/text.h"

static bool quiet;
static void (*sink)(void *user, const char *bytes, size_t length);
static void *sink_user;

void say_set_sink(void (*function)(void *user, const char *bytes, size_t length), void *user)
{
    sink = function;
    sink_user = user;
}

void say_set_quiet(bool value)
{
    quiet = value;
}

bool say_asides(void)
{
    return !quiet && isatty(STDERR_FILENO);
}

static void say(const char *prefix, const char *format, va_list list)
{
    char sentence[4096];
    struct text line = {0};
    vsnprintf(sentence, sizeof sentence, format, list);
    text_puts(&line, prefix);
    if (!sink && isatty(STDERR_FILENO))
        escape_append(&line, sentence, strlen(sentence));
    else
        text_puts(&line, sentence);
    text_putc(&line, '\n');
    if (sink)
        sink(sink_user, line.bytes, line.length);
    for (size_t at = 0; !sink && at < line.length;) {
        ssize_t written = write(STDERR_FILENO, line.bytes + at, line.length - at);
        if (written <= 0)
            break; /* nowhere left to say it */
        at += (size_t)written;
    }
    text_fini(&line);
}

void say_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("longleaf: ", format, list);
    va_end(list);
}

void say_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("longleaf: note: ", format, list);
    va_end(list);
}

void say_aside(const char *format, ...)
{
    if (!say_asides())
        return;
    va_list list;
    va_start(list, format);
    say("", format, list);
    va_end(list);
}

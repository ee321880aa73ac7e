/* Lines into messages: fences, backslashes at a line's end, blank ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/message.h"

#include <string.h>

#define FENCE "\"\"\""

static bool ends_with_fence(const struct text *text, size_t from)
{
    return text->length >= from + 3 && memcmp(text->bytes + text->length - 3, FENCE, 3) == 0;
}

/* An odd number of backslashes: the last one says that the message goes on. */
static bool goes_on(const struct text *text)
{
    size_t slashes = 0;
    while (slashes < text->length && text->bytes[text->length - 1 - slashes] == '\\')
        slashes++;
    return slashes % 2 == 1;
}

static void cut_last(struct text *text)
{
    if (text->length)
        text->bytes[--text->length] = '\0';
}

/* What stands between the fences, without the newlines that belong to them. */
static void strip_fences(struct text *text)
{
    size_t from = 3, to = text->length;
    if (ends_with_fence(text, 3))
        to -= 3;
    if (from < to && text->bytes[from] == '\n')
        from++;
    if (from < to && text->bytes[to - 1] == '\n')
        to--;
    struct text inner = {0};
    text_append(&inner, text->bytes + from, to - from);
    text_fini(text);
    *text = inner;
}

bool message_take(struct message_builder *builder, const struct text *line, const struct text *shown)
{
    struct text *text = &builder->message.text, *seen = &builder->message.shown;
    if (builder->open) {
        text_putc(text, '\n');
        text_putc(seen, '\n');
    } else {
        builder->message.fenced = line->length >= 3 && memcmp(line->bytes, FENCE, 3) == 0;
    }
    text_append(text, text_string(line), line->length);
    text_append(seen, text_string(shown), shown->length);
    if (builder->message.fenced) {
        builder->open = !ends_with_fence(text, 3);
    } else if ((builder->open = goes_on(text)) != false) {
        cut_last(text);
        cut_last(seen);
    }
    if (!builder->open && builder->message.fenced)
        strip_fences(text);
    return !builder->open;
}

bool message_end(struct message_builder *builder)
{
    bool came = builder->open && builder->message.text.length;
    if (came && builder->message.fenced)
        strip_fences(&builder->message.text);
    builder->open = false;
    return came;
}

void message_clear(struct message_builder *builder)
{
    text_fini(&builder->message.text);
    text_fini(&builder->message.shown);
    *builder = (struct message_builder){0};
}

bool message_is_blank(const struct talk_message *message)
{
    const char *text = text_string(&message->text);
    return text[strspn(text, " \t\r\n")] == '\0';
}

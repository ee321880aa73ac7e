/* Fuzz harness of the kernel's wire: frames as messages, connection files, cells as steps.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "jupyter_kernel/connection.h"
#include "jupyter_kernel/script.h"
#include "jupyter_kernel/wire.h"

enum { MOST_FRAMES = 64 };

/* Frames end at the byte 0x1e. */
static size_t split(const char *text, size_t length, struct frame frames[MOST_FRAMES])
{
    size_t count = 0, start = 0;
    for (size_t i = 0; i <= length && count < MOST_FRAMES; i++)
        if (i == length || text[i] == 0x1e) {
            frames[count++] = (struct frame){text + start, i - start};
            start = i + 1;
        }
    return count;
}

/* With a key nothing but a genuine message may pass; without one a message must be well formed. */
static void read_message(const char *text, size_t length, const char *key)
{
    struct frame frames[MOST_FRAMES];
    struct wire_shared shared;
    struct wire wire;
    struct message message;
    size_t count = split(text, length, frames);
    fuzz_require(wire_shared_init(&shared, key, strlen(key)));
    fuzz_require(wire_init(&wire, &shared));
    if (!wire_read(&wire, frames, count, &message)) {
        fuzz_require(message.type && message.id && json_is_object(message.content));
        fuzz_require(message.identity_count + 6 <= count);
        struct outgoing outgoing;
        fuzz_require(wire_write(&wire, "echo", &message.header, NULL, message.content, &outgoing));
        outgoing_fini(&outgoing);
        message_fini(&message);
    }
    wire_fini(&wire);
    wire_shared_fini(&shared);
}

static void read_connection(const char *text, size_t length)
{
    struct connection connection;
    struct text problem = {0};
    if (connection_parse(&connection, text, length, &problem)) {
        fuzz_require(connection.ip.length > 0);
        connection_fini(&connection);
    } else {
        fuzz_require(problem.length > 0);
    }
    text_fini(&problem);
}

static void read_cell(const char *text, size_t length)
{
    struct script script;
    struct step step;
    size_t steps = 0;
    script_begin(&script, text, length);
    while (script_next(&script, &step)) {
        fuzz_require(++steps <= length + 1);
        if (step.line)
            fuzz_require(step.line >= text && step.line + step.line_length <= text + length &&
                         step.line[0] == '%');
        if (step.body)
            fuzz_require(step.body >= text && step.body + step.body_length <= text + length);
        if (step.kind == STEP_PROMPT)
            fuzz_require(step.body_length > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    read_message(text, size, "");
    read_message(text, size, "key");
    read_connection(text, size);
    read_cell(text, size);
    return 0;
}

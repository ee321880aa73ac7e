/* The answer's way out: standard output, or a file that appears whole or not at all.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes are buffered until output_flush. On a terminal hostile characters are shown, not obeyed; a
 * pipe or file gets raw bytes. The first failure is kept: later writes do nothing, and output_close
 * reports it. */
#ifndef REPL_OUTPUT_H
#define REPL_OUTPUT_H

#include <stdbool.h>

#include "console/text.h"

struct output {
    int fd;
    bool terminal;
    bool nameless; /* temporary names the file only at the end */
    int failure;   /* errno of the first failed write, or 0 */
    char last;     /* the last byte written, '\n' at the start */
    struct text buffer;
    struct text path, temporary; /* of a file; empty for standard output */
    /* What would go to a terminal goes here instead, as it is; prose: it is Markdown. NULL: no sink. */
    void (*sink)(void *user, bool prose, const char *bytes, size_t length);
    void *sink_user;
    bool prose;
};

/* path NULL or "-": standard output. False: errno says why the file cannot be made. */
bool output_open(struct output *output, const char *path);
void output_write(struct output *output, const char *bytes, size_t length);
void output_puts(struct output *output, const char *string);
void output_printf(struct output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
void output_flush(struct output *output);
void output_end_line(struct output *output); /* a newline, unless a line has just ended */
/* keep: the file takes its place under its name; else it is removed. False: something was not
 * written; failure says why (EPIPE for a reader that went away). */
bool output_close(struct output *output, bool keep);

#endif

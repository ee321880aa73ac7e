/* What one cell shows: streams, displays, its result, and how it failed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything goes out as a child of the request. A silent cell shows nothing and still fails. */
#ifndef JUPYTER_KERNEL_OUTPUT_H
#define JUPYTER_KERNEL_OUTPUT_H

#include "jupyter_kernel/channel.h"
#include "longleaf.h"

struct output {
    struct channel *channel;
    const struct message *request;
    bool silent;
    int64_t count; /* the execution count */
    bool leaves;   /* the person wants to leave the front end */
    bool failed;   /* the three below are set, and nothing overwrites the first failure */
    struct text name, value;
    json_t *traceback;                                   /* owned */
    char started[WIRE_MOMENT], first_token[WIRE_MOMENT]; /* when; empty: it did not come */
    struct text record; /* the beginning of what was streamed or resulted, for the history */
};

/* The kinds of failures, as notebooks show them. */
#define FAIL_USAGE "UsageError"
#define FAIL_MODEL "ModelError"
#define FAIL_DOCUMENT "DocumentError"
#define FAIL_FILE "FileError"
#define FAIL_WORK "EngineError"
#define FAIL_MEMORY "MemoryError"
#define FAIL_CONTEXT "ContextError"
#define FAIL_INTERRUPT "KeyboardInterrupt"

void output_init(struct output *output, struct channel *channel, const struct message *request);
void output_fini(struct output *output);
/* Text of any origin: escape sequences are made visible. stream: "stdout" or "stderr". */
void output_stream(struct output *output, const char *stream, const char *bytes, size_t length);
/* A bundle is an object of MIME types and is taken. display_id NULL: none. */
void output_display(struct output *output, json_t *bundle, const char *display_id, bool update);
/* The same by another thread's publisher. */
void output_display_by(struct output *output, struct publisher *publisher, json_t *bundle,
                       const char *display_id, bool update);
/* A picture as a display of its own: beside text a front end shows only one of them. */
void output_picture(struct output *output, const char *title, const struct text *picture);
void output_result(struct output *output, json_t *bundle);
/* One sentence for a person; its controls are made visible. */
void output_fail(struct output *output, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What the library reported; name is for what no status says better. */
void output_fail_error(struct output *output, const char *name, const ll_error *error);
json_t *output_failure(const struct output *output); /* {ename, evalue, traceback}: the caller's */
void output_publish_failure(struct output *output);

/* ---- bundles ---- */

#define BUNDLE_JSON "application/vnd.longleaf+json" /* application/json, where that would hide the text */

json_t *bundle_new(const char *plain, size_t length);
/* A bundle of one line, as plain text, as Markdown and as JSON {"text"}, for members to be added. */
json_t *bundle_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
json_t *bundle_object(const json_t *bundle); /* its JSON; borrowed */
/* Adds text/markdown that shows the text as it stands, in even letters. */
void bundle_add_code(json_t *bundle, const struct text *text);
void bundle_add(json_t *bundle, const char *mime, const struct text *text);
/* An SVG picture, and the same as PNG where that can be made. */
void bundle_add_picture(json_t *bundle, const struct text *picture);
/* Text from outside inside Markdown: what Markdown or HTML would take for theirs is escaped. */
void markdown_append(struct text *out, const char *bytes, size_t length);
void html_append(struct text *out, const char *string);

#endif

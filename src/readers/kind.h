/* The kinds of documents and what tells them apart: content first, then the name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_KIND_H
#define READERS_KIND_H

#include <stdbool.h>
#include <stddef.h>

enum kind {
    KIND_TEXT,
    KIND_MARKDOWN,
    KIND_PDF,
    KIND_HTML,
    KIND_DOCX,
    KIND_ODT,
    KIND_EPUB,
    KIND_PPTX,
    KIND_NOTEBOOK,
    KIND_MAIL,
    KIND_MBOX,
    KIND_TABLE,
    KIND_JSON,
    KIND_JSONL,
    KIND_LOG,
    KIND_CODE,
    KIND_ARCHIVE,
    KIND_OTHER /* a format that cannot be read; also: not decided */
};

/* How the spans of a text are found. */
enum structure {
    STRUCTURE_GUESSED,  /* headings and contents lists as people type them */
    STRUCTURE_MARKDOWN, /* by its own marks */
    STRUCTURE_MARKED    /* by the reader's marks; the rest is prose */
};

enum structure kind_structure(enum kind kind);

/* By the first bytes. KIND_PDF, KIND_ARCHIVE (any ZIP or compressed file: its members say more),
 * KIND_OTHER (named in *ret_name) or KIND_TEXT: no objection. */
enum kind kind_of_bytes(const char *bytes, size_t length, const char **ret_name);
/* Of bytes that passed as text, in an ASCII-compatible encoding; name: the file's. Never KIND_OTHER. */
enum kind kind_of_text(const char *text, size_t length, const char *name);
/* Whether decoded text is written in Markdown: its own marks decide. */
bool kind_is_markdown(const char *text, size_t length);
const char *kind_name(enum kind kind); /* "text", "markdown", …, "other" */
/* false when the name is none of those that kind_name gives. */
bool kind_from_name(const char *name, enum kind *ret);
/* Whether a file's name ends in one of the endings (".htm .html"), whatever the case. */
bool kind_name_ends(const char *name, const char *endings);

#endif

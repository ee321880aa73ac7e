/* Cuts a document into windows: at files, headings, paragraphs, sentences, words, characters.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each byte of the text is owned by exactly one window. A window with room left reads a few sentences before
 * its own range (overlap) inside the same section. Sections larger than a window begin and end one, so
 * that an edit moves no cut outside its section; a long section is halved at paragraphs chosen by content
 * until the pieces fit, so that a sentence more or less moves no other cut. */
#ifndef DOCUMENT_CHUNK_H
#define DOCUMENT_CHUNK_H

#include "document/document.h"
#include "document/llm.h"

struct window {
    size_t first, last; /* bytes it owns */
    size_t text_first;  /* ≤ first: where the overlap begins */
    size_t section;     /* the deepest section that holds the beginning */
    size_t tokens;      /* of window_text, counted by the model's tokenizer */
    bool path;          /* its heading path stands above its text */
    bool quoted;        /* quoted from only: not put before the model */
};

struct window_list { /* zero-initialised storage is empty */
    struct window *items;
    size_t count, capacity;
};

enum {
    WINDOW_LEAST = 32 /* tokens; fewer are refused */,
    WINDOW_PATH_MAX = 120 /* bytes of heading path */,
    WINDOW_WITH_PATH = 256 /* tokens; smaller windows go without */
};

struct chunking {
    const struct ll_document *document;
    const struct llm *llm; /* NULL: tokens are estimated at four bytes each */
    size_t tokens;         /* of window_text, at most */
    size_t overlap;        /* tokens, at most */
    bool whole;            /* one window of everything, whatever its size */
    const ll_run *run;
};

ll_status chunk_make(const struct chunking *chunking, struct window_list *ret, uint64_t *ret_tokens,
                     ll_error *error);
/* What the model reads of a window: heading path, a blank line, overlap and own text; ends trimmed, full
 * lines of one sentence joined. */
void window_text(const struct ll_document *document, const struct window *window, struct strbuf *out);
void window_list_fini(struct window_list *list);

#endif

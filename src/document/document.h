/* The one normalised form of any document: UTF-8 text and spans over it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every later citation is a look-up in these spans; nothing else carries positions. Byte ranges are
 * [first, last) of the text. Built once, then read-only. */
#ifndef DOCUMENT_DOCUMENT_H
#define DOCUMENT_DOCUMENT_H

#include "base/strbuf.h"
#include "readers/kind.h"
#include "readers/notes.h"
#include "readers/reading.h"
#include "longleaf.h"

struct doc_file {
    size_t first, last;
    size_t first_page, page_count; /* index into pages; no pages: count 0 */
    size_t section;                /* the section that is the file */
    size_t first_origin, origin_count;
    uint64_t source_bytes;
    enum kind kind;
    size_t name; /* in titles: as it was named */
    bool exact;  /* origins hold for every byte, not only for the beginnings of lines */
};

struct doc_section {
    size_t title, title_length; /* in titles */
    int level;                  /* 1: a file; headings from 2 on, each one deeper than its parent */
    int rank;                   /* of the heading's kind: what encloses what */
    size_t first, last;         /* heading, body and all sections below it */
    size_t body_last;           /* where the first section below it begins, or last */
    size_t parent;              /* itself for a file */
};

/* LINES: rows of tables, logs and the like: each line says something of its own. */
enum paragraph_kind {
    PARAGRAPH_PROSE,
    PARAGRAPH_HEADING,
    PARAGRAPH_CODE,
    PARAGRAPH_CONTENTS,
    PARAGRAPH_LINES
};

struct doc_paragraph {
    size_t first, last; /* blank lines between paragraphs belong to none */
    size_t section;
    enum paragraph_kind kind;
};

struct doc_sentence { /* at most SENTENCE_MAX bytes: longer ones are cut at clauses, words, characters */
    size_t first, last;
    size_t paragraph;
};

struct ll_document {
    struct strbuf text, titles, title;
    struct doc_file *files;
    size_t file_count, file_capacity;
    size_t *pages; /* first byte of each page of each file */
    size_t page_count, page_capacity;
    struct doc_section *sections;
    size_t section_count, section_capacity;
    struct doc_paragraph *paragraphs;
    size_t paragraph_count, paragraph_capacity;
    struct doc_sentence *sentences;
    size_t sentence_count, sentence_capacity;
    struct reading_part *parts; /* text bytes of the document; names in titles */
    size_t part_count, part_capacity;
    struct reading_origin *origins; /* text bytes counted from the beginning of their file's text */
    size_t origin_count, origin_capacity;
    struct notes notes;
    size_t unread_pages, skipped;
    size_t label_skip; /* bytes at the beginning of all files' names: the folders they share */
    uint64_t source_bytes;
    char encoding[40];
};

/* Page number, from 1, within its file; 0 when the file has no pages. */
size_t document_page(const struct ll_document *document, size_t byte);
/* Pages of a range; both 0 when it has none or spans several files. */
void document_pages(const struct ll_document *document, size_t first, size_t last, size_t *ret_first,
                    size_t *ret_last);
/* Once all files are in: the document's title, and what their names have in common. */
ll_status document_finish(struct ll_document *document, ll_error *error);
/* What tells a file from the others: its name without the folders that all have in common. */
const char *document_label(const struct ll_document *document, const struct doc_file *file);
const struct doc_file *document_file(const struct ll_document *document, size_t byte);
size_t document_section(const struct ll_document *document, size_t byte);
/* First sentence that ends after byte; sentence_count when there is none. */
size_t document_sentence(const struct ll_document *document, size_t byte);
/* "Part 3 > 3.1 Title", at most `most` bytes, cut at the front; without the file when it is the only one. */
void document_path(const struct ll_document *document, size_t section, size_t most, struct strbuf *out);

#endif

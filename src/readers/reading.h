/* What the reader of one file hands on: clean text, spans over it, what was learned on the way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_READING_H
#define READERS_READING_H

#include "base/strbuf.h"
#include "readers/kind.h"
#include "readers/notes.h"
#include "readers/pages.h"
#include "longleaf.h"

enum mark_kind { MARK_HEADING, MARK_CODE, MARK_LINES };

/* Whole lines [first, last) that the reader knows to be more than prose. Marks stand in order and do not
 * overlap. */
struct reading_mark {
    size_t first, last;
    enum mark_kind kind;
    int level;               /* of a heading, from 1 */
    size_t title, title_end; /* of a heading: what its line says */
};

struct mark_list { /* zero-initialised storage is empty */
    struct reading_mark *items;
    size_t count, capacity;
};

/* Text byte `text` comes from byte `source` of the file, and so on byte by byte to the next one. */
struct reading_origin {
    size_t text, source;
};

struct origin_list { /* zero-initialised storage is empty */
    struct reading_origin *items;
    size_t count, capacity;
};

/* From text byte `text` on the file's text comes out of its member of that name. */
struct reading_part {
    size_t text, name; /* name: in the list's names, NUL-terminated */
};

struct part_list { /* zero-initialised storage is empty */
    struct reading_part *items;
    size_t count, capacity;
    struct strbuf names;
};

struct reading {
    struct strbuf text;         /* normalised UTF-8 */
    struct strbuf title;        /* from the file's metadata; may be empty */
    struct page_list pages;     /* empty: the file has no pages */
    struct mark_list marks;     /* of a kind whose structure is known: see kind_structure */
    struct origin_list origins; /* empty: not known */
    struct part_list parts;     /* of a packed document; else empty */
    size_t unread_pages;        /* pictures of text */
    size_t skipped;             /* parts that should have been read and could not be; named in notes */
    enum kind kind;
    char encoding[40];
    uint64_t source_bytes;
    char name[256];      /* the file as shown to a person */
    struct notes *notes; /* the document's */
};

bool reading_mark(struct reading *reading, const struct reading_mark *mark); /* false: no memory */
bool reading_origin(struct reading *reading, size_t text, size_t source);    /* false: no memory */
/* What is written from now on comes out of that member. false: no memory. */
bool reading_part(struct reading *reading, const char *member);
void reading_fini(struct reading *reading);

#endif

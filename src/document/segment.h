/* Text to spans: paragraphs, headings and their sections, sentences. Linear in the text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCUMENT_SEGMENT_H
#define DOCUMENT_SEGMENT_H

#include "document/document.h"

/* Adds the spans of one file, whose text and pages are in the document already. title: the file's
 * own, or "" when the first heading should give it; name: used when nothing else names it. marks: what the
 * file's reader knows of its lines (bytes from the beginning of the file's text), or NULL. */
ll_status segment_file(struct ll_document *document, struct doc_file *file, const struct mark_list *marks,
                       const char *title, const char *name, const ll_run *run, ll_error *error);

#endif

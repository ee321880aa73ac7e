/* A full-text index in memory: which texts share words with a query, by SQLite's FTS5.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Words are those of document/words, so that scripts without blanks are searched by character; endings
 * are folded by the Porter stemmer, accents are ignored. */
#ifndef ASKING_FULLTEXT_H
#define ASKING_FULLTEXT_H

#include "base/strbuf.h"
#include "longleaf.h"

struct fulltext;

struct fulltext_query { /* zero-initialised storage is empty; any of its words may match */
    struct strbuf text;
};

void fulltext_query_add(struct fulltext_query *query, const char *word, size_t length);
void fulltext_query_fini(struct fulltext_query *query);

ll_status fulltext_open(struct fulltext **ret, ll_error *error);
void fulltext_close(struct fulltext *index);
ll_status fulltext_add(struct fulltext *index, size_t id, const char *text, size_t length, ll_error *error);
/* Ids of the best `most` texts by BM25, best first. An empty query finds nothing. */
ll_status fulltext_find(struct fulltext *index, const struct fulltext_query *query, size_t *out, size_t most,
                        size_t *ret_count, ll_error *error);

#endif

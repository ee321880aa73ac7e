/* What models answered, kept in a file: the same question to the same model is never computed twice.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One transaction for each answer, written ahead (WAL): killed at any moment, the file is whole and
 * lacks at most what was running. Several processes may use one file. The least lately used answers go
 * when the file grows beyond its limit. */
#ifndef DOCUMENT_JOURNAL_H
#define DOCUMENT_JOURNAL_H

#include "base/strbuf.h"
#include "longleaf.h"
#include "text/token_list.h"

enum { JOURNAL_KEY = 32 };

struct journal;

struct journal_answer {
    struct token_list tokens;
    bool ended, looped; /* by the model itself; stopped by the guard */
};

/* Makes the file and its folder, for this user only. limit: bytes; 0: the usual. cancel ends waiting for
 * another process that has locked the file; borrowed until journal_close, may be NULL. */
ll_status journal_open(const char *path, uint64_t limit, const ll_cancel *cancel, struct journal **ret,
                       ll_error *error);
void journal_close(struct journal *journal);
/* SHA-256 of all that an answer depends on. LL_NOMEM: no key. */
ll_status journal_key(const unsigned char identity[32], const ll_sampling *sampling, ll_dtype cache_type,
                      size_t max_tokens, const struct token_list *prompt, unsigned char ret[JOURNAL_KEY],
                      ll_error *error);
/* *ret_found false: not there, and *ret is untouched. */
ll_status journal_find(struct journal *journal, const unsigned char key[JOURNAL_KEY],
                       struct journal_answer *ret, bool *ret_found, ll_error *error);
ll_status journal_store(struct journal *journal, const unsigned char key[JOURNAL_KEY], const ll_token *tokens,
                        size_t count, bool ended, bool looped, double seconds, ll_error *error);
/* Keys and values of the first `count` tokens of a prompt, as engine/keep.h has them. They may take half of
 * the limit; the least lately used go first. */
ll_status journal_window_key(const unsigned char identity[32], ll_dtype cache_type, const ll_token *tokens,
                             size_t count, unsigned char ret[JOURNAL_KEY], ll_error *error);
/* Appends to out; *ret_found false: not there. */
ll_status journal_find_window(struct journal *journal, const unsigned char key[JOURNAL_KEY],
                              struct strbuf *out, bool *ret_found, ll_error *error);
/* Larger than may be kept: nothing is, and it is no failure. */
ll_status journal_store_window(struct journal *journal, const unsigned char key[JOURNAL_KEY],
                               const char *bytes, size_t length, ll_error *error);

#endif

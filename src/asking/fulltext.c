/* A full-text index in memory: which texts share words with a query, by SQLite's FTS5.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/fulltext.h"

#include "base/database.h"
#include "base/error.h"
#include "base/mem.h"
#include "readers/words.h"

struct fulltext {
    struct database *database;
    struct statement *insert, *find;
    struct strbuf words; /* scratch */
};

/* ---- queries --------------------------------------------------------------------------------- */

/* Each word in quotes: nothing in it is syntax. */
void fulltext_query_add(struct fulltext_query *query, const char *word, size_t length)
{
    strbuf_puts(&query->text, query->text.length ? " OR \"" : "\"");
    for (size_t i = 0; i < length; i++)
        strbuf_putc(&query->text, word[i] == '"' || word[i] == '\0' ? ' ' : word[i]);
    strbuf_putc(&query->text, '"');
}

void fulltext_query_fini(struct fulltext_query *query)
{
    strbuf_fini(&query->text);
}

/* ---- the index ------------------------------------------------------------------------------- */

static ll_status prepare(struct fulltext *index, ll_error *error)
{
    static const char *const steps[] = {"CREATE VIRTUAL TABLE passage USING fts5(body, content='', "
                                        "tokenize='porter unicode61 remove_diacritics 2')"};
    static const struct database_schema schema = {"the full-text index", 0x4C4C4654, steps, 1};
    struct database_options options = {.schema = &schema, .safety = DATABASE_QUICK};
    LL_TRY(database_open(":memory:", &options, &index->database, error));
    LL_TRY(database_run(index->database, "BEGIN", error));
    LL_TRY(statement_open(index->database, "INSERT INTO passage(rowid, body) VALUES (?1, ?2)", &index->insert,
                          error));
    return statement_open(
        index->database,
        "SELECT rowid FROM passage WHERE passage MATCH ?1 ORDER BY bm25(passage), rowid LIMIT ?2",
        &index->find, error);
}

ll_status fulltext_open(struct fulltext **ret, ll_error *error)
{
    struct fulltext *index = mem_new(1, sizeof *index);
    if (!index)
        return error_nomem(error, "ask", sizeof *index);
    ll_status status = prepare(index, error);
    if (status == LL_OK)
        *ret = index;
    else
        fulltext_close(index);
    return status;
}

void fulltext_close(struct fulltext *index)
{
    if (!index)
        return;
    statement_close(index->insert);
    statement_close(index->find);
    database_close(index->database);
    strbuf_fini(&index->words);
    mem_free(index);
}

ll_status fulltext_add(struct fulltext *index, size_t id, const char *text, size_t length, ll_error *error)
{
    struct words walk = words_of(text, length);
    struct word word;
    strbuf_clear(&index->words);
    while (words_next(&walk, &word)) {
        strbuf_append(&index->words, text + word.first, word.last - word.first);
        strbuf_putc(&index->words, ' ');
    }
    if (index->words.failed)
        return error_nomem(error, "ask", length);
    statement_bind_integer(index->insert, 1, (int64_t)id + 1);
    statement_bind_text(index->insert, 2, strbuf_text(&index->words));
    return statement_run(index->insert, error);
}

ll_status fulltext_find(struct fulltext *index, const struct fulltext_query *query, size_t *out, size_t most,
                        size_t *ret_count, ll_error *error)
{
    bool row = query->text.length > 0;
    size_t count = 0;
    if (query->text.failed)
        return error_nomem(error, "ask", query->text.length);
    statement_bind_text(index->find, 1, strbuf_text(&query->text));
    statement_bind_integer(index->find, 2, (int64_t)most);
    while (row && count < most) {
        LL_TRY(statement_step(index->find, &row, error));
        if (row)
            out[count++] = (size_t)(statement_integer(index->find, 0) - 1);
    }
    statement_reset(index->find);
    *ret_count = count;
    return LL_OK;
}

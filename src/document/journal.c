/* What models answered, kept in a file: the same question to the same model is never computed twice.
 * SPDX-License-Identifier: Apache-2.0 */
#include "document/journal.h"

#include <openssl/evp.h>
#include <string.h>
#include <time.h>

#include "base/database.h"
#include "base/error.h"
#include "base/mem.h"

enum {
    USE_STEP = 3600, /* seconds; a later use is not written down again before */
    PRUNE_ROUNDS = 6,
};

static const uint64_t usual_limit = (uint64_t)256 << 20;

static const char *const steps[] = {"CREATE TABLE answer (key BLOB PRIMARY KEY, tokens BLOB NOT NULL, "
                                    "ended INTEGER NOT NULL, looped INTEGER NOT NULL, seconds REAL NOT NULL, "
                                    "used INTEGER NOT NULL) WITHOUT ROWID;"
                                    "CREATE INDEX answer_used ON answer (used)",
                                    "CREATE TABLE window (key BLOB PRIMARY KEY, bytes INTEGER NOT NULL, "
                                    "used INTEGER NOT NULL, state BLOB NOT NULL);"
                                    "CREATE INDEX window_used ON window (used, bytes)"};
static const struct database_schema schema = {"the document cache", 0x4C4C4A4E, steps, 2};

struct journal {
    struct database *database;
    struct statement *find, *touch, *store;
    uint64_t limit;
};

/* ---- keys ------------------------------------------------------------------------------------ */

struct key_settings { /* hashed as bytes: no padding may be left unset */
    float temperature, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    float typical_p, xtc_probability, xtc_threshold, mirostat_tau, mirostat_eta, dry_multiplier, dry_base;
    int32_t top_k, penalty_window, cache_type, format, mirostat, dry_length, dry_window;
    uint64_t seed, max_tokens, prompt_tokens;
};

enum { ANSWER_FORMAT = 1 }; /* raised when the same request would be answered otherwise by new code */

/* With their ends and their number, so that no two lists look alike. */
static bool add_texts(EVP_MD_CTX *digest, const char *const *texts, size_t count)
{
    for (size_t i = 0; texts && i < count; i++)
        if (EVP_DigestUpdate(digest, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) + 1 : 1) != 1)
            return false;
    return EVP_DigestUpdate(digest, &count, sizeof count) == 1;
}

ll_status journal_key(const unsigned char identity[32], const ll_sampling *sampling, ll_dtype cache_type,
                      size_t max_tokens, const struct token_list *prompt, unsigned char ret[JOURNAL_KEY],
                      ll_error *error)
{
    struct key_settings settings;
    memset(&settings, 0, sizeof settings);
    settings.temperature = sampling->temperature;
    settings.top_p = sampling->top_p;
    settings.min_p = sampling->min_p;
    settings.repeat_penalty = sampling->repeat_penalty;
    settings.presence_penalty = sampling->presence_penalty;
    settings.frequency_penalty = sampling->frequency_penalty;
    settings.typical_p = sampling->typical_p;
    settings.xtc_probability = sampling->xtc_probability;
    settings.xtc_threshold = sampling->xtc_threshold;
    settings.mirostat_tau = sampling->mirostat_tau;
    settings.mirostat_eta = sampling->mirostat_eta;
    settings.dry_multiplier = sampling->dry_multiplier;
    settings.dry_base = sampling->dry_base;
    settings.mirostat = sampling->mirostat;
    settings.dry_length = sampling->dry_length;
    settings.dry_window = sampling->dry_window;
    settings.top_k = sampling->top_k;
    settings.penalty_window = sampling->penalty_window;
    settings.cache_type = (int32_t)cache_type;
    settings.format = ANSWER_FORMAT;
    settings.seed = sampling->temperature > 0 ? sampling->seed : 0;
    settings.max_tokens = max_tokens;
    settings.prompt_tokens = prompt->count;
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool good = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(digest, identity, 32) == 1 &&
                EVP_DigestUpdate(digest, &settings, sizeof settings) == 1 &&
                add_texts(digest, sampling->bias, sampling->bias_count) &&
                add_texts(digest, sampling->dry_breakers, sampling->dry_breaker_count) &&
                EVP_DigestUpdate(digest, prompt->ids, prompt->count * sizeof *prompt->ids) == 1 &&
                EVP_DigestFinal_ex(digest, ret, NULL) == 1;
    EVP_MD_CTX_free(digest);
    return good ? LL_OK : error_set(error, LL_NOMEM, "cache", "no memory to hash a prompt");
}

/* ---- opening --------------------------------------------------------------------------------- */

static ll_status open_database(const char *path, bool must_exist, const ll_cancel *cancel,
                               struct database **ret, ll_error *error)
{
    struct database_options options = {.schema = &schema,
                                       .safety = DATABASE_QUICK,
                                       .must_exist = must_exist,
                                       .wait_ms = 30000,
                                       .cancel = cancel};
    return database_open(path, &options, ret, error);
}

static ll_status query(struct database *database, const char *sql, int64_t *ret, ll_error *error)
{
    struct statement *statement;
    bool row = false;
    LL_TRY(statement_open(database, sql, &statement, error));
    ll_status status = statement_step(statement, &row, error);
    *ret = status == LL_OK && row ? statement_integer(statement, 0) : 0;
    statement_close(statement);
    return status;
}

static ll_status file_bytes(struct database *database, uint64_t *ret, ll_error *error)
{
    int64_t pages, page;
    LL_TRY(query(database, "PRAGMA page_count", &pages, error));
    LL_TRY(query(database, "PRAGMA page_size", &page, error));
    *ret = (uint64_t)pages * (uint64_t)page;
    return LL_OK;
}

/* Keeps the `keep` answers used last. */
static ll_status drop_oldest(struct database *database, int64_t keep, ll_error *error)
{
    struct statement *drop;
    LL_TRY(statement_open(database,
                          "DELETE FROM answer WHERE key NOT IN "
                          "(SELECT key FROM answer ORDER BY used DESC, key LIMIT ?1)",
                          &drop, error));
    statement_bind_integer(drop, 1, keep);
    ll_status status = statement_run(drop, error);
    statement_close(drop);
    if (status == LL_OK)
        status = database_run(database, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", error);
    return status;
}

/* Windows cost most room and least work, so they go before any answer: the oldest until the rest takes at
 * most `most` bytes. */
static ll_status drop_windows(struct database *database, uint64_t most, ll_error *error)
{
    struct statement *drop;
    LL_TRY(statement_open(database,
                          "DELETE FROM window WHERE key IN (SELECT key FROM (SELECT key, sum(bytes) OVER "
                          "(ORDER BY used DESC, rowid DESC) AS up_to FROM window) WHERE up_to > ?1)",
                          &drop, error));
    statement_bind_integer(drop, 1, most < INT64_MAX ? (int64_t)most : INT64_MAX);
    ll_status status = statement_run(drop, error);
    statement_close(drop);
    return status;
}

static ll_status shrink(struct database *database, uint64_t limit, ll_error *error)
{
    uint64_t before;
    LL_TRY(file_bytes(database, &before, error));
    if (before > limit) {
        int64_t windows;
        LL_TRY(query(database, "SELECT ifnull(sum(bytes), 0) FROM window", &windows, error));
        uint64_t over = before - limit, held = (uint64_t)windows;
        LL_TRY(drop_windows(database, held > over && limit ? held - over : 0, error));
        LL_TRY(database_run(database, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", error));
    }
    for (int round = 0; round < PRUNE_ROUNDS; round++) {
        uint64_t bytes;
        int64_t answers;
        LL_TRY(file_bytes(database, &bytes, error));
        LL_TRY(query(database, "SELECT count(*) FROM answer", &answers, error));
        if (bytes <= limit || answers == 0)
            return LL_OK;
        /* Each round leaves a little less than the limit, so that the next answers have room. */
        int64_t keep =
            round + 1 == PRUNE_ROUNDS ? 0 : (int64_t)((double)answers * 0.9 * (double)limit / (double)bytes);
        LL_TRY(drop_oldest(database, keep, error));
    }
    return LL_OK;
}

static ll_status open_statements(struct journal *j, ll_error *error)
{
    LL_TRY(statement_open(j->database, "SELECT tokens, ended, looped, used FROM answer WHERE key = ?1",
                          &j->find, error));
    LL_TRY(statement_open(j->database, "UPDATE answer SET used = ?2 WHERE key = ?1", &j->touch, error));
    return statement_open(j->database, "INSERT OR REPLACE INTO answer VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                          &j->store, error);
}

ll_status journal_open(const char *path, uint64_t limit, const ll_cancel *cancel, struct journal **ret,
                       ll_error *error)
{
    struct journal *j = mem_new(1, sizeof *j);
    uint64_t bytes = 0;
    if (!j)
        return error_nomem(error, "cache", sizeof *j);
    j->limit = limit ? limit : usual_limit;
    ll_status status = open_database(path, false, cancel, &j->database, error);
    if (status == LL_OK)
        status = file_bytes(j->database, &bytes, error);
    if (status == LL_OK && bytes > (limit ? limit : usual_limit)) {
        ll_error busy; /* another process is at work: the next one will prune */
        ll_status pruned = shrink(j->database, limit ? limit : usual_limit, &busy);
        if (pruned != LL_OK && pruned != LL_BUSY)
            status = error_set(error, pruned, busy.where, "%s", busy.text);
    }
    if (status == LL_OK)
        status = open_statements(j, error);
    if (status == LL_OK)
        *ret = j;
    else
        journal_close(j);
    return status;
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    statement_close(j->find);
    statement_close(j->touch);
    statement_close(j->store);
    database_close(j->database);
    mem_free(j);
}

/* ---- answers --------------------------------------------------------------------------------- */

static int64_t now(void)
{
    return (int64_t)time(NULL);
}

static ll_status read_answer(const struct statement *found, struct journal_answer *ret, bool *ret_good,
                             ll_error *error)
{
    size_t bytes;
    const unsigned char *tokens = statement_bytes(found, 0, &bytes);
    *ret_good = bytes % sizeof(ll_token) == 0;
    for (size_t i = 0; *ret_good && i < bytes / sizeof(ll_token); i++) {
        ll_token token;
        memcpy(&token, tokens + i * sizeof token, sizeof token);
        if (!token_list_push(&ret->tokens, token))
            return error_nomem(error, "cache", bytes);
    }
    ret->ended = statement_integer(found, 1) != 0;
    ret->looped = statement_integer(found, 2) != 0;
    return LL_OK;
}

ll_status journal_find(struct journal *j, const unsigned char key[JOURNAL_KEY], struct journal_answer *ret,
                       bool *ret_found, ll_error *error)
{
    bool row = false;
    int64_t used = 0;
    ll_status status = LL_OK;
    statement_bind_bytes(j->find, 1, key, JOURNAL_KEY);
    LL_TRY(statement_step(j->find, &row, error));
    if (row) {
        used = statement_integer(j->find, 3);
        status = read_answer(j->find, ret, &row, error);
    }
    statement_reset(j->find);
    *ret_found = row;
    if (status == LL_OK && row && now() - used >= USE_STEP) {
        statement_bind_bytes(j->touch, 1, key, JOURNAL_KEY);
        statement_bind_integer(j->touch, 2, now());
        status = statement_run(j->touch, error);
    }
    return status;
}

ll_status journal_store(struct journal *j, const unsigned char key[JOURNAL_KEY], const ll_token *tokens,
                        size_t count, bool ended, bool looped, double seconds, ll_error *error)
{
    statement_bind_bytes(j->store, 1, key, JOURNAL_KEY);
    statement_bind_bytes(j->store, 2, count ? (const void *)tokens : "", count * sizeof *tokens);
    statement_bind_integer(j->store, 3, ended);
    statement_bind_integer(j->store, 4, looped);
    statement_bind_real(j->store, 5, seconds);
    statement_bind_integer(j->store, 6, now());
    return statement_run(j->store, error);
}

/* ---- windows --------------------------------------------------------------------------------- */

ll_status journal_window_key(const unsigned char identity[32], ll_dtype cache_type, const ll_token *tokens,
                             size_t count, unsigned char ret[JOURNAL_KEY], ll_error *error)
{
    int64_t settings[2] = {(int64_t)cache_type, (int64_t)count};
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool good = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(digest, identity, 32) == 1 &&
                EVP_DigestUpdate(digest, settings, sizeof settings) == 1 &&
                EVP_DigestUpdate(digest, tokens, count * sizeof *tokens) == 1 &&
                EVP_DigestFinal_ex(digest, ret, NULL) == 1;
    EVP_MD_CTX_free(digest);
    return good ? LL_OK : error_set(error, LL_NOMEM, "cache", "no memory to hash a window");
}

ll_status journal_find_window(struct journal *j, const unsigned char key[JOURNAL_KEY], struct strbuf *out,
                              bool *ret_found, ll_error *error)
{
    struct statement *find, *touch;
    LL_TRY(statement_open(j->database, "SELECT state FROM window WHERE key = ?1", &find, error));
    statement_bind_bytes(find, 1, key, JOURNAL_KEY);
    ll_status status = statement_step(find, ret_found, error);
    if (status == LL_OK && *ret_found) {
        size_t length;
        const void *bytes = statement_bytes(find, 0, &length);
        strbuf_append(out, bytes, length);
    }
    statement_close(find);
    if (status != LL_OK || !*ret_found)
        return status;
    LL_TRY(statement_open(j->database, "UPDATE window SET used = ?2 WHERE key = ?1", &touch, error));
    statement_bind_bytes(touch, 1, key, JOURNAL_KEY);
    statement_bind_integer(touch, 2, now());
    status = statement_run(touch, error);
    statement_close(touch);
    return status;
}

ll_status journal_store_window(struct journal *j, const unsigned char key[JOURNAL_KEY], const char *bytes,
                               size_t length, ll_error *error)
{
    struct statement *store;
    uint64_t most = j->limit / 2;
    if (length > most)
        return LL_OK;
    LL_TRY(drop_windows(j->database, most - length, error));
    LL_TRY(statement_open(j->database, "INSERT OR REPLACE INTO window VALUES (?1, ?2, ?3, ?4)", &store,
                          error));
    statement_bind_bytes(store, 1, key, JOURNAL_KEY);
    statement_bind_integer(store, 2, (int64_t)length);
    statement_bind_integer(store, 3, now());
    statement_bind_bytes(store, 4, bytes, length);
    ll_status status = statement_run(store, error);
    statement_close(store);
    return status;
}

/* ---- for people ------------------------------------------------------------------------------ */

ll_status ll_journal_get_info(const char *path, ll_journal_info *ret, ll_error *error)
{
    struct database *database;
    struct statement *sums = NULL;
    ll_journal_info info = {0};
    bool row = false;
    LL_TRY(open_database(path, true, NULL, &database, error));
    ll_status status = file_bytes(database, &info.bytes, error);
    if (status == LL_OK)
        status = statement_open(database,
                                "SELECT count(*), ifnull(sum(seconds), 0), ifnull(min(used), 0), "
                                "ifnull(max(used), 0) FROM answer",
                                &sums, error);
    if (status == LL_OK)
        status = statement_step(sums, &row, error);
    if (status == LL_OK && row) {
        info.answers = (uint64_t)statement_integer(sums, 0);
        info.seconds = statement_real(sums, 1);
        info.oldest = (uint64_t)statement_integer(sums, 2);
        info.newest = (uint64_t)statement_integer(sums, 3);
        *ret = info;
    }
    int64_t windows = 0;
    if (status == LL_OK)
        status = query(database, "SELECT count(*) FROM window", &windows, error);
    ret->windows = status == LL_OK ? (uint64_t)windows : ret->windows;
    statement_close(sums);
    database_close(database);
    return status;
}

ll_status ll_journal_prune(const char *path, uint64_t bytes, ll_error *error)
{
    struct database *database;
    LL_TRY(open_database(path, true, NULL, &database, error));
    ll_status status = shrink(database, bytes, error);
    database_close(database);
    return status;
}

/* Sessions on disk: timeline, keys, values and logits in one file that is not trusted when it comes back.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file: the header; the caller's bytes; tokens, int32; logits, fp32, when they are those after the last
 * token; keys and values as cache/snapshot.h says; the hash of all before it. Little-endian. Every size is
 * compared with what this session would write before anything is touched, then the hash. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/options.h"
#include "cache/snapshot.h"
#include "engine/engine.h"
#include "engine/model.h"
#include "engine/session.h"
#include "model/hparams.h"

#define MAGIC "LONGSNAP"
enum { VERSION = 1, BLOCK = 1 << 20, MOST_ATTACHED = 1 << 30 };

struct header {
    char magic[8];
    uint64_t version, header_bytes;
    uint64_t model, settings;                    /* hashes of what made the keys */
    uint64_t attached, tokens, computed, logits; /* bytes, counts; logits: 0 or the vocabulary */
    uint64_t block_tokens, cache_bytes;
    char name[128]; /* of the model, for people */
    uint64_t hash;  /* of the header up to here */
};

static uint64_t header_hash(const struct header *header)
{
    return hash_bytes(header, offsetof(struct header, hash), VERSION);
}

/* Numbers that change what is in the cache, besides the model's file itself. */
static uint64_t settings_hash(const struct model_hparams *h, const struct backend_cache *cache)
{
    double numbers[] = {h->attention_scale,
                        h->attention_softcap,
                        h->embed_scale,
                        h->clamp_qkv,
                        h->alibi_max_bias,
                        h->rotary[0].base,
                        h->rotary[0].linear_factor,
                        h->rotary[1].base,
                        h->rotary[1].linear_factor,
                        h->rotary[0].scaling,
                        h->rotary[0].original,
                        h->rotary[0].magnitude,
                        h->alibi_scale,
                        h->experts_used,
                        h->rotary_dim,
                        h->head_dim,
                        cache->k_type,
                        cache->v_type,
                        h->layers};
    uint64_t hash = hash_bytes(numbers, sizeof numbers, 0);
    for (int i = 0; i < h->layers; i++) {
        int64_t layer[] = {h->layer[i].heads, h->layer[i].kv_heads, h->layer[i].window, h->layer[i].local};
        hash = hash_bytes(layer, sizeof layer, hash);
    }
    return hash;
}

static ll_status describe(ll_session *session, const struct session_state *state, struct header *header,
                          ll_error *error)
{
    const ll_model *model = session_model(session);
    const struct model_hparams *h = model_hparams(model);
    memset(header, 0, sizeof *header); /* all bytes are hashed and written */
    memcpy(header->magic, MAGIC, sizeof header->magic);
    header->version = VERSION;
    header->header_bytes = sizeof *header;
    header->model = model_fingerprint(model);
    header->settings = settings_hash(h, blocks_caches(state->pool));
    header->tokens = state->tokens->count;
    header->computed = (uint64_t)state->table->length;
    header->logits = *state->logits_valid ? (uint64_t)h->vocabulary : 0;
    header->block_tokens = (uint64_t)blocks_tokens(state->pool);
    memcpy(header->name, h->name, sizeof header->name - 1);
    if (!snapshot_bytes(state->pool, h->layers, state->table->length, blocks_tokens(state->pool),
                        &header->cache_bytes))
        return error_set(error, LL_INTERNAL, "snapshot", "the sizes of the cache overflow");
    return LL_OK;
}

/* ---- writing ---- */

struct writing {
    struct file_writer file;
    const ll_run *run;
    unsigned char *block; /* [BLOCK]; hashed and written when it is full */
    size_t used;
    uint64_t hash;
};

static ll_status flush(struct writing *w, ll_error *error)
{
    if (w->run && cancel_requested(w->run->cancel))
        return error_set(error, LL_CANCELLED, "snapshot", "the session was not saved: interrupted");
    w->hash = hash_bytes(w->block, w->used, w->hash);
    ll_status status = file_writer_put(&w->file, w->block, w->used, error);
    w->used = 0;
    return status;
}

static ll_status put(void *user, void *bytes, size_t length, ll_error *error)
{
    struct writing *w = user;
    const unsigned char *from = bytes;
    while (length) {
        size_t part = length < BLOCK - w->used ? length : BLOCK - w->used;
        memcpy(w->block + w->used, from, part);
        w->used += part;
        from += part;
        length -= part;
        if (w->used == BLOCK)
            LL_TRY(flush(w, error));
    }
    return LL_OK;
}

/* The stream takes what it may not change from a copy that may. */
static ll_status put_const(struct writing *w, const void *bytes, size_t length, ll_error *error)
{
    union {
        const void *read;
        void *plain;
    } same = {.read = bytes};
    return put(w, same.plain, length, error);
}

static ll_status write_parts(struct writing *w, ll_session *session, const struct session_state *state,
                             struct header *header, const void *attached, ll_error *error)
{
    ll_model *model = session_model(session);
    LL_TRY(put_const(w, header, sizeof *header, error));
    LL_TRY(put_const(w, attached, header->attached, error));
    LL_TRY(put_const(w, state->tokens->ids, state->tokens->count * sizeof(ll_token), error));
    LL_TRY(put_const(w, state->logits, (size_t)header->logits * sizeof(float), error));
    engine_lock(model_engine(model));
    ll_status status = snapshot_write(state->pool, model_hparams(model)->layers, state->table, put, w, error);
    engine_unlock(model_engine(model));
    if (status == LL_OK)
        status = flush(w, error);
    return status == LL_OK ? file_writer_put(&w->file, &w->hash, sizeof w->hash, error) : status;
}

static ll_status save(ll_session *session, const char *path, const void *attached, size_t attached_bytes,
                      const ll_run *run, ll_error *error)
{
    struct session_state state;
    struct header header;
    session_state(session, &state);
    if (attached_bytes > MOST_ATTACHED)
        return error_set(error, LL_ARGUMENT, "snapshot", "%zu bytes are too many to keep with a session",
                         attached_bytes);
    LL_TRY(describe(session, &state, &header, error));
    header.attached = attached_bytes;
    header.hash = header_hash(&header);
    struct writing w = {.run = run, .block = mem_new(BLOCK, 1)};
    if (!w.block)
        return error_nomem(error, "snapshot", BLOCK);
    ll_status status = file_writer_open(&w.file, path, true, error);
    if (status == LL_OK)
        status = file_writer_end(&w.file, write_parts(&w, session, &state, &header, attached, error), error);
    mem_free(w.block);
    return status;
}

ll_status ll_session_save(ll_session *session, const char *path, const void *attached, size_t attached_bytes,
                          const ll_run *run, ll_error *error)
{
    LL_TRY(run_check(run, error));
    LL_TRY(session_enter(session, error));
    ll_status status = save(session, path, attached, attached_bytes, run, error);
    session_leave(session);
    return status;
}

/* ---- reading ---- */

struct reading {
    int fd;
    const char *path;
    uint64_t bytes; /* of the file */
};

static ll_status damaged(const struct reading *r, const char *what, ll_error *error)
{
    return error_set(error, LL_FORMAT, "snapshot", "%s is no sound saved session: %s", r->path, what);
}

static ll_status get(void *user, void *bytes, size_t length, ll_error *error)
{
    struct reading *r = user;
    for (size_t at = 0; at < length;) {
        ssize_t got = read(r->fd, (char *)bytes + at, length - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_errno(error, "snapshot", r->path, errno);
        if (got == 0)
            return damaged(r, "it ends early", error);
        at += (size_t)got;
    }
    return LL_OK;
}

static ll_status open_reading(struct reading *r, const char *path, ll_error *error)
{
    struct stat about;
    *r = (struct reading){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .path = path};
    if (r->fd < 0 || fstat(r->fd, &about) != 0)
        return error_errno(error, "snapshot", path, errno);
    if (!S_ISREG(about.st_mode))
        return damaged(r, "it is not a regular file", error);
    r->bytes = (uint64_t)about.st_size;
    return LL_OK;
}

static ll_status read_header(struct reading *r, struct header *header, ll_error *error)
{
    if (r->bytes < sizeof *header)
        return damaged(r, "it is too short", error);
    LL_TRY(get(r, header, sizeof *header, error));
    if (memcmp(header->magic, MAGIC, sizeof header->magic) != 0)
        return damaged(r, "it begins otherwise", error);
    if (header->version != VERSION || header->header_bytes != sizeof *header)
        return error_set(error, LL_UNSUPPORTED, "snapshot",
                         "%s was saved by another version of longleaf (form %llu, this one reads %d)",
                         r->path, (unsigned long long)header->version, VERSION);
    if (header->hash != header_hash(header) || header->attached > MOST_ATTACHED)
        return damaged(r, "its header is damaged", error);
    header->name[sizeof header->name - 1] = '\0';
    return LL_OK;
}

/* What the header claims against what this session would have written. */
static ll_status check_header(struct reading *r, ll_session *session, const struct session_state *state,
                              const struct header *header, ll_error *error)
{
    struct header ours;
    LL_TRY(describe(session, state, &ours, error));
    if (header->model != ours.model)
        return error_set(error, LL_UNSUPPORTED, "snapshot",
                         "%s was saved with another model (“%s”), whose keys mean nothing to this one",
                         r->path, header->name);
    if (header->settings != ours.settings)
        return error_set(
            error, LL_UNSUPPORTED, "snapshot",
            "%s was saved with another cache type or other attention settings; open it with those", r->path);
    if (header->tokens > session_context(session))
        return error_set(error, LL_CONTEXT_FULL, "snapshot",
                         "%s holds %llu tokens and the context %zu; -c asks for a larger one", r->path,
                         (unsigned long long)header->tokens, session_context(session));
    uint64_t cache = 0;
    uint64_t vocabulary = (uint64_t)model_hparams(session_model(session))->vocabulary;
    if (header->computed > header->tokens || header->block_tokens < 1 || header->block_tokens > 1 << 20 ||
        (header->logits != 0 && (header->logits != vocabulary || header->computed != header->tokens)) ||
        !snapshot_bytes(state->pool, model_hparams(session_model(session))->layers, (int64_t)header->computed,
                        (int)header->block_tokens, &cache) ||
        cache != header->cache_bytes)
        return damaged(r, "its parts do not fit together", error);
    uint64_t rest = header->attached + header->tokens * sizeof(ll_token) + header->logits * sizeof(float);
    if (!mem_add(rest, cache, &rest) || !mem_add(rest, sizeof *header + sizeof header->hash, &rest) ||
        rest != r->bytes)
        return damaged(r, "it has another length than it should", error);
    return LL_OK;
}

static ll_status check_hash(struct reading *r, const ll_run *run, ll_error *error)
{
    unsigned char *block = mem_new(BLOCK, 1);
    uint64_t hash = 0, wanted = 0, left = r->bytes - sizeof hash;
    ll_status status = block ? LL_OK : error_nomem(error, "snapshot", BLOCK);
    if (status == LL_OK && lseek(r->fd, 0, SEEK_SET) < 0)
        status = error_errno(error, "snapshot", r->path, errno);
    while (left && status == LL_OK) {
        size_t part = left < BLOCK ? (size_t)left : BLOCK;
        status = run && cancel_requested(run->cancel)
                     ? error_set(error, LL_CANCELLED, "snapshot", "the session was not opened: interrupted")
                     : get(r, block, part, error);
        if (status == LL_OK)
            hash = hash_bytes(block, part, hash);
        left -= part;
    }
    if (r->bytes % BLOCK == sizeof hash && status == LL_OK) /* the writer's last block was an empty one */
        hash = hash_bytes(block, 0, hash);
    mem_free(block);
    if (status == LL_OK)
        status = get(r, &wanted, sizeof wanted, error);
    return status == LL_OK && hash != wanted ? damaged(r, "its bytes have changed since", error) : status;
}

static ll_status read_tokens(struct reading *r, uint64_t count, int64_t vocabulary, struct token_list *tokens,
                             ll_error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        ll_token token;
        LL_TRY(get(r, &token, sizeof token, error));
        if (token < 0 || token >= vocabulary)
            return damaged(r, "it holds tokens that the model does not have", error);
        if (!token_list_push(tokens, token))
            return error_nomem(error, "snapshot", (size_t)count * sizeof token);
    }
    return LL_OK;
}

/* From here on the session is changed: to what was saved, or to nothing when the file changes meanwhile. */
static ll_status take_parts(struct reading *r, ll_session *session, const struct session_state *state,
                            const struct header *header, ll_error *error)
{
    ll_model *model = session_model(session);
    const struct model_hparams *h = model_hparams(model);
    session_forget(session, 0);
    if (lseek(r->fd, (off_t)(sizeof *header + header->attached), SEEK_SET) < 0)
        return error_errno(error, "snapshot", r->path, errno);
    LL_TRY(read_tokens(r, header->tokens, h->vocabulary, state->tokens, error));
    LL_TRY(get(r, state->logits, (size_t)header->logits * sizeof(float), error));
    engine_lock(model_engine(model));
    ll_status status = snapshot_read(state->pool, h->layers, (int64_t)header->computed,
                                     (int)header->block_tokens, state->table, get, r, error);
    engine_unlock(model_engine(model));
    *state->logits_valid = status == LL_OK && header->logits != 0;
    return status;
}

static ll_status load(ll_session *session, const char *path, const ll_run *run, ll_error *error)
{
    struct session_state state;
    struct reading r;
    struct header header;
    session_state(session, &state);
    ll_status status = open_reading(&r, path, error);
    if (status == LL_OK)
        status = read_header(&r, &header, error);
    if (status == LL_OK)
        status = check_header(&r, session, &state, &header, error);
    if (status == LL_OK)
        status = check_hash(&r, run, error);
    if (status == LL_OK) {
        status = take_parts(&r, session, &state, &header, error);
        if (status != LL_OK)
            session_forget(session, 0);
    }
    if (r.fd >= 0)
        close(r.fd);
    return status;
}

ll_status ll_session_load(ll_session *session, const char *path, const ll_run *run, ll_error *error)
{
    LL_TRY(run_check(run, error));
    LL_TRY(session_enter(session, error));
    ll_status status = load(session, path, run, error);
    session_leave(session);
    return status;
}

ll_status ll_snapshot_attached(const char *path, char *out, size_t cap, size_t *ret_length, ll_error *error)
{
    struct reading r;
    struct header header;
    ll_status status = open_reading(&r, path, error);
    if (status == LL_OK)
        status = read_header(&r, &header, error);
    if (status == LL_OK && r.bytes - sizeof header < header.attached)
        status = damaged(&r, "it ends early", error);
    if (status == LL_OK && cap != 0 && cap < header.attached)
        status = error_set(error, LL_ARGUMENT, "snapshot", "room for %zu bytes, %llu are needed", cap,
                           (unsigned long long)header.attached);
    if (status == LL_OK && cap != 0)
        status = get(&r, out, (size_t)header.attached, error);
    if (r.fd >= 0)
        close(r.fd);
    if (status == LL_OK)
        *ret_length = (size_t)header.attached;
    return status;
}

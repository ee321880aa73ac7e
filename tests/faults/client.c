/* A client of the library for the fault tests: each step either works or reports a proper error.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: client STEP FILE, STEP being write, read, map, pool, model or document. Ends with 0 when the step
 * worked, 1 when it failed with a status, a sentence and nothing half done, 2 when something else happened.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/workers.h"

enum { BYTES = 300000 };

static int judged(ll_status status, const ll_error *error)
{
    if (status == LL_OK)
        return 0;
    fprintf(stderr, "%s: %s\n", ll_status_name(status), error->text);
    return error->status == status && strlen(error->text) > 10 && error->where[0] ? 1 : 2;
}

static int write_step(const char *path, ll_error *error)
{
    static char bytes[BYTES];
    memset(bytes, 'n', sizeof bytes);
    return judged(file_write(path, bytes, sizeof bytes, error), error);
}

static int read_step(const char *path, ll_error *error)
{
    struct strbuf out = {0};
    ll_status status = file_read(path, BYTES, NULL, &out, error);
    int result = judged(status, error);
    if (status == LL_OK && out.length == 0)
        result = 2;
    strbuf_fini(&out);
    return result;
}

static int map_step(const char *path, ll_error *error)
{
    struct file_map map = {0};
    ll_status status = file_map_open(path, &map, error);
    if (status != LL_OK && map.bytes)
        return 2;
    file_map_close(&map);
    return judged(status, error);
}

static void count(void *context, size_t task, int thread)
{
    unsigned char *runs = context;
    (void)thread;
    runs[task]++;
}

static int pool_step(ll_error *error)
{
    unsigned char runs[500] = {0};
    struct workers *workers = NULL;
    ll_status status = workers_open(4, &workers, error);
    if (status != LL_OK)
        return workers ? 2 : judged(status, error);
    workers_run(workers, sizeof runs, count, runs);
    workers_close(workers);
    for (size_t i = 0; i < sizeof runs; i++)
        if (runs[i] != 1)
            return 2;
    return 0;
}

/* Opens a tiny model, computes a few tokens and generates from them, with two threads. */
static ll_status model_calls(const char *path, ll_engine **engine, ll_model **model, ll_session **session,
                             ll_error *error)
{
    static const ll_token tokens[] = {5, 9, 4, 7, 11, 5, 9};
    ll_engine_options options;
    ll_finish finish;
    ll_engine_options_init(&options);
    options.threads = 2;
    options.device = "cpu";
    LL_TRY(ll_engine_open(&options, engine, error));
    LL_TRY(ll_model_open(*engine, path, NULL, NULL, model, error));
    LL_TRY(ll_session_open(*model, NULL, session, error));
    LL_TRY(ll_session_sync(*session, tokens, sizeof tokens / sizeof tokens[0], NULL, error));
    return ll_generate(*session, NULL, 4, NULL, &finish, error);
}

static int model_step(const char *path, ll_error *error)
{
    ll_engine *engine = NULL;
    ll_model *model = NULL;
    ll_session *session = NULL;
    ll_status status = model_calls(path, &engine, &model, &session, error);
    if (session && status != LL_OK && ll_session_position(session) > 11)
        return 2;
    ll_engine_close(engine);
    ll_model_close(model);
    ll_session_close(session);
    return judged(status, error);
}

static int document_step(const char *path, ll_error *error)
{
    ll_document *document = NULL;
    const char *paths[1] = {path};
    ll_status status = ll_document_open(paths, 1, NULL, NULL, &document, error);
    size_t length = 0;
    if (status != LL_OK)
        return document ? 2 : judged(status, error);
    int result = ll_document_text(document, &length) && length > 0 ? 0 : 2;
    ll_document_close(document);
    return result;
}

int main(int argc, char **argv)
{
    ll_error error = {0};
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "write") == 0)
        return write_step(argv[2], &error);
    if (strcmp(argv[1], "read") == 0)
        return read_step(argv[2], &error);
    if (strcmp(argv[1], "map") == 0)
        return map_step(argv[2], &error);
    if (strcmp(argv[1], "pool") == 0)
        return pool_step(&error);
    if (strcmp(argv[1], "model") == 0)
        return model_step(argv[2], &error);
    if (strcmp(argv[1], "document") == 0)
        return document_step(argv[2], &error);
    return 2;
}

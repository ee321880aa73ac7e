/* What a reading of the gauge costs: engine, session, page cache. Usage: bench_gauge MODEL
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "longleaf.h"

enum { READINGS = 2000, ROUNDS = 5 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void round_once(const ll_engine *engine, const ll_model *model, const ll_session *session)
{
    ll_memory memory;
    ll_session_stats stats;
    double start = now();
    for (int i = 0; i < READINGS; i++)
        ll_engine_get_memory(engine, 0, &memory);
    double engine_end = now();
    for (int i = 0; i < READINGS; i++)
        ll_session_get_stats(session, &stats);
    double session_end = now();
    uint64_t cached = ll_model_cached_bytes(model);
    double cached_end = now();
    printf("engine %.1f us, session %.3f us, page cache of %.0f MiB %.0f us\n",
           (engine_end - start) * 1e6 / READINGS, (session_end - engine_end) * 1e6 / READINGS,
           (double)cached / 1048576.0, (cached_end - session_end) * 1e6);
}

int main(int argc, char **argv)
{
    ll_engine *engine = NULL;
    ll_model *model = NULL;
    ll_session *session = NULL;
    ll_error error = {.text = "usage: bench_gauge MODEL"};
    ll_token token = 1;
    bool ok = argc == 2 && ll_engine_open(NULL, &engine, &error) == LL_OK &&
              ll_model_open(engine, argv[1], NULL, NULL, &model, &error) == LL_OK &&
              ll_session_open(model, NULL, &session, &error) == LL_OK &&
              ll_session_sync(session, &token, 1, NULL, &error) == LL_OK;
    for (int i = 0; ok && i < ROUNDS; i++)
        round_once(engine, model, session);
    if (!ok)
        fprintf(stderr, "%s\n", error.text);
    ll_session_close(session);
    ll_model_close(model);
    ll_engine_close(engine);
    return ok ? 0 : 1;
}

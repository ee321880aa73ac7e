/* ll_model_quantize: a model file to a smaller one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "base/error.h"
#include "base/options.h"
#include "formats/requantize.h"

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

ll_status ll_model_quantize(const char *in, const char *out, const char *type, const ll_run *run,
                            ll_error *error)
{
    struct gguf *gguf = NULL;
    struct workers *workers = NULL;
    enum dtype dtype;
    LL_TRY(run_check(run, error));
    LL_TRY(requantize_type(type, &dtype, error));
    if (same_file(in, out))
        return error_set(error, LL_ARGUMENT, "quantize",
                         "both names are of the same file; the model is kept");
    ll_status status = gguf_open(in, &gguf, error);
    if (status == LL_OK)
        status = workers_open(0, &workers, error);
    if (status == LL_OK)
        status = requantize(gguf, out, dtype, workers, run, error);
    workers_close(workers);
    gguf_close(gguf);
    return status;
}

/* ll_model_quantize: a model file, or a folder, to a file of another type.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "base/error.h"
#include "base/options.h"
#include "formats/hf_folder.h"
#include "formats/requantize.h"
#include "model/params.h"
#include "text/tokenizer.h"

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* What a folder says is proved before anything is written: hours later is too late to learn that a tensor is
 * missing. */
static ll_status check_folder(const struct gguf *gguf, ll_error *error)
{
    struct model_hparams hparams;
    struct tokenizer *tokenizer = NULL;
    LL_TRY(hparams_read(gguf, &hparams, error));
    ll_status status = params_check(gguf, &hparams, error);
    if (status == LL_OK)
        status = tokenizer_open(gguf, &tokenizer, error);
    tokenizer_close(tokenizer);
    hparams_fini(&hparams);
    return status;
}

ll_status ll_model_quantize(const char *in, const char *out, const char *type, const ll_run *run,
                            ll_error *error)
{
    struct gguf *gguf = NULL;
    struct workers *workers = NULL;
    enum dtype dtype = REQUANTIZE_KEEP;
    LL_TRY(run_check(run, error));
    if (type)
        LL_TRY(requantize_type(type, &dtype, error));
    if (same_file(in, out))
        return error_set(error, LL_ARGUMENT, "quantize",
                         "both names are of the same file; the model is kept");
    ll_status status = model_file_open(in, &gguf, error);
    if (status == LL_OK && gguf_has_source(gguf))
        status = check_folder(gguf, error);
    if (status == LL_OK)
        status = workers_open(0, &workers, error);
    if (status == LL_OK)
        status = requantize(gguf, out, dtype, workers, run, error);
    workers_close(workers);
    gguf_close(gguf);
    return status;
}

/* ll_model_check: a verdict on a model file, without a device and without its weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/model.h"
#include "formats/hf_folder.h"
#include "model/architecture.h"
#include "model/params.h"

struct checking {
    struct gguf *gguf;
    struct model_hparams hparams;
    struct tokenizer *tokenizer;
    struct chat chat;
};

/* Everything that opening would look at, but for the weights' values. */
static ll_status check_all(struct checking *c, const char *path, ll_error *error)
{
    LL_TRY(model_file_open(path, &c->gguf, error));
    LL_TRY(model_refuse_adapter(c->gguf, error));
    LL_TRY(hparams_read(c->gguf, &c->hparams, error));
    LL_TRY(params_check(c->gguf, &c->hparams, error));
    LL_TRY(tokenizer_open(c->gguf, &c->tokenizer, error));
    if (tokenizer_size(c->tokenizer) > (size_t)c->hparams.vocabulary)
        return error_set(error, LL_FORMAT, "model",
                         "the tokenizer knows %zu tokens but the embedding has %lld rows",
                         tokenizer_size(c->tokenizer), (long long)c->hparams.vocabulary);
    return chat_open(c->gguf, c->tokenizer, &c->chat, error);
}

ll_status ll_model_check(const char *path, ll_model_info *ret, ll_error *error)
{
    struct checking checking = {0};
    ll_status status = check_all(&checking, path, error);
    if (status != LL_OK)
        model_name_file(path, error);
    else if (ret)
        model_describe(checking.gguf, &checking.hparams, checking.tokenizer, &checking.chat, ret);
    if (checking.tokenizer)
        chat_close(&checking.chat);
    tokenizer_close(checking.tokenizer);
    hparams_fini(&checking.hparams);
    gguf_close(checking.gguf);
    return status;
}

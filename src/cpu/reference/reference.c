/* Opens the plain backend and lists its operations.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cpu/reference/reference.h"

#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "cpu/cpu.h"
#include "cpu/experts.h"

static int reference_probe(const char **reason)
{
    (void)reason;
    return 1;
}

static ll_status reference_open(const struct backend_options *options, struct backend **ret, ll_error *error)
{
    (void)options;
    struct host *host = mem_new(1, sizeof *host);
    if (!host)
        return error_nomem(error, "reference backend", sizeof *host);
    host_init(host);
    host->base = (struct backend){.table = &reference_backend, .activation = DT_F32, .residual = DT_F32,
                                  .block_tokens = 64, .host_memory = true};
    snprintf(host->base.name, sizeof host->base.name, "reference");
    snprintf(host->base.device, sizeof host->base.device, "plain loops");
    *ret = &host->base;
    return LL_OK;
}

static void reference_close(struct backend *backend)
{
    if (!backend)
        return;
    host_fini(host_of(backend));
    mem_free(host_of(backend));
}

const struct backend_table reference_backend = {
    .version = BACKEND_VERSION,
    .size = sizeof(struct backend_table),
    .name = "reference",
    .probe = reference_probe,
    .open = reference_open,
    .close = reference_close,
    .memory_new = host_memory_new,
    .memory_free = host_memory_free,
    .memory_use = host_memory_use,
    .upload = NULL,
    .prepare_weight = host_prepare_weight,
    .supports_weight = host_supports_weight,
    .begin = host_begin,
    .end = host_end,
    .read = host_read,
    .embed = reference_embed,
    .norm = reference_norm,
    .products = reference_products,
    .rotary = reference_rotary,
    .cache_write = reference_cache_write,
    .attention = reference_attention,
    .activate = reference_activate,
    .experts = host_experts,
    .add = reference_add,
    .clamp = reference_clamp,
    .softcap = reference_softcap,
    .gather_outputs = host_gather_outputs,
    .greatest = host_greatest,
    .cache_copy = host_cache_copy,
};

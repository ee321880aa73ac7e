/* A client of src/formats for the fault tests: makes a toy model and opens one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: gguf_client write|open FILE. Ends with 0 when that worked, 1 when it failed properly, 2 when
 * something else happened. */
#include <stdio.h>
#include <string.h>

#include "toy/toy_model.h"

static int open_step(const char *path)
{
    struct gguf *gguf = NULL;
    ll_error error = {0};
    ll_status status = gguf_open(path, &gguf, &error);
    if (status == LL_OK) {
        bool found = gguf_find(gguf, "general.architecture") && gguf_tensor_find(gguf, "output_norm.weight");
        gguf_close(gguf);
        return found ? 0 : 2;
    }
    fprintf(stderr, "%s: %s\n", ll_status_name(status), error.text);
    return !gguf && error.status == status && strlen(error.text) > 10 && error.where[0] ? 1 : 2;
}

static int write_step(const char *path)
{
    struct toy_model toy = toy_model_defaults("llama");
    return toy_model_write_file(&toy, path) ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "open") == 0)
        return open_step(argv[2]);
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_step(argv[2]);
    return 2;
}

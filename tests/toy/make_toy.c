/* make_toy ARCHITECTURE FILE [name=value …]: a toy model for shell tests.
 * SPDX-License-Identifier: Apache-2.0
 * Names: layers width heads kv_heads head_dim feed_forward context sliding_window tokens seed tied
 * dtype (Q8_0 …) chat (none, chatml, gemma, strange) pre vocabulary (bpe, spm). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toy/toy_model.h"

static bool set_number(struct toy_model *toy, const char *name, long value)
{
    struct {
        const char *name;
        int *at;
    } numbers[] = {
        {"layers", &toy->layers},     {"width", &toy->width},
        {"heads", &toy->heads},       {"kv_heads", &toy->kv_heads},
        {"head_dim", &toy->head_dim}, {"feed_forward", &toy->feed_forward},
        {"context", &toy->context},   {"sliding_window", &toy->sliding_window},
        {"tokens", &toy->tokens},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(numbers[i].name, name) == 0) {
            *numbers[i].at = (int)value;
            return true;
        }
    return false;
}

static bool set_word(struct toy_model *toy, const char *name, const char *value)
{
    static const char *const chats[] = {"none", "chatml", "gemma", "strange"};
    for (int i = 0; i < DT_COUNT && strcmp(name, "dtype") == 0; i++)
        if (strcmp(dtype_info((enum dtype)i)->name, value) == 0) {
            toy->dtype = (enum dtype)i;
            return true;
        }
    for (int i = 0; i < 4 && strcmp(name, "chat") == 0; i++)
        if (strcmp(chats[i], value) == 0) {
            toy->chat = (enum toy_chat)i;
            return true;
        }
    if (strcmp(name, "pre") == 0)
        toy->pre = value;
    else if (strcmp(name, "vocabulary") == 0)
        toy->vocabulary = strcmp(value, "spm") == 0 ? TOY_SPM : TOY_BPE;
    else if (strcmp(name, "seed") == 0)
        toy->seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "tied") == 0)
        toy->tied = strcmp(value, "0") != 0;
    else
        return set_number(toy, name, strtol(value, NULL, 10));
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: make_toy ARCHITECTURE FILE [name=value ...]\n");
        return 2;
    }
    struct toy_model toy = toy_model_defaults(argv[1]);
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value)
            *value++ = '\0';
        if (!value || !set_word(&toy, argv[i], value)) {
            fprintf(stderr, "make_toy: cannot set %s\n", argv[i]);
            return 2;
        }
    }
    if (!toy_model_write_file(&toy, argv[2])) {
        fprintf(stderr, "make_toy: cannot write %s\n", argv[2]);
        return 1;
    }
    return 0;
}

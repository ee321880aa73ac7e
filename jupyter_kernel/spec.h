/* Kernel specs: the folders by which Jupyter finds this kernel, installed, listed, removed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_SPEC_H
#define JUPYTER_KERNEL_SPEC_H

#include "console/text.h"

enum spec_where { SPEC_USER, SPEC_SYS_PREFIX, SPEC_PREFIX };

struct spec {
    enum spec_where where;
    const char *prefix;       /* of SPEC_PREFIX */
    const char *name;         /* NULL: longleaf */
    const char *display_name; /* NULL: Longleaf, with the model's name when there is one */
    const char *model;        /* NULL: the default one */
};

/* The folder that holds the folders of specs. False: problem holds the sentence. */
bool spec_folder(enum spec_where where, const char *prefix, struct text *path, struct text *problem);
/* Writes kernel.json and the logos; an older spec of that name is replaced whole. path: where. */
bool spec_install(const struct spec *spec, const char *program, struct text *path, struct text *problem);
/* Removes what spec_install wrote; a folder that holds more is left with a sentence. */
bool spec_uninstall(const struct spec *spec, struct text *path, struct text *problem);
/* Specs of this kernel wherever Jupyter looks: a line each of name, display name, folder. */
bool spec_list(struct text *out);
/* The absolute name by which this program can be started again. */
bool spec_program(const char *called, struct text *path, struct text *problem);

#endif

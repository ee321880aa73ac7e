/* Where models live, and which file a name means.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_MODELPATH_H
#define CONSOLE_MODELPATH_H

#include "console/text.h"

#define MODELPATH_DEFAULT "SmolLM2-135M-Instruct.Q4_1.gguf"
/* What the default model's file must hash to. */
#define MODELPATH_DEFAULT_SHA256 "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

/* $LONGLEAF_MODELS, or longleaf/models under $XDG_DATA_HOME or ~/.local/share. False: no home is known. */
bool modelpath_folder(struct text *path);
/* The file that name means: with NULL the default one; else NAME or NAME.gguf in the models folder,
 * else name as a path. False: no such file; problem holds the sentence, path the place looked at. */
bool modelpath_find(const char *name, struct text *path, struct text *problem);

#endif

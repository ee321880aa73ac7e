/* Opens what a person names: files, standard input, pipes; content decides how it is read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_SOURCE_H
#define READERS_SOURCE_H

#include "readers/reading.h"

/* path "-": standard input. Names are bytes and reach no shell and no child. reading: zeroed but for
 * notes; freed by the caller whatever happens. */
ll_status source_read(const char *path, const ll_document_options *options, const ll_run *run,
                      struct reading *reading, ll_error *error);
/* The same for bytes already in memory; they are text whatever they look like. */
ll_status source_read_text(const char *bytes, size_t length, const ll_document_options *options,
                           const ll_run *run, struct reading *reading, ll_error *error);

#endif

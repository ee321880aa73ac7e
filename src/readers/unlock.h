/* A PDF with a password becomes one without, in a temporary file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef READERS_UNLOCK_H
#define READERS_UNLOCK_H

#include "readers/pdf_job.h"

/* By qpdf, which reads the password from a descriptor: no other process of the machine can see it. Replaces
 * pdf->fd and sets unlocked. LL_UNREADABLE: a wrong password; LL_UNSUPPORTED: qpdf is missing. */
ll_status unlock_pdf(struct pdf *pdf);

#endif

/* A PDF with a password becomes one without, in a temporary file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/unlock.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "readers/temporary.h"

enum { QPDF_WARNINGS = 3 };

static ll_status explain(const struct pdf *pdf, const struct child_result *result)
{
    char reason[160];
    const char *complaint = strbuf_text(&result->complaint);
    utf8_printable(complaint, strcspn(complaint, "\n"), reason, sizeof reason);
    if (strstr(complaint, "invalid password"))
        return error_set(pdf->error, LL_UNREADABLE, "pdf", "%s does not open with the password given",
                         pdf->reading->name);
    return error_set(pdf->error, LL_UNREADABLE, "pdf", "%s could not be unlocked%s%s", pdf->reading->name,
                     reason[0] ? ": " : "", reason);
}

ll_status unlock_pdf(struct pdf *pdf)
{
    const char *argv[] = {"qpdf", "--password-file=" CHILD_SECRET, "--decrypt", CHILD_INPUT, "-", NULL};
    struct child_limits limits = pdf_limits(pdf);
    struct child_result result;
    int fd;
    limits.secret = pdf->options->password;
    ll_status status = child_run(argv, pdf->fd, &limits, pdf->cancel, &result, pdf->error);
    if (status == LL_NOT_FOUND)
        return error_set(
            pdf->error, LL_UNSUPPORTED, "pdf",
            "%s needs a password, and opening it needs the program qpdf: install the package qpdf",
            pdf->reading->name);
    LL_TRY(status);
    bool done = (result.exit_code == 0 || result.exit_code == QPDF_WARNINGS) && result.out.length &&
                !result.too_much && !result.too_long;
    status = done ? temporary_make(strbuf_text(&result.out), result.out.length, &fd, pdf->error)
                  : explain(pdf, &result);
    if (status == LL_OK) {
        pdf->fd = fd;
        pdf->unlocked = true;
    }
    child_result_fini(&result);
    return status;
}

/* Fills the caller's error record and propagates statuses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static ll_status set(ll_error *error, ll_status status, const char *where, int64_t offset, const char *format,
                     va_list args)
{
    if (!error)
        return status;
    error->status = status;
    error->offset = offset;
    snprintf(error->where, sizeof error->where, "%s", where ? where : "");
    vsnprintf(error->text, sizeof error->text, format, args);
    utf8_trim_partial(error->text);
    return status;
}

ll_status error_set(ll_error *error, ll_status status, const char *where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(error, status, where, -1, format, args);
    va_end(args);
    return status;
}

ll_status error_set_at(ll_error *error, ll_status status, const char *where, int64_t offset,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(error, status, where, offset, format, args);
    va_end(args);
    return status;
}

ll_status error_nomem(ll_error *error, const char *where, size_t bytes)
{
    return error_set(error, LL_NOMEM, where, "no memory for %zu bytes (%s)", bytes, where);
}

ll_status error_errno(ll_error *error, const char *where, const char *path, int errno_value)
{
    char shown[256], reason[128];
    utf8_printable(path, strlen(path), shown, sizeof shown);
    if (strerror_r(errno_value, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "system error %d", errno_value);
    ll_status status = errno_value == ENOENT ? LL_NOT_FOUND : errno_value == ENOMEM ? LL_NOMEM : LL_IO;
    return error_set(error, status, where, "%s: %s", shown, reason);
}

static const struct {
    ll_status status;
    const char *name, *text;
} statuses[] = {
    {LL_OK, "LL_OK", "success"},
    {LL_NOMEM, "LL_NOMEM", "not enough memory"},
    {LL_IO, "LL_IO", "reading or writing failed"},
    {LL_NOT_FOUND, "LL_NOT_FOUND", "not found"},
    {LL_FORMAT, "LL_FORMAT", "damaged or invalid file"},
    {LL_UNSUPPORTED, "LL_UNSUPPORTED", "not supported"},
    {LL_ARGUMENT, "LL_ARGUMENT", "argument out of range"},
    {LL_STATE, "LL_STATE", "not possible in this state"},
    {LL_BUSY, "LL_BUSY", "in use by another thread"},
    {LL_CANCELLED, "LL_CANCELLED", "cancelled"},
    {LL_CONTEXT_FULL, "LL_CONTEXT_FULL", "longer than the context"},
    {LL_DEVICE, "LL_DEVICE", "the device failed"},
    {LL_DEVICE_MEMORY, "LL_DEVICE_MEMORY", "not enough device memory"},
    {LL_VERSION, "LL_VERSION", "version mismatch"},
    {LL_UNREADABLE, "LL_UNREADABLE", "document cannot be read as text"},
    {LL_INTERNAL, "LL_INTERNAL", "internal error"},
};

const char *ll_status_name(ll_status status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return "unknown status";
}

const char *ll_status_text(ll_status status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "unknown status";
}

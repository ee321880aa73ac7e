/* Registration: the ports that the kernel chose, told to whoever started it (JEP 66).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JUPYTER_KERNEL_REGISTRATION_H
#define JUPYTER_KERNEL_REGISTRATION_H

#include "jupyter_kernel/sockets.h"

/* Sends one signed frame and waits some seconds for a signed answer. False: problem holds the sentence. */
bool registration_tell(const struct sockets *sockets, const struct connection *connection,
                       const struct wire *wire, struct text *problem);

#endif

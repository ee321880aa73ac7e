/* Whether terminfo knows a terminal that can be painted over.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/paintable.h"

#include <curses.h>
#include <string.h>
#include <term.h>

#include "console/terminal.h"

bool paintable_is(int fd)
{
    int failure = 0;
    if (!terminal_draws(fd) || setupterm(NULL, fd, &failure) != OK)
        return false;
    static char up_name[] = "cuu", clear_name[] = "ed";
    const char *up = tigetstr(up_name), *clear = tigetstr(clear_name);
    bool possible = up && up != (char *)-1 && clear && clear != (char *)-1 && strncmp(up, "\033[", 2) == 0 &&
                    strncmp(clear, "\033[", 2) == 0;
    del_curterm(cur_term);
    return possible;
}

"""What the user can put right: one sentence that says what, where and what to do.
SPDX-License-Identifier: Apache-2.0"""


class Fault(Exception):
    pass

#!/bin/sh
# What people feed in, the cases that take long: bombs that run into the real limits.
# SPDX-License-Identifier: Apache-2.0
LL_LONG=1
export LL_LONG
exec sh "$top_srcdir/tests/readers/inputs.sh"

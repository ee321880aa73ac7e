#!/bin/sh
# Twenty runs killed at random moments: the summary that is finished after them is the same, byte for byte.
# SPDX-License-Identifier: Apache-2.0
LL_KILLS=20
export LL_KILLS
exec sh "$top_srcdir/tests/program/documents.sh"

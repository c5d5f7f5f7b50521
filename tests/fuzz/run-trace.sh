#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The trace decoders over the corpus and seeded changes of it: no crash.
top=${srcdir:-.}
set -- "$top"/tests/fuzz/corpus-trace/*
[ $# -ge 5 ] || { echo "no corpus below $top/tests/fuzz" >&2; exit 1; }
exec ./tests/fuzz/fuzz-trace --mutations 20000 "$@"

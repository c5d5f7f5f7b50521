#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The trace decoders, then the reader of whole traces, over their corpus and
# seeded changes of it: no crash.
top=${srcdir:-.}/tests/fuzz
for target in trace reader; do
	set -- "$top"/corpus-$target/*
	[ $# -ge 4 ] || { echo "no corpus in $top/corpus-$target" >&2; exit 1; }
	n=20000
	[ $target = reader ] && n=1000
	./tests/fuzz/fuzz-$target --mutations $n "$@" || exit 1
done

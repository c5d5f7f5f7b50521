#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The corpus of gdb clients, and what small changes make of it.
exec "${top_builddir:-.}/tests/fuzz/fuzz-gdb" "${srcdir:-.}"/tests/fuzz/corpus-gdb/*

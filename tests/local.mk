# SPDX-License-Identifier: GPL-3.0-or-later
# A unit test is declared in the local.mk of the directory it tests; the
# folders below hold what spans several.

include tests/targets/local.mk
include tests/system/local.mk
include tests/gdb/local.mk
include tests/fuzz/local.mk
include tests/lint/local.mk
include tests/bench/local.mk

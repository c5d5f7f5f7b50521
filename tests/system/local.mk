# SPDX-License-Identifier: GPL-3.0-or-later
# matrix.py records, replays and verifies what matrix.txt lists.
TESTS += tests/system/self.tap
EXTRA_DIST += tests/system/self.tap \
	tests/system/matrix.txt tests/system/matrix.py tests/system/inputs.py \
	tests/system/harness.py

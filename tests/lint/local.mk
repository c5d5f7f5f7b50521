# SPDX-License-Identifier: GPL-3.0-or-later
TESTS += tests/lint/lint.tap tests/lint/self.tap
EXTRA_DIST += tests/lint/lint.py tests/lint/lint.tap tests/lint/self.tap

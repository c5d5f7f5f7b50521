# SPDX-License-Identifier: GPL-3.0-or-later
TESTS += tests/lint/lint.tap tests/lint/self.tap tests/lint/verbs.sh
EXTRA_DIST += tests/lint/verbs.sh tests/lint/lint.py tests/lint/lint.tap tests/lint/self.tap

# SPDX-License-Identifier: GPL-3.0-or-later
dist_man1_MANS += \
	doc/playhead.1 \
	doc/playhead-doctor.1 \
	doc/playhead-events.1 \
	doc/playhead-gdb.1 \
	doc/playhead-info.1 \
	doc/playhead-list.1 \
	doc/playhead-record.1 \
	doc/playhead-replay.1 \
	doc/playhead-report.1 \
	doc/playhead-rm.1 \
	doc/playhead-samples.1 \
	doc/playhead-serve.1 \
	doc/playhead-verify.1

# bash-completion loads a file that is called as the command is.
bashcompdir = $(datadir)/bash-completion/completions
EXTRA_DIST += doc/playhead.bash

install-data-local:
	$(MKDIR_P) $(DESTDIR)$(bashcompdir)
	$(INSTALL_DATA) $(srcdir)/doc/playhead.bash $(DESTDIR)$(bashcompdir)/playhead

uninstall-local:
	rm -f $(DESTDIR)$(bashcompdir)/playhead

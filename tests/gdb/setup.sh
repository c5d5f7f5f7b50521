# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced: a folder of our own, recordings in it, gdb with a script whose TAP
# is our output.
top=${top_builddir:-.}
here=$(cd "$(dirname "$0")" && pwd)
playhead=$(cd "$top" && pwd)/playhead
dir=$(mktemp -d "${TMPDIR:-/tmp}/playhead-gdb.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
PLAYHEAD_DIR=$dir/traces
PLAYHEAD_TAP=$dir/tap
PLAYHEAD_LOG=$dir/log
PLAYHEAD_TESTS=$here
HOME=$dir
export PLAYHEAD_LOG PLAYHEAD_DIR PLAYHEAD_TAP PLAYHEAD_TESTS HOME
unset DEBUGINFOD_URLS
mkdir -p "$PLAYHEAD_DIR"
: >"$PLAYHEAD_TAP"

record_debuggee() {
	"$playhead" record "$@" "$top/tests/gdb/debuggee" >"$dir/out" 2>"$dir/err" </dev/null
	if [ $? -ne 3 ]; then
		echo "Bail out! debuggee cannot be recorded: $(cat "$dir/err")"
		exit 1
	fi
}

# run_gdb SCRIPT [GDB-ARGUMENT...]
run_gdb() {
	script=$1
	shift
	timeout -k 5 "${PLAYHEAD_TEST_LIMIT:-300}" "$playhead" gdb $process ${recording:+"$recording"} -- \
		-batch -nx "$@" -x "$here/$script" >"$dir/log" 2>&1 </dev/null
	status=$?
	cat "$PLAYHEAD_TAP"
	if ! grep -q '^1\.\.' "$PLAYHEAD_TAP"; then
		sed 's/^/# /' "$dir/log" | tail -40
		echo "Bail out! gdb ended early with status $status"
		exit 1
	fi
	! grep -q '^not ok' "$PLAYHEAD_TAP"
}

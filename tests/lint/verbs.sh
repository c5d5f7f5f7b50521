#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every verb has a help, a man page that is installed and names all its
# options and JSON keys, and a completion that offers the verb and its options;
# it refuses an option it does not know in one line, with status 2.
# PLAYHEAD and DOC can be set to look at others.
src=${srcdir:-.}
playhead=${PLAYHEAD:-./playhead}
doc=${DOC:-$src/doc}
faults=0

fault()
{
	echo "verbs: $*" >&2
	faults=$((faults + 1))
}

has()
{
	grep -qF -e "$1" <<<"$2"
}

# One option a line: "-F", "--json".
options_of()
{
	grep -oE '(^|[^[:alnum:]-])--?[[:alpha:]][[:alnum:]-]*' <<<"$1" |
		grep -oE -e '--?[[:alpha:]][[:alnum:]-]*' | sort -u
}

# The words after "keys" in a help, up to the next option or paragraph.
keys_of()
{
	sed -n '/--json  /,/^$/p' <<<"$1" | sed '2,${/^  -/,$d}' |
		grep -oE '\<[a-z]+_[a-z_]+\>' | sort -u
}

check_manners()
{
	local verb=$1 said status

	said=$("$playhead" "$verb" --no-such-option 2>&1 >/dev/null </dev/null)
	status=$?
	[[ $status -eq 2 ]] || fault "$verb: an unknown option ends with $status, not 2"
	[[ $said == "playhead $verb: "*"'--no-such-option'"* && $said != *$'\n'* ]] ||
		fault "$verb: an unknown option is answered by: $said"
	"$playhead" "$verb" --help >/dev/full 2>/dev/null &&
		fault "$verb: --help does not see that its output is lost"
	cmp -s <("$playhead" "$verb" --help) <("$playhead" "$verb" -h) ||
		fault "$verb: -h is not --help"
}

check_verb()
{
	local verb=$1 help page options word

	help=$("$playhead" "$verb" --help) || fault "$verb: --help ends with $?"
	[[ $help == "usage: playhead $verb"* ]] || fault "$verb: --help has no usage line"
	check_manners "$verb"
	if [[ ! -r $doc/playhead-$verb.1 ]]; then
		fault "$verb: no man page"
		return
	fi
	grep -q "doc/playhead-$verb.1\>" "$src/doc/local.mk" || fault "$verb: man page not installed"
	grep -q "^\.B $verb\$" "$doc/playhead.1" || fault "$verb: not in playhead(1)"
	page=$(sed 's/\\-/-/g; s/\\f.//g' "$doc/playhead-$verb.1")
	options=$(. "$doc/playhead.bash" && __playhead_options "$verb")
	for word in $(options_of "$help"); do
		has "$word" "$page" || fault "$verb: $word is not in the man page"
		grep -qE -e "(^| )$word=?( |\$)" <<<"$options" ||
			fault "$verb: $word is not completed"
	done
	for word in $(keys_of "$help"); do
		has "$word" "$page" || fault "$verb: key $word is not in the man page"
	done
	[[ " $(complete_verbs) " == *" $verb "* ]] || fault "$verb: not completed"
}

# What completion offers for an empty first word.
complete_verbs()
{
	(
		. "$doc/playhead.bash"
		COMP_WORDS=(playhead "") COMP_CWORD=1
		_playhead playhead "" playhead
		echo "${COMPREPLY[@]}"
	)
}

verbs=$("$playhead" --help | awk '/^  [a-z]/ { print $1 }')
[[ -n $verbs ]] || fault "no verb at all"
for verb in $verbs; do
	check_verb "$verb"
done
for page in "$doc"/playhead-*.1; do
	verb=${page##*/playhead-}
	grep -qx "${verb%.1}" <<<"$verbs" || fault "${verb%.1}: a man page without a verb"
done
[[ $faults -eq 0 ]]

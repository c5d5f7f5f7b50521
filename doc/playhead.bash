# SPDX-License-Identifier: GPL-3.0-or-later
# Completion of playhead's command line for bash.

# Names of recordings, as the verbs take them.
__playhead_traces()
{
	"$1" list 2>/dev/null | awk 'NR > 1 { print $1 }'
}

__playhead_options()
{
	case $1 in
	record) echo "-F -e -o -q --help" ;;
	report) echo "--by -n --user --json --help" ;;
	samples) echo "--from --count --tid --function --json --help" ;;
	replay) echo "--help" ;;
	verify) echo "--json --stop= --help" ;;
	serve) echo "-p --port --listen --stdio --process --keep --once --help" ;;
	gdb) echo "--process --help" ;;
	list) echo "--json --help" ;;
	info) echo "--json --help" ;;
	events) echo "--from --to --tid --help" ;;
	rm) echo "--help" ;;
	doctor) echo "--json --help" ;;
	esac
}

# What the option before the cursor takes; status 1 if it takes nothing.
__playhead_value()
{
	case $1:$2 in
	record:-e) COMPREPLY=($(compgen -W "cpu-clock wall" -- "$3")) ;;
	record:-o) COMPREPLY=($(compgen -f -- "$3")) ;;
	report:--by) COMPREPLY=($(compgen -W "function thread line" -- "$3")) ;;
	record:-F | report:-n | serve:-p | *:--port | *:--listen | *:--process | \
		*:--from | *:--to | *:--count | *:--tid | *:--function) ;;
	verify:--stop | verify:=)
		COMPREPLY=($(compgen -W "auto trampoline bpf ptrace" -- "${3#=}"))
		;;
	*) return 1 ;;
	esac
}

# record completes the command that it runs; a wrapper knows better how.
__playhead_record()
{
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-F | -e | -o) ((i++)) ;;
		--)
			((i++))
			break
			;;
		-*) ;;
		*) break ;;
		esac
	done
	if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
		_command_offset "$i"
	elif ((i < COMP_CWORD)); then
		COMPREPLY=($(compgen -f -- "$1"))
	else
		COMPREPLY=($(compgen -c -f -- "$1"))
	fi
}

_playhead()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local verb=${COMP_WORDS[1]}
	local verbs="record report samples replay verify serve gdb list info events rm doctor"

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "$verbs --help --version" -- "$cur"))
		return
	fi
	__playhead_value "$verb" "$prev" "$cur" && return
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(__playhead_options "$verb")" -- "$cur"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
		return
	fi
	case $verb in
	record) __playhead_record "$cur" ;;
	list | doctor) ;;
	*)
		COMPREPLY=($(compgen -W "$(__playhead_traces "$1")" -- "$cur")
			$(compgen -d -- "$cur"))
		;;
	esac
}

complete -o filenames -F _playhead playhead

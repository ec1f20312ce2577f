# Completion of ada for bash. What may stand next is what `ada complete` says.
_ada()
{
	local line=${COMP_LINE:0:COMP_POINT} words before i
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" complete -- "${words[@]:1}" 2>/dev/null)
	# Bash's own word begins behind the last '=' or ':', and that is what it replaces.
	before=${words[-1]}
	[[ ${COMP_WORDS[COMP_CWORD]} == [=:]* ]] || before=${before%"${COMP_WORDS[COMP_CWORD]}"}
	for i in "${!COMPREPLY[@]}"; do
		printf -v "COMPREPLY[$i]" %q "${COMPREPLY[i]#"$before"}"
	done
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}
complete -o bashdefault -o default -F _ada ada

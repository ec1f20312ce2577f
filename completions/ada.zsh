#compdef ada
# Completion of ada for zsh. What may stand next is what `ada complete` says.
local -a found
found=(${(f)"$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
if (( ${#found} )); then
	compadd -S '' -- ${(M)found:#*=}
	compadd -- ${found:#*=}
else
	_files
fi

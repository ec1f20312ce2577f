# Completion of ada for fish. What may stand next is what `ada complete` says; where it says nothing, files.
complete -c ada -a '(ada complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'

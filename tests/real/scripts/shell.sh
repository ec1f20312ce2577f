# Pipes, subshells, traps, here documents, job control, exit statuses.
trap 'echo trapped' USR1
kill -USR1 $$
printf '%s\n' c b a | sort | tr a-z A-Z | paste -sd, -
(exit 3); echo "subshell $?"
for i in 1 2 3 4 5; do (exit "$i") & done
for i in 1 2 3 4 5; do wait -n; done; echo waited
cat <<END
here $(echo nested $(echo twice))
END
[[ abc =~ ^(a)(b) ]] && echo "${BASH_REMATCH[2]}"
declare -A map=([one]=1 [two]=2); echo "${map[two]}"
false | true; echo "${PIPESTATUS[@]}"
bash -c 'kill -SEGV $$' 2>/dev/null; echo "killed $?"
exit 9

#!/bin/sh
# SPDX-License-Identifier: MIT
# dash: fork without exec, pipes, traps, background jobs, here documents, and the status of what signals end.
# small
# needs: dash

cat >script.dash <<'DASH'
set -u
echo "-- pipes"
i=0; while [ $i -lt 300 ]; do echo "$i line"; i=$((i + 1)); done | sort -rn | head -n 2
(echo a; echo b; echo c) | while read -r x; do echo "<$x>"; done
echo one | { read -r x; echo "$x two"; } | cat | cat | cat
v=$(echo deep $(echo deeper $(echo deepest))); echo "$v"
cat <<END - | wc -c
$(seq 1 20000)
END
false | true; echo $?; ! true | false; echo $?
{ echo err >&2; } 2>&1 >/dev/null
exec 5>file; echo to five >&5; exec 5>&-; cat <file
mkfifo pipe; (echo by name >pipe) & read -r x <pipe; echo "$x"; wait

echo "-- functions"
fib() { if [ "$1" -lt 2 ]; then echo "$1"; else echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); fi; }
fib 10
for w in a b c; do case $w in b) continue ;; *) echo "$w" ;; esac; done
IFS=:; set -- $(echo x:y:z); IFS=' '; echo "$# $3"
getopts ab: o -b value && echo "$o $OPTARG"
echo "${v%% *} ${v##* } ${#v} ${none:-default}"
eval 'echo "eval $((0x10 + 010))"'
(cd /; pwd); (umask 077; umask)
no-such-command 2>/dev/null; echo "not found $?"
(set -e; false; echo never); echo "errexit $?"

echo "-- traps and signals"
trap 'echo usr1' USR1; kill -USR1 $$; trap - USR1
trap 'echo int' INT; kill -INT $$; kill -INT $$; trap - INT
sh -c 'trap "echo exit trap" EXIT; exit 3'; echo $?
sh -c 'kill -TERM $$'; echo "term $?"
sh -c 'kill -ABRT $$' 2>/dev/null; echo "abrt $?"
sh -c 'trap "" HUP; kill -HUP $$; echo still'
sh -c 'trap "echo late; exit 8" TERM; (sleep 0.2; kill -TERM $$) & while :; do :; done'; echo $?
sleep 60 & p=$!; kill $p; wait $p; echo "killed $?"
sleep 60 & p=$!; kill -STOP $p; kill -CONT $p; kill -KILL $p; wait $p; echo "killed $?"
trap usr2=1 USR2; (while kill -USR2 $$; do sleep 0.1; done) & q=$!; sleep 60 & p=$!
wait $p; echo "wait $(($? > 128)) $usr2"; kill $p $q; wait; trap - USR2

echo "-- jobs"
for i in 1 2 3 4 5 6 7 8 9; do (exit $i) & eval p$i=$!; done
s=0; for i in 9 8 7 6 5 4 3 2 1; do eval wait \$p$i; s=$((s * 10 + $?)); done; echo $s
i=0; while [ $i -lt 100 ]; do (:) & /bin/true & i=$((i + 1)); done; wait; echo "200 children"
trap 'echo the end' EXIT
kill -l 9
exit 12
DASH
$GAIT dash script.dash 2>err
echo "status $?"
$GAIT dash -c 'echo "$1 $#"; exec dash -c "exit 7"' name first second
echo "status $?"
printf 'echo from stdin\ncd /\npwd' | $GAIT dash

# Job control needs a terminal.
cat >jobs.dash <<'DASH'
sleep 60 & kill -STOP %1; until jobs >list; grep -q Stopped list; do sleep 0.02; done; echo stopped
bg %1 >/dev/null; jobs >list; grep -c Running list; kill %1; wait %1; echo "job $?"
sh -c 'exit 4' & wait %1; echo "job $?"
sleep 60 & kill -STOP %1; kill %1; fg %1 >/dev/null; echo "fg $?"
sh -c 'kill -STOP $$; exit 9'; fg %1 >/dev/null; echo "stopped by itself, then $?"
DASH
script -qec "$GAIT dash -m jobs.dash 2>/dev/null" /dev/null </dev/null | tr -d '\r'

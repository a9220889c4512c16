#!/bin/sh
# SPDX-License-Identifier: MIT
# bash: pipes, traps, job control with and without a terminal, coprocesses, and the status of what signals end.
# small
# needs: bash python3

cat >script.bash <<'BASH'
set -u
echo "-- pipes"
seq 1 2000 | awk '{ s += $1 } END { print s }' | tee sum | sed 's/^/sum /'
{ echo out; echo err >&2; } 2>&1 | sort
yes | head -n 3 | cat -n
echo "${PIPESTATUS[@]}"
false | true; echo "status $?"
set -o pipefail; false | true; echo "pipefail $?"; set +o pipefail
diff <(seq 1 5) <(seq 2 6); echo "diff $?"
{ seq 1 3; } > >(cat >copy); wait $!; cat copy
cat <<END | tr a-z A-Z
here document $((6 * 7)) $(echo nested $(echo twice))
END
exec 7<>fifo.txt; echo "through seven" >&7; exec 7>&-; cat fifo.txt

echo "-- subshells and builtins"
f() { local n=$1; ((n < 2)) && { echo "$n"; return; }; echo $(($(f $((n - 1))) + $(f $((n - 2))))); }
f 9
declare -A h; for w in one two three two; do h[$w]=$((${h[$w]:-0} + 1)); done; echo "${h[two]} ${#h[@]}"
[[ "key = value" =~ ^([a-z]+)\ =\ (.*)$ ]] && echo "${BASH_REMATCH[1]}/${BASH_REMATCH[2]}"
printf '%s\n' {a..c}{1..2} | paste -sd,
mapfile -t lines < <(seq 10 15); echo "${#lines[@]} ${lines[-1]}"
(exit 9); echo "subshell $?"
nonexistent-command 2>/dev/null; echo "not found $?"
/etc/passwd 2>/dev/null; echo "not executable $?"
(ulimit -n 20; for i in 1 2 3; do exec {fd}</dev/null; done; echo "fds fine")

echo "-- traps"
trap 'echo usr1' USR1; kill -USR1 $$; kill -USR1 $$
trap 'echo int in $FUNCNAME' INT; g() { kill -INT $$; echo after; }; g; trap - INT
(trap 'echo subshell exit $?' EXIT; exit 3); echo "$?"
(trap 'echo term; exit 5' TERM; kill -TERM $BASHPID; echo never); echo "$?"
(trap '' TERM; kill -TERM $BASHPID; echo ignored)
(set -E; trap 'echo err $?' ERR; false; h() { false; }; h; true)
n=0; trap 'n=$((n + 1))' CHLD; for i in 1 2 3 4 5; do sleep 0.01 & wait $!; done; trap - CHLD; echo "children $((n >= 5))"
(while :; do :; done) & sleep 0.05; kill -TERM $!; wait $!; echo "busy loop $?"
sleep 60 & kill -KILL $!; wait $! 2>/dev/null; echo "killed $?"
{ bash -c 'kill -SEGV $$'; } 2>/dev/null; echo "segv $?"
trap 'echo in read' USR2; read -r x < <(kill -USR2 $$; sleep 0.1; echo late); echo "read ${x:-nothing} $?"
trap 'hup=1' HUP; sleep 60 & p=$!; (while kill -HUP $$; do sleep 0.1; done) & q=$!
wait $p; echo "wait interrupted $(($? > 128)) $hup"; kill $q $p; trap - HUP; wait

echo "-- jobs"
(exit 11) & a=$!; sleep 60 & b=$!; wait -n $a $b; echo "first $?"; kill $b; wait -n $b; echo "last $?"; wait -n; echo "none $?"
coproc bc_ { while read -r a b; do echo $((a + b)); done; }
for i in 1 2 3; do echo "$i $i" >&"${bc_[1]}"; read -r r <&"${bc_[0]}"; echo "$r"; done
kill "$bc__PID"; wait "$bc__PID" 2>/dev/null
set -m
sleep 60 & kill -STOP %1; until jobs -s >list; grep -q sleep list; do sleep 0.02; done; sed 's/  */ /g' list
kill -CONT %1; until jobs -r >list; grep -q sleep list; do sleep 0.02; done; kill %1; wait %1 2>/dev/null; echo "job $?"
sleep 60 | cat & kill -TERM -- -"$(jobs -p %+)"; wait %+ 2>/dev/null; echo "pipeline $?"
[ "$(ps -o pgid= -p "$(sh -c 'echo $PPID')" | tr -d ' ')" ] && echo "own group"
set +m
p=(); for i in {1..60}; do (exit $((i % 7))) & p+=($!); done; s=0; for p in "${p[@]}"; do wait "$p"; s=$((s + $?)); done; echo "sum of 60 $s"
trap 'echo bye' EXIT
exec 3>&1; echo "$(echo captured; echo direct >&3)"
exit 4
BASH
$GAIT bash script.bash 2>&1
echo "status $?"

# An interactive shell on a terminal of its own: stop, background, foreground, interrupt.
cat >terminal.py <<'PY'
import os, pty, select, sys, time

pid, master = pty.fork()
if not pid:
    os.environ.update(PS1="READY> ", PS2="")
    os.execvp(sys.argv[1], sys.argv[1:])
seen = ""

def until(text):
    global seen
    end = time.time() + 120
    while text not in seen:
        if time.time() > end or not select.select([master], [], [], 120)[0]:
            sys.exit(f"no {text!r} in {seen!r}")
        seen += os.read(master, 4096).decode().replace("\r", "")
    part, seen = seen.split(text, 1)
    return part

def foreground():
    while os.tcgetpgrp(master) == shell:
        time.sleep(0.01)

def do(line, prompt="READY> "):
    os.write(master, line.encode())
    return until(prompt)

until("READY> ")
shell = os.tcgetpgrp(master)
print(do("stty -echo\n") and "quiet")
print("1+1", do("echo $((1+1))\n").strip())
os.write(master, b"""perl -e '$| = 1; print "started\\n"; sleep 100; "end"'\n""")
until("started")
print("stopped", "Stopped" in do("\x1a"))
print("background", do("bg; jobs -r | wc -l\n").split()[-1])
os.write(master, b"fg\n")
until('"end"')
foreground()
do("\x03")
print("interrupted", do("echo $?\n").strip())
os.write(master, b"cat\n")
foreground()
os.write(master, b"line\n")
until("line")
print("cat stopped", "Stopped" in do("\x1a"))
print("reads in the background", do("bg; wait %1; jobs -s | wc -l\n").split()[-1])
os.write(master, b"fg\n")
until("cat\n")
foreground()
print("cat", do("more\n\x04").strip())
print("trap", do("trap 'echo caught' INT; kill -INT $$; echo on\n").split())
print("columns", do("stty cols 77; printenv COLUMNS; tput cols 2>/dev/null; echo $COLUMNS\n").split()[-1:])
os.write(master, b"exit 6\n")
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
python3 terminal.py $GAIT bash --norc --noediting -i

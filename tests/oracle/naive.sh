#!/bin/sh
# SPDX-License-Identifier: MIT
# The naive decoder (decode.py, made from docs/trace-format.md alone) must read the same events from a trace as gait dump.
#
#   naive.sh small|all     small: half a minute; all: every kind of record, every instruction case, several minutes
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/naive
gait=$root/build/gait
naive=$root/tests/oracle/decode.py
passed=0
failed=0

rm -rf "$work"
mkdir -p "$work/folder" || exit 2
cd "$work" || exit 2
/usr/bin/python3 -c 'import xxhash, zstandard' || { echo "not ok naive: run scripts/deps test first"; exit 2; }
for f in one two three; do echo "$f" >"folder/$f"; done
head -c 6000 "$root/docs/events.md" >text

not_ok() {
    failed=$((failed + 1))
    echo "not ok $name: $1"
    echo "  again with: $naive $work/$name.gait $2| diff - $work/$name.dump | head"
}

# Compare the events of the trace NAME.gait; with a number, only those of this process.
# shellcheck disable=SC2086 # no process is no word
same() {
    "$gait" dump --format=lackey ${1:+--process $1} "$name.gait" >"$name.dump" 2>"$name.err" ||
        { not_ok "gait dump: $(tail -n 1 "$name.err")" "${1:+$1 }"; return 1; }
    "$naive" "$name.gait" ${1-} >"$name.naive" 2>"$name.err" ||
        { not_ok "the naive decoder: $(tail -n 1 "$name.err")" "${1:+$1 }"; return 1; }
    [ -s "$name.dump" ] || { not_ok "there are no events" "${1:+$1 }"; return 1; }
    difference=$(cmp "$name.dump" "$name.naive" 2>&1) || { not_ok "$difference" "${1:+$1 }"; return 1; }
    passed=$((passed + 1))
}

# judge NAME [RECORD-OPTION]... -- PROGRAM [ARG]...
judge() {
    name=$1
    shift
    "$gait" record -o "$name.gait" "$@" </dev/null >"$name.out" 2>&1
    same && rm -f "$name".*
}

# program NAME [RECORD-OPTION]...: one of tests/programs
program() {
    ${CC:-gcc} -O2 -pthread -w -Wl,--no-warn-execstack -o "$1" "$root/tests/programs/$1.c" -lm || exit 2
    judge "$@" -- "./$1"
}

judge true -- /bin/true
judge ls -- /bin/ls -l folder
judge pipeline -- /bin/sh -c '(echo b; echo a) | sort | cat; exec /bin/true'
judge gzip -- /bin/gzip -c text
judge matmul -- "$root/build/kernels/matmul" -n 20
GAIT_STRESS=hot,tinybuf judge rounds -- "$root/build/kernels/matmul" -n 20 # slots that share columns
judge control --events=control -- /bin/ls folder
program trampolines_on_the_stack
program vfork_shares_memory
program faults_and_handlers
program generated_code_is_traced

# One process of several.
name=one-process
"$gait" record -o $name.gait -- /bin/sh -c '/bin/true; exit 0' && same 2 && rm -f $name.*

# What is damaged is refused by both, wherever it is.
"$gait" record -o whole.gait -- /bin/true
for at in 9 40 70 1000 -1; do
    name=damaged-at-$at
    python3 -c 'import sys; d = bytearray(open("whole.gait", "rb").read()); d[int(sys.argv[1])] ^= 4; sys.stdout.buffer.write(d)' $at >$name.gait
    if "$naive" $name.gait >$name.naive 2>$name.err || "$gait" verify $name.gait >$name.dump 2>&1; then
        not_ok "damage is not noticed" ""
    else
        passed=$((passed + 1))
        rm -f $name.*
    fi
done

if [ "${1:-small}" = all ]; then
    program threads_share_work
    program trap_flag
    program exec_chain
    program threads_signal_each_other
    program gather_faults_in_the_middle
    program code_is_replaced
    judge matmul-40 -- "$root/build/kernels/matmul" -n 40
    export GAIT_STRESS=tinybuf,tinycache
    judge tiny-buffers -- /bin/ls -l folder
    export GAIT_STRESS=lazy,tinybuf
    judge gaps --overflow=drop --events=control -- /bin/ls -l /etc
    unset GAIT_STRESS

    # This one copies for ever in one instruction; its faults come first.
    name=rep_movs_faults_in_the_middle
    ${CC:-gcc} -O2 -w -o $name "$root/tests/programs/$name.c" || exit 2
    "$gait" record -o $name.gait -- ./$name >/dev/null
    "$gait" dump --format=lackey --limit 600000 $name.gait >$name.dump
    if "$naive" $name.gait 2>/dev/null | head -n 600000 | cmp - $name.dump; then
        passed=$((passed + 1))
        rm -f $name.*
    else
        not_ok "its first 600000 events differ" ""
    fi

    for source in "$root"/tests/insn/*.S; do
        case=$(basename "$source" .S)
        ${CC:-gcc} -nostdlib -static -no-pie -Wl,-z,noexecstack -o "$case" "$source" || exit 2
        judge "$case" -- "./$case"
        rm -f "$case"
    done
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

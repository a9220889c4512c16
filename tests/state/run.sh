#!/bin/sh
# SPDX-License-Identifier: MIT
# Random instruction sequences leave the same registers, flags, vector state and memory natively and under gait.
#
#   run.sh [COUNT [SEED]]     COUNT sequences (20000) from this seed on (1): recording memory, recording nothing, written to
#                             memory and run there, and some with each of the knobs of src/host/stress.def
#
# A slice is one file and one run, and one test for each way to run it. Where a slice differs, the first sequence that does is
# printed with both states, and its file is kept.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/state
program=$work/random_state
gait=$root/build/gait
count=${1:-20000}
seed=${2:-1}
slice=25000
passed=0
failed=0
differences=0
instructions=0
stressed=0
mkdir -p "$work"

# The first sequence that differs, and how many do.
first_difference() {
    cmp -l "$1" "$2" 2>/dev/null | awk '{ i = int(($1 - 1) / 8) } i != last || NR == 1 { n++; if (NR == 1) first = i; last = i }
        END { if (n) print first, n }'
}

# Show one sequence: its instructions, and what differs, alone or else in the company of the others.
# explain FILE INDEX KNOBS EVENTS VERB
explain() {
    under="env GAIT_STRESS=$3 $gait record --events=$4 --sink=drop --"
    "$program" list "$1" "$2"
    command="$program show $1 $2"
    $command >"$work/native.txt"
    $under $command >"$work/gait.txt" 2>"$work/gait.err"
    if cmp -s "$work/native.txt" "$work/gait.txt"; then
        command="$program $5 $1 $work/results $2"
        $command >"$work/native.txt"
        $under $command >"$work/gait.txt" 2>"$work/gait.err"
    fi
    diff "$work/native.txt" "$work/gait.txt" | head -n 60
    cat "$work/gait.err"
    echo "  natively:    $command"
    echo "  under gait:  $under $command"
    echo "  to shorten:  GAIT_STRESS=$3 tests/state/shrink.py -e $4 $1 $2"
}

# Run a file of sequences under gait in one way, and compare.
# try FILE KNOBS EVENTS SINK [VERB]
try() {
    tried=$1 knobs=$2 events=$3 sink=$4 verb=${5:-run}
    GAIT_STRESS=$knobs timeout 1200 "$gait" record --events="$events" --sink="$sink" -o "$work/trace.gait" -- \
        "$program" "$verb" "$tried" "$work/traced" 2>"$work/stderr"
    status=$?
    set -- $(first_difference "$work/native-$verb" "$work/traced")
    why=
    [ $# -eq 0 ] || why="$2 sequences differ, the first is number $1"
    [ -n "$why" ] || [ $status -eq 0 ] || why="status $status: $(head -n 1 "$work/stderr")"
    [ -n "$why" ] || ! grep -q untraced "$work/stderr" || why=$(head -n 1 "$work/stderr")
    if [ -z "$why" ] && [ "$sink" = file ] && ! "$gait" verify "$work/trace.gait" >"$work/verify" 2>&1; then
        why="the trace is not possible: $(tail -n 1 "$work/verify")"
    fi
    if [ -z "$why" ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    kept=$work/failed-$(basename "$tried")
    cp "$tried" "$kept"
    echo "not ok $verb $kept, events=$events, sink=$sink, GAIT_STRESS=$knobs: $why"
    if [ $# -ne 0 ]; then
        differences=$((differences + $2))
        explain "$kept" "$1" "$knobs" "$events" "$verb"
    fi
}

# Make a file and run it natively. A sequence may read its neighbours' bytes, so `write` has results of its own.
begin() {
    made=$("$program" make "$1" "$2" "$3") && "$program" run "$3" "$work/native-run" &&
        "$program" write "$3" "$work/native-write" || {
        echo "not ok: cannot make $2 sequences from seed $1"
        echo "$passed passed, 1 failed"
        exit 1
    }
    made=${made%% instructions*}
    made=${made##* }
    instructions=$((instructions + made))
}

left=$count
k=0
while [ "$left" -gt 0 ]; do
    n=$slice
    [ "$left" -ge $slice ] || n=$left
    file=$work/slice-$((seed + k))
    begin $((seed + k)) "$n" "$file"
    try "$file" "" memory drop
    try "$file" "" none drop
    try "$file" "" memory drop write
    rm -f "$file"
    left=$((left - n))
    k=$((k + 1))
done

# Knobs: one in a hundred, but not so few that they say nothing; without links far fewer, for these take long.
n=$((count / 100))
[ $n -ge 400 ] || n=400
[ $n -le 5000 ] || n=5000
begin $((seed + 1000000)) $n "$work/stress"
matrix="noahead tinybuf gates blocks single strict tinycache flush tinybuf,single,strict flush,single"
[ "$count" -gt 20000 ] || matrix="noahead,blocks tinycache tinybuf,single,strict flush"
for knobs in $matrix; do
    try "$work/stress" $knobs memory drop
    try "$work/stress" $knobs none drop
    try "$work/stress" $knobs none drop write
    try "$work/stress" $knobs values drop
    stressed=$((stressed + 4 * n))
done
try "$work/stress" "" control drop
try "$work/stress" "" memory file
try "$work/stress" "" values file
few=$((n / 50))
begin $((seed + 2000000)) $few "$work/few"
try "$work/few" nolink memory drop
try "$work/few" nolink,gates,noahead none drop
try "$work/few" slow,single memory decode
rm -f "$work/stress" "$work/few" "$work/trace.gait"

echo "$count sequences of $((instructions / (count + n + few))) instructions, each three times, and $((stressed + 3 * n + 3 * few)) runs" \
    "with knobs or other sinks: $differences differences"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

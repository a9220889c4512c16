#!/bin/sh
# SPDX-License-Identifier: MIT
# Whole programs with hard lives: each runs natively and under gait, plainly and with rare paths made common; status and
# output must be the same, and the trace must verify.
#
#   run.sh small|all     small: five settings; all: every knob of src/host/stress.def
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/programs
gait=$root/build/gait
passed=0
failed=0
case ${1:-small} in
all) matrix="plain nolink noahead tinybuf gates slow blocks single strict scalar tinycache flush tinybuf,single,strict flush,tinybuf,nolink" ;;
*) matrix="plain tinybuf single,strict flush tinycache" ;;
esac
mkdir -p "$work"

# Run one program in one setting; say what is wrong.
try() {
    name=$1 knobs=$2
    trace=$work/$name.gait
    stress=$knobs
    [ "$knobs" = plain ] && stress=
    GAIT_STRESS=$stress timeout 120 "$gait" record -o "$trace" -- "$work/$name" >"$work/$name.out" 2>"$work/$name.err"
    status=$?
    [ $status -eq "$native" ] || { echo "status $status, natively $native: $(head -n 1 "$work/$name.err")"; return 1; }
    cmp -s "$work/$name.native" "$work/$name.out" || { echo "prints something else"; return 1; }
    "$gait" verify "$trace" >"$work/$name.verify" 2>&1 || { tail -n 1 "$work/$name.verify"; return 1; }
}

for source in "$root"/tests/programs/*.c; do
    name=$(basename "$source" .c)
    ${CC:-gcc} -O2 -pthread -o "$work/$name" "$source" -lm || exit 2
    # Through a pipe: it ends when all who hold it have ended, and gait waits for them, too.
    { "$work/$name" 2>/dev/null; echo $? >"$work/$name.status"; } | cat >"$work/$name.native"
    native=$(cat "$work/$name.status")
    for knobs in $matrix; do
        if why=$(try "$name" "$knobs"); then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "not ok $name with GAIT_STRESS=$knobs: $why"
            echo "  again with: GAIT_STRESS=${knobs#plain} build/gait record -o t.gait -- build/programs/$name"
        fi
    done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

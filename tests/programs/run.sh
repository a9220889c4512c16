#!/bin/sh
# SPDX-License-Identifier: MIT
# Whole programs with hard lives: each runs natively and under gait, plainly and with rare paths made common; status and
# output must be the same, and the trace must verify.
#
#   run.sh [small|all] [NAME]...     small: five settings; all: every one, and the long arguments; NAME: only these
#   SETTINGS="leave flush,single" run.sh ...     only these settings
#
# A program finds everything held when it exits with 0. One that cannot run on this machine prints "skip: reason" and exits
# with 77. Lines near the top of a source:
#   /* build: OPTIONS */      more options for the compiler
#   /* long: ARGUMENTS */     what `all` runs it with, in every setting
#   /* once: ARGUMENTS */     what `all` runs it with in addition, plainly
#   /* not yet: WHY */        gait cannot do this in this version
#   /* not with SETTING: WHY */
#   /* status: NUMBER */      what it exits with when everything held, if not 0
#   /* untraced: WHY */       a part of it runs outside gait; everywhere else that is a failure
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/programs
gait=$root/build/gait

# The settings: words for GAIT_STRESS; `none` is --events=none, where other code is emitted and gates are others. Those that src/host/stress.def does not have (yet) are left out, and that is said.
small=${SETTINGS:-plain none tinybuf hot,tinybuf single,strict leave flip,hot}
all=${SETTINGS:-plain nolink noahead tinybuf gates slow blocks single strict scalar older tinycache flush
    tinybuf,single,strict tinycache,tinybuf flush,single leave cold hot,tinybuf hot,tinycache,tinybuf flip flip,hot,tinybuf
    flip,tinycache flip,single,strict flip,slow
    apart none none,apart none,nolink none,noahead none,slow none,older none,tinycache none,flush none,single,strict none,leave}

mode=small
case ${1:-} in
small | all) mode=$1 && shift ;;
esac

# What a source says about itself: the rest of its line "/* WORD: ... */".
line_of() {
    sed -n "1,12s|^/\* $1: \(.*\) \*/\$|\1|p" "$root/tests/programs/$name.c"
}

# The settings of this run that this gait knows.
known_settings() {
    for knobs in $([ "$mode" = all ] && echo "$all" || echo "$small"); do
        for word in $(echo "$knobs" | tr , ' '); do
            [ "$word" = plain ] || [ "$word" = none ] || grep -q "^STRESS($word," "$root/src/host/stress.def" || continue 2
        done
        echo "$knobs"
    done
}

# Run the program natively with these arguments; its output is what every other run must print.
run_natively() {
    # shellcheck disable=SC2086
    timeout -k 5 $limit "$work/$name" $arguments </dev/null >"$work/$name.native" 2>"$work/$name.native.err"
    native=$?
    case $native in
    "$wanted") return 0 ;;
    77) echo "skip $name: $(sed -n 's/^skip: //p' "$work/$name.native")" ;;
    *)
        echo "not ok $name: status $native natively: $(head -n 1 "$work/$name.native.err")"
        echo "  again with: build/programs/$name $arguments"
        ;;
    esac
    return 1
}

# Run the program in one setting; say what is wrong.
try() {
    at=$work/$name.$1 stress=${1#plain} options="-o $work/$name.$1.gait"
    case $1 in
    none | none,*) stress=${1#none} options=--events=none ;;
    esac
    # What was decoded while recording must be what the file decodes to.
    # shellcheck disable=SC2086
    GAIT_STRESS=digest${stress:+,${stress#,}} timeout -k 5 $limit "$gait" record $options -- "$work/$name" $arguments \
        </dev/null >"$at.out" 2>"$at.err"
    status=$?
    [ $status -ne 124 ] || { echo "still runs after $limit s"; return 1; }
    [ $status -eq "$wanted" ] || { echo "status $status, natively $wanted: $(head -n 1 "$at.err")"; return 1; }
    cmp -s "$work/$name.native" "$at.out" ||
        { echo "prints something else: $(diff "$work/$name.native" "$at.out" | sed -n 2p)"; return 1; }
    said=$(sed -n '/untraced/p' "$at.err" | head -n 1)
    [ -z "$said" ] || [ -n "$untraced" ] || [ "${1#none,}" = leave ] || { echo "$said"; return 1; }
    [ "$options" = --events=none ] || "$gait" verify "$at.gait" >"$at.verify" 2>&1 || { echo "verify: $(tail -n 1 "$at.verify")"; return 1; }
    rm -f "$at.gait" "$at.out" "$at.err" "$at.verify"
}

# Run the program in the given settings; the result lines begin with "ok" or "not ok".
try_all() {
    for knobs in "$@"; do
        why_not=$(line_of "not with ${knobs#none,}")
        if [ -n "$why_not" ]; then
            echo "skip $name $knobs: $why_not"
        elif why=$(try "$knobs"); then
            echo "ok $name $knobs"
        else
            find "$work" -name "$name.$knobs.gait" -size +200M -delete # the command below makes it again
            echo "not ok $name with $knobs: $why"
            echo "  again with: SETTINGS=$knobs tests/programs/run.sh $mode $name"
        fi
    done
}

# Build one program and run it in every setting.
run_one() {
    # Some settings make a program a thousand times slower: `all` waits for long, and so do the programs' own watchdogs.
    name=$1 limit=60 watchdog=50 arguments=
    [ "$mode" = small ] || limit=1200 watchdog=1100
    long=$(line_of long) once=$(line_of once) build=$(line_of build) untraced=$(line_of untraced) wanted=$(line_of status)
    wanted=${wanted:-0}
    # shellcheck disable=SC2086
    if ! ${CC:-gcc} -O2 -Wall -Wextra -Wno-clobbered -pthread -DWATCHDOG_SECONDS=$watchdog -o "$work/$name" "$root/tests/programs/$name.c" $build -lm; then
        echo "not ok $name: does not build"
        return
    fi
    not_yet=$(line_of 'not yet')
    if [ -n "$not_yet" ]; then
        echo "skip $name: gait cannot do this yet: $not_yet"
        return
    fi
    [ "$mode" = all ] && [ -n "$long" ] && arguments=$long
    # shellcheck disable=SC2086
    run_natively && try_all $settings
    if [ "$mode" = all ] && [ -n "$once" ]; then
        arguments=$once
        run_natively && try_all plain
    fi
}

settings=$(known_settings)
if [ "${1:-}" = --one ]; then
    run_one "$2" >"$work/$2.result"
    grep -v '^ok' "$work/$2.result"
    exit 0
fi

mkdir -p "$work"
if [ $# -eq 0 ]; then
    set -- "$root"/tests/programs/*.c
fi
for source in "$@"; do
    name=$(basename "$source" .c)
    [ -f "$root/tests/programs/$name.c" ] || { echo "no such program: $name" >&2; exit 2; }
    rm -f "$work/$name".*
    echo "not ok $name: no result" >"$work/$name.result"
    echo "$name"
done >"$work/names"
cd "$root" || exit 2
xargs -P 2 -n 1 "$root/tests/programs/run.sh" "$mode" --one <"$work/names"

cd "$work" || exit 2
results=$(sed 's/$/.result/' names)
# shellcheck disable=SC2086
passed=$(cat $results | grep -c '^ok') failed=$(cat $results | grep -c '^not ok') skipped=$(cat $results | grep -c '^skip')
if [ "$mode" = all ]; then
    left=$(for knobs in $all; do echo "$settings" | grep -qx "$knobs" || echo "$knobs"; done)
    [ -z "$left" ] || echo "settings left out, not in stress.def: $(echo "$left" | tr "\n" " ")"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

#!/bin/sh
# SPDX-License-Identifier: MIT
# Asks the judge and gait for the events of one program and reports the first that differs.
#
#   compare.sh NAME -- PROGRAM [ARG]...
#
# Both run PROGRAM (an absolute path) with the same arguments, the same environment, no address
# randomisation and the same single core, so that the first stack page has the same bytes and the
# same path is taken. The current directory is empty, its times are pinned, and the outputs are
# fresh files, because programs look at those too (python asks where its stderr stands). What the
# program prints is kept beside the lists and must be the same.
# Set GAIT, STEPPER or PIN to use others than those in build/; ORACLE_ENV adds NAME=VALUE words to
# the environment; ORACLE_INPUT names a file for standard input.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
gait=${GAIT:-$root/build/gait}
stepper=${STEPPER:-$root/build/oracle/stepper}
pin=${PIN:-$root/build/oracle/pin.so}
context=10

die() {
    echo "compare.sh: $*" >&2
    exit 2
}

[ $# -ge 3 ] && [ "$2" = -- ] || die "usage: compare.sh NAME -- PROGRAM [ARG]..."
name=$1
shift 2
case $1 in
/*) ;;
*) die "$1 is not an absolute path; gait and the judge must pass execve the same string" ;;
esac

# A judge that is older than its source judges by rules that no longer hold.
if [ -z "${STEPPER-}" ]; then
    MAKEFLAGS='' make -s -C "$root" build/oracle/stepper build/oracle/pin.so >&2 || die "cannot build the judge"
fi

work=$root/build/oracle/compare.$name
rm -rf "$work"
mkdir -p "$work/here" || exit 2
judge=$work/judge.lackey
trace=$work/trace.gait

# Run a command in the one environment. env(1) replaces itself by the command, so nothing adds a
# variable of its own (a shell would add _=).
fixed() (
    cd "$work/here" && find . -mindepth 1 -delete && touch -d @1700000000 . || exit 3
    exec env -i PATH=/usr/bin:/bin HOME=/nonexistent LANG=C \
        "LD_PRELOAD=$pin" GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.malloc.tcache_count=0 \
        PYTHONHASHSEED=0 PERL_HASH_SEED=0 ${ORACLE_ENV-} \
        taskset -c "${ORACLE_CPU:-0}" setarch -R "$@" <"${ORACLE_INPUT:-/dev/null}"
)

# Say what is different, leave the evidence, fail.
fail() {
    echo "FAILED $name: $*"
    echo "  evidence in $work; again with: $0 $name -- $command"
    exit 1
}

# Lines $2 to $3 of a list, the differing one ($4) marked.
excerpt() {
    echo "--- $1"
    sed -n "$2,$3p;$3q" | awk -v n="$2" -v bad="$4" \
        '{ printf "%s %d: %s\n", n == bad ? ">" : " ", n, $0; n++ }'
}

dump() {
    "$gait" dump --format=lackey "$trace"
}

command=$*
fixed "$stepper" -v -o "$judge" -- "$@" >"$work/judge.out" 2>"$work/judge.err"
judged=$?
if [ $judged -eq 3 ] && grep -q '^stepper: ' "$work/judge.err"; then
    fail "the judge gave up: $(grep '^stepper: ' "$work/judge.err")"
fi

fixed "$gait" record -o "$trace" -- "$@" >"$work/gait.out" 2>"$work/gait.err"
recorded=$?
[ $recorded -eq $judged ] || fail "status $recorded under gait, $judged under the judge"
"$gait" verify "$trace" >"$work/verify.out" 2>&1 ||
    fail "gait verify: $(tail -1 "$work/verify.out")"
cmp -s "$work/judge.out" "$work/gait.out" || fail "the program printed something else under gait"

# cmp names the line, or says on which side the list ends early.
difference=$(dump 2>"$work/dump.err" | cmp "$judge" - 2>&1)
if [ -n "$difference" ]; then
    case $difference in
    *EOF*) line=$(($(dump | wc -l) + 1)) judge_lines=$(($(wc -l <"$judge") + 1))
        [ "$line" -lt "$judge_lines" ] || line=$judge_lines ;;
    *) line=${difference##*line } ;;
    esac
    first=$((line > context ? line - context : 1))
    excerpt judge "$first" $((line + context)) "$line" <"$judge"
    dump | excerpt gait "$first" $((line + context)) "$line"
    fail "line $line differs"
fi
echo "ok $name ($(wc -l <"$judge") events)"
rm -rf "$work"

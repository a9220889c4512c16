#!/bin/sh
# SPDX-License-Identifier: MIT
# The witness: compares valgrind lackey's counts at each pc with ours, in the program's own image.
#
#   lackey.sh NAME LINES -- PROGRAM [ARG]...
#
# LINES is the same run as listed by the judge or by gait dump --format=lackey; "-" asks the judge
# now. Lackey is a witness and not the judge: it sees valgrind's translation of the program. What it
# is known to see differently is in lackey-disagreements.txt; anything else fails.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
stepper=${STEPPER:-$root/build/oracle/stepper}
pin=${PIN:-$root/build/oracle/pin.so}

die() {
    echo "lackey.sh: $*" >&2
    exit 2
}

[ $# -ge 4 ] && [ "$3" = -- ] || die "usage: lackey.sh NAME LINES -- PROGRAM [ARG]..."
name=$1 lines=$2
shift 3
work=$root/build/oracle/lackey.$name
rm -rf "$work"
mkdir -p "$work/here" || exit 2

# Valgrind has no AVX-512 and says so to the program; telling the C library to leave it alone lets
# both choose the same functions.
fixed() (
    cd "$work/here" || exit 3
    exec env -i PATH=/usr/bin:/bin HOME=/nonexistent LANG=C "LD_PRELOAD=$pin" \
        GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW \
        PYTHONHASHSEED=0 PERL_HASH_SEED=0 ${ORACLE_ENV-} \
        "$@" <"${ORACLE_INPUT:-/dev/null}"
)

if [ "$lines" = - ]; then
    lines=$work/judge.lackey
    fixed "$stepper" -o "$lines" -- "$@" >"$work/judge.out" 2>"$work/judge.err"
    [ $? -ne 3 ] || die "the judge gave up: $(cat "$work/judge.err")"
fi

# Without chasing, valgrind does not run the second half of an && speculatively, with I lines for
# what the program did not execute; without optimisation, it does not drop loads whose value nobody
# uses. What remains are its real differences.
fixed valgrind --tool=lackey --trace-mem=yes --vex-guest-chase=no --vex-iropt-level=0 \
    --log-fd=3 "$@" 3>&1 >"$work/lackey.out" 2>"$work/lackey.err" |
    python3 "$here/lackey_counts.py" "$1" "$lines" "$here/lackey-disagreements.txt" >"$work/report"
if [ $? -ne 0 ]; then
    cat "$work/report"
    echo "FAILED $name: lackey counts something else; again with: $0 $name - -- $*"
    exit 1
fi
echo "ok $name (lackey: $(tail -1 "$work/report" | sed 's/^ *//'))"
rm -rf "$work"

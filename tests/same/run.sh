#!/bin/sh
# SPDX-License-Identifier: MIT
# The same events, however the program was translated: each is recorded as ever, without hot units and without following
# jumps through words, and with as many hot units as there can be;
# the digests of what was decoded must be equal, and so must those of the three files.
#
#   run.sh small|all     small: some kernels; all: every kernel, and the programs of the benchmark on small inputs
#
# Addresses are not randomised, and what programs draw their hash seeds from is pinned, as for the judge. The program sees GAIT_STRESS:
# its values are all of one length (a comma too many is nothing), or the stack would begin elsewhere.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/same
mkdir -p "$work"
[ -e "$root/build/oracle/pin.so" ] || { echo "run.sh: build/oracle/pin.so is missing, without which programs take another path each time; make it first" >&2; exit 2; }
passed=0
failed=0
input=/dev/null

# The digest of one run in one setting; verify compares it with the file.
digest_of() {
    setting=$1
    shift
    env -i PATH=/usr/bin:/bin HOME=/nonexistent LANG=C LD_PRELOAD="$root/build/oracle/pin.so" GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.malloc.tcache_count=0 \
        PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 PERL_HASH_SEED=0 "GAIT_STRESS=digest$setting" \
        setarch -R "$root/build/gait" record -o "$work/trace.gait" -- "$@" <"$input" >"$work/out" 2>"$work/err" ||
        { echo "it ended badly: $(tail -n 1 "$work/err")"; return; }
    "$root/build/gait" verify "$work/trace.gait" 2>&1 | sed -n 's/.*ok: .* records, \(.*\)/\1/p'
}

same() {
    name=$1
    shift
    usual=$(digest_of ,,,,,,,,,,,, "$@")
    for setting in ,apart,cold, ,hot,tinybuf; do
        other=$(digest_of "$setting" "$@")
        if [ -n "$usual" ] && [ "$usual" = "$other" ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "not ok $name: as ever: $usual; with $setting: $other"
        fi
    done
}

kernels="cg ep lu tiled"
[ "${1:-small}" = all ] && kernels="cg chase ep ft is join lu matmul mg sp stream tiled"
for kernel in $kernels; do
    same "$kernel" "$root/build/kernels/$kernel" S
done
if [ "${1:-small}" = all ]; then
    head -c 400000 "$root/build/gait" >"$work/input"
    /usr/bin/python3 "$root/bench/inputs/make_c.py" 3 >"$work/made.i" || exit 2
    same gzip /bin/gzip -c "$work/input"
    same bzip2 /bin/bzip2 -c "$work/input"
    same xz /usr/bin/xz -T1 -c "$work/input"
    same cc1 "$(gcc -print-prog-name=cc1)" -O2 -quiet -w "$work/made.i" -o -
    same perl /usr/bin/perl "$root/bench/inputs/work.pl" 30
    same python3 /usr/bin/python3 "$root/bench/inputs/work.py" 40
    same lua /usr/bin/lua5.4 "$root/bench/inputs/work.lua" 200
    same sqlite3 /usr/bin/sqlite3 -batch -cmd "CREATE TEMP TABLE size AS SELECT 2000 AS n" :memory: ".read '$root/bench/inputs/work.sql'"
    same gnugo /usr/games/gnugo --benchmark 1 --seed 1 --level 4 --boardsize 9
    echo "the old man who sat on the bench that my brother built told us stories of ships that never came back" >"$work/sentence"
    input=$work/sentence
    same link-parser /usr/bin/link-parser en -batch
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

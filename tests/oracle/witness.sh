#!/bin/sh
# SPDX-License-Identifier: MIT
# Three programs before the witness: valgrind's lackey must count what gait recorded, at every pc, but for the listed reasons.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/oracle/witnesses
passed=0
failed=0
mkdir -p "$work"
head -c 20000 "$root/docs/events.md" >"$work/text"
${CC:-gcc} -O1 -static -nostdlib -ffreestanding -fno-stack-protector -no-pie -o "$work/small" "$root/tests/oracle/witness.c" || exit 2

# The environment must be lackey.sh's own, so that the program takes the same path.
ask() {
    name=$1
    shift 2
    env -i PATH=/usr/bin:/bin HOME=/nonexistent LANG=C "LD_PRELOAD=$root/build/oracle/pin.so" \
        GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW \
        PYTHONHASHSEED=0 PERL_HASH_SEED=0 setarch -R "$root/build/gait" record -o "$work/$name.gait" -- "$@" >/dev/null &&
        "$root/build/gait" dump --format=lackey "$work/$name.gait" >"$work/$name.lackey" &&
        "$root/tests/oracle/lackey.sh" "$name" "$work/$name.lackey" -- "$@" && passed=$((passed + 1)) || failed=$((failed + 1))
}

ask small -- "$work/small"
ask gzip -- /bin/gzip -c "$work/text"
ask mawk -- /usr/bin/mawk 'BEGIN { for (i = 0; i < 2000; i++) s += i * i; print s }'
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

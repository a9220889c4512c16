#!/bin/sh
# SPDX-License-Identifier: MIT
# Run one fuzzer for some seconds, from its seeds; any report is a failure and leaves the input in build/fuzz/.
#   tests/fuzz/run.sh FUZZER SECONDS [SEED]     without a seed, every run is another
set -eu
fuzzer=$1
name=$(basename "$fuzzer")
work=$(dirname "$fuzzer")
seeds=tests/fuzz/seeds-${name#fuzz_}
mkdir -p "$work/corpus-$name" "$seeds"
if "$fuzzer" -seed="${3:-0}" -max_total_time="$2" -timeout=20 -rss_limit_mb=4096 -artifact_prefix="$work/$name-" -print_final_stats=1 \
    "$work/corpus-$name" "$seeds" >"$work/$name.log" 2>&1; then
    grep -E 'number_of_executed_units' "$work/$name.log"
else
    tail -n 40 "$work/$name.log"
    exit 1
fi

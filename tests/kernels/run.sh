#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels find their own results right, natively and in their smallest size, and refuse sizes that they do not have.
#
#   run.sh [NAME]...     these kernels, or all; they must have been built (make kernels)
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/kernels
passed=0
failed=0

ok() {
    passed=$((passed + 1))
}

# not_ok WHY ARGUMENTS
not_ok() {
    failed=$((failed + 1))
    echo "not ok $name $2: $1"
    echo "  again with: build/kernels/$name $2"
}

# Run a kernel with these arguments; leaves its status and what it printed.
run() {
    # shellcheck disable=SC2086 # one word per argument
    output=$(timeout -k 5 60 "$work/$name" $1 2>"$work/$name.err")
    status=$?
    said=$(cat "$work/$name.err")
    rm -f "$work/$name.err"
}

# It must print one line that begins with its name and size and ends in "verified"; and the same line again.
# works ARGUMENTS SIZE
works() {
    run "$1"
    first=$output
    case "$status $output$said" in
    *"
"*) not_ok "prints more than one line" "$1" && return ;;
    "0 $name $2 "*" verified") ;;
    *) not_ok "status $status: $output$said" "$1" && return ;;
    esac
    run "$1"
    if [ "$output" = "$first" ]; then ok; else not_ok "prints something else the second time: $output" "$1"; fi
}

# It must say one sentence on stderr, nothing on stdout, and end with 2.
refuses() {
    run "$1"
    case "$status $output$said" in
    "2 $name: the size must be "*) ok ;;
    *) not_ok "should be refused, but has status $status: $output$said" "$1" ;;
    esac
}

if [ $# -eq 0 ]; then
    for source in "$root"/bench/kernels/*.c; do
        set -- "$@" "$(basename "$source" .c)"
    done
fi
for name in "$@"; do
    works S S
    for bad in X s "S W" SW; do
        refuses "$bad"
    done
    case $name in
    matmul | tiled)
        works "-n 1" n=1
        works "-n 77" n=77
        for bad in "-n 0" "-n" "-n 12x" "-n 1000000"; do
            refuses "$bad"
        done
        ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

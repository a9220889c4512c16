#!/bin/sh
# SPDX-License-Identifier: MIT
# Every instruction case, and a few real programs, with the rare paths made common: each knob of src/host/stress.def in turn.
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0
failed=0
for knobs in nolink noahead tinybuf gates slow blocks single strict scalar tinycache flush tinybuf,single,strict nolink,gates,noahead flush,tinybuf,nolink; do
    export GAIT_STRESS=$knobs
    line=$(tests/insn/run.py --only=comment,gait | tee build/insn-stress.log | tail -n 1)
    case $line in
    *" 0 failed"*) passed=$((passed + 1)) ;;
    *) failed=$((failed + 1)); echo "not ok insn with GAIT_STRESS=$knobs: $line"; grep FAIL build/insn-stress.log ;;
    esac
    for program in true static gzip; do
        case $program in
        true) set -- /bin/true ;;
        static) set -- "$PWD/build/oracle/inputs/static" ;;
        gzip) set -- /bin/gzip -c "$PWD/build/oracle/inputs/text" ;;
        esac
        if ORACLE_ENV="GAIT_STRESS=$knobs" tests/oracle/compare.sh "stress-$program" -- "$@" >build/stress.log 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1)); echo "not ok $program with GAIT_STRESS=$knobs"; cat build/stress.log
        fi
    done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

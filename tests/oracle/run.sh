#!/bin/sh
# SPDX-License-Identifier: MIT
# The judge's list of programs: gait's events must equal the stepper's, event for event.
#
#   run.sh small|all     small: a minute; all: what the project promises, several minutes
#
# What the kernel's own randomness would make differ is pinned, and here is where: address randomisation is off; time,
# process id and getrandom() are constants of pin.so (lua seeds its hashes from the time); rseq is off in both (gait refuses it);
# python's and perl's hash seeds are 0. AT_RANDOM's bytes differ, but only ever end up in canaries and mangled pointers.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/oracle/inputs
passed=0
failed=0

mkdir -p "$work/folder/sub"
for f in one two three sub/four; do echo "$f" >"$work/folder/$f"; done
find "$work/folder" -exec touch -d @1700000000 {} +
head -c 20000 "$root/docs/events.md" >"$work/text"
touch -d @1700000000 "$work/text"
cat >"$work/script.sql" <<'SQL'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO t SELECT i, 'row ' || i, i * 1.5 FROM n;
CREATE INDEX tb ON t(b);
SELECT count(*), sum(c), max(b) FROM t WHERE a % 3 = 0;
SELECT a, b FROM t ORDER BY b DESC LIMIT 3;
SQL
${CC:-gcc} -O2 -static -o "$work/static" "$root/tests/programs/mixed.c" -lm || exit 2
${CC:-gcc} -O2 -static-pie -o "$work/static-pie" "$root/tests/programs/mixed.c" -lm || exit 2
${CC:-gcc} -O2 -o "$work/lines" "$root/tests/programs/lines_without_branches.c" || exit 2
${CC:-gcc} -O2 -o "$work/generated" "$root/tests/programs/generated_code_is_traced.c" || exit 2
${CC:-gcc} -O2 -o "$work/dynamic" "$root/tests/programs/mixed.c" -lm || exit 2

${CC:-gcc} -O2 -o "$work/faults" "$root/tests/programs/faults_and_handlers.c" || exit 2

judge() {
    if "$root/tests/oracle/compare.sh" "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

judge static -- "$work/static"
judge static-pie -- "$work/static-pie"
judge lines-without-branches -- "$work/lines"
judge faults -- "$work/faults"
judge generated-code -- "$work/generated"
judge true -- /bin/true
judge ls -- /bin/ls -l "$work/folder"
judge gzip -- /bin/gzip -c "$work/text"
if [ "${1:-small}" = all ]; then
    judge dynamic -- "$work/dynamic"
    "$root/build/state/random_state" make 1 300 "$work/sequences" >/dev/null || exit 2
    judge random-sequences -- "$root/build/state/random_state" run "$work/sequences" "$work/results"
    ORACLE_INPUT=$work/script.sql judge sqlite3 -- /usr/bin/sqlite3 :memory:
    judge perl -- /usr/bin/perl -e 'my %h; $h{$_ % 17} .= chr(65 + $_ % 26) for 1..500; print join(",", map {"$_=$h{$_}"} sort keys %h), "\n"; print scalar(grep {/A.*B/} values %h), "\n"'
    judge lua -- /usr/bin/lua5.4 -e 'local t = {} for i = 1, 500 do t[i] = (i * 7919) % 503 end table.sort(t) print(#t, t[1], t[250], string.rep("x", 20):gsub("x", "yz"))'
    judge python3 -- /usr/bin/python3 -c 'print(sum(range(1000)))'
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

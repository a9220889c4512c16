#!/bin/sh
# SPDX-License-Identifier: MIT
# PostgreSQL: initdb, a process for each connection, parallel queries in shared memory, LLVM's JIT on and off, crash recovery.
# needs: pg_ctlcluster psql pgbench setpriv
# sink: decode

PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH
# The server refuses to run as root.
if [ "$(id -u)" -eq 0 ]; then
    chown -R postgres .
    as="setpriv --reuid=postgres --regid=postgres --init-groups"
fi
export PGHOST="$PWD" PGUSER=tester PGDATABASE=postgres PGOPTIONS='-c client_min_messages=warning'
sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@" 2>&1; }
start() { $as $GAIT postgres -D data -k "$PWD" -c listen_addresses= -c max_parallel_workers_per_gather=2 -c fsync=off "$@" >>log 2>&1 & server=$!
    n=0; until sql -c 'select 1' >/dev/null; do n=$((n + 1)); [ $n -gt 1200 ] && { echo "does not start"; tail log; exit 1; }; sleep 0.1; done; }
stop() { kill "-$1" "$(head -n 1 data/postmaster.pid)"; wait $server; echo "server $?"; }

$as $GAIT initdb -D data -U tester -A trust --no-locale -E UTF8 --no-sync >initdb.log 2>&1
echo "initdb $?"
start
echo "-- queries"
sql <<'SQL'
create table item(id int primary key, grp int, price numeric, name text, tags jsonb);
insert into item select i, i % 37, (i * 7919 % 10007) / 100.0, md5(i::text), jsonb_build_object('n', i % 5, 'l', array[i % 3, i % 7]) from generate_series(1, 30000) i;
create index on item(grp, price); create index on item using gin(tags); analyze item;
select grp, count(*), sum(price), min(name) from item group by grp order by 3 desc limit 3;
select count(*) from item where tags @> '{"n": 3}' and name ~ '^[a-c].*7$';
select name, rank() over (partition by grp order by price desc) r from item where grp = 5 order by r, name limit 2;
with recursive t(n, f) as (select 1, 1::numeric union all select n + 1, f * (n + 1) from t where n < 40) select f from t where n = 40;
do $$ begin perform 1 / 0; exception when division_by_zero then raise warning 'caught'; end $$;
do $$ begin for i in 1 .. 200 loop begin insert into item values (i, 0, 0, '', '{}'); exception when unique_violation then null; end; end loop; end $$;
create function fib(n int) returns bigint language plpgsql as $$ begin if n < 2 then return n; end if; return fib(n - 1) + fib(n - 2); end $$; select fib(14);
begin; update item set price = price * 2 where id < 1000; savepoint s; delete from item; rollback to s; commit; select round(sum(price), 2) from item;
select string_agg(x, ',' order by x) from regexp_split_to_table('the quick brown fox', ' ') x; select to_tsvector('english', 'running dogs') @@ to_tsquery('dog & run');
vacuum full item; select pg_relation_size('item') > 0;
SQL
sql -c 'select 1 / 0'
sql -c "set statement_timeout = '100ms'" -c 'select pg_sleep(60)'
echo "-- parallel, JIT off and on"
for jit in off on; do
    sql -c "set jit = $jit" -c 'set jit_above_cost = 0' -c 'set jit_optimize_above_cost = 0' -c 'set jit_inline_above_cost = 0' \
        -c 'set parallel_setup_cost = 0' -c 'set parallel_tuple_cost = 0' -c 'set min_parallel_table_scan_size = 0' \
        -c 'select sum(price * (grp + 1) / 3.5)::numeric(20, 4), count(*) filter (where id % 3 = 0 and price > 20), avg(length(name)) from item' \
        -c 'select count(*) from item a join item b on a.id = b.id + 1 where a.grp <> b.grp and a.price < b.price' \
        -c 'explain (costs off, analyze, timing off, summary off) select count(*) from item where price * 2 > grp' | grep -v -E '^ *(Worker [0-9]|Functions|Options|Timing|JIT|Buffers)' | sed -E 's/(actual rows=[0-9]+ )loops=[0-9]+/\1/'
    sql -c "set jit = $jit" -c 'set jit_above_cost = 0' -c 'explain (analyze, timing off) select sum(price) from item' | grep -c 'Functions:'
done
echo "-- pgbench"
pgbench -i -q -s 1 >/dev/null 2>&1
pgbench -n -c 4 -j 2 -t 40 2>&1 | grep -E '^number of (transactions actually|clients|failed)'
pgbench -n -c 3 -t 100 -S -M prepared 2>&1 | grep -E '^number of (transactions actually|failed)'
sql -c 'select count(*), (select sum(abalance) from pgbench_accounts) = sum(delta), (select sum(bbalance) from pgbench_branches) = sum(delta) from pgbench_history'
echo "-- locks, cancel, notifications"
sql -c 'begin' -c 'lock item' -c 'select pg_sleep(60)' >canceled &
until [ "$(sql -c "select count(*) from pg_stat_activity where query like '%pg_sleep(60)%' and wait_event = 'PgSleep'")" = 1 ]; do sleep 0.1; done
sql -c 'begin; lock item nowait'
sql -c "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'"
wait $!; cat canceled
sql -c 'listen n' -c "notify n, 'payload'" | sed 's/PID [0-9]*/PID N/'
echo "-- a backend killed: everything restarts"
before=$(sql -c 'select md5(string_agg(t::text, chr(10) order by id)) from item t')
(sql -c 'select pg_sleep(60)' | head -n 1) >killed &
until victim=$(sql -c "select pid from pg_stat_activity where wait_event = 'PgSleep'") && [ -n "$victim" ]; do sleep 0.1; done
$as kill -KILL "$victim"
wait $!
until sql -c 'select 1' >/dev/null; do sleep 0.1; done
[ "$before" = "$(sql -c 'select md5(string_agg(t::text, chr(10) order by id)) from item t')" ] && echo "the same after recovery"
grep -c 'all server processes terminated; reinitializing' log
kill -HUP "$(head -n 1 data/postmaster.pid)"
stop INT
start -c jit=off
sql -c 'select count(*) from item'
stop TERM
$as $GAIT pg_controldata data | grep 'cluster state'

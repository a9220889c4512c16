#!/bin/sh
# SPDX-License-Identifier: MIT
# redis-server under redis-benchmark: an event loop with helper threads, a snapshot by fork, a log rewritten by a child, a crash report.
# needs: redis-server redis-benchmark redis-cli redis-check-rdb
# sink: decode

server() { $GAIT redis-server --port 0 --unixsocket redis.sock --daemonize no --dir . --save '' --appendonly yes --io-threads 2 \
    --enable-debug-command yes --pidfile redis.pid --logfile "$1" & }
ready() { n=0; until [ "$(redis-cli -s redis.sock ping 2>/dev/null)" = PONG ]; do n=$((n + 1)); [ $n -gt 1200 ] && exit 1; sleep 0.05; done; }
cli() { redis-cli -s redis.sock "$@"; }
settled() { until cli info persistence | tr -d '\r' | grep -q "^$1:0"; do sleep 0.05; done; }

server log1
server=$!
ready
# The rates are not compared; that every test ran is.
redis-benchmark -s redis.sock -q -n 1000 -c 20 -P 4 -r 1000 -t ping,set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset 2>/dev/null |
    tr '\r' '\n' | sed -n 's/: [0-9.]* requests per second.*//p' | sed 's/^.*\t//'
cli flushall
echo "-- commands"
i=0; while [ $i -lt 500 ]; do echo "set key:$i value$i"; echo "zadd board $((i * 7 % 101)) m$i"; echo "rpush list $i"; echo "hset hash f$i $((i * i))"; echo "pfadd log $i"; i=$((i + 1)); done | cli >/dev/null
cli dbsize; cli zrange board 0 4 withscores | paste -s -d ' '; cli pfcount log; cli lrange list 100 103 | paste -s -d ' '; cli hget hash f77
cli eval 'local s = 0 for i = 0, 499 do s = s + tonumber(redis.call("hget", "hash", "f" .. i)) end redis.call("set", "sum", s) return s' 0
cli eval 'return redis.call("no-such-command")' 0 2>&1 | head -n 1 | cut -c 1-20
printf 'multi\nincr n\nincr n\nexec\n' | cli | paste -s -d ' '
cli set short x px 30; sleep 0.2; cli get short
cli xadd stream 1-1 a b; cli xlen stream; cli sort list by nosort get 'key:*' limit 3 2 | paste -s -d ' '
(cli blpop queue 30 | paste -s -d ' ') & sleep 0.1; cli rpush queue item >/dev/null; wait $!
(cli subscribe news | head -n 6 | paste -s -d ' ') & until [ "$(cli publish news hello)" = 1 ]; do sleep 0.05; done
until [ "$(cli publish news bye)" = 0 ]; do sleep 0.05; done; wait $!
echo "-- persistence"
before=$(cli debug digest)
cli bgsave >/dev/null; settled rdb_bgsave_in_progress; cli info persistence | tr -d '\r' | grep rdb_last_bgsave_status
cli bgrewriteaof >/dev/null; settled aof_rewrite_in_progress; cli info persistence | tr -d '\r' | grep aof_last_bgrewrite_status
cli debug reload; [ "$before" = "$(cli debug digest)" ] && echo "same after reload"
redis-check-rdb dump.rdb | grep -c 'RDB looks OK'
cli object encoding list; cli memory doctor | cut -c 1-12; cli config set maxmemory 3mb maxmemory-policy allkeys-lru; cli config set maxmemory 0
kill -TERM "$(cat redis.pid)"
wait $server; echo "server $?"
grep -c 'ready to exit' log1
echo "-- again from its log, and a crash"
server log2
server=$!
ready
[ "$before" = "$(cli debug digest)" ] && echo "same after restart"
cli debug sleep 0.1; cli debug segfault 2>/dev/null
wait $server; echo "server $?"
grep -c -E 'crashed by signal: 11|STACK TRACE|FAST MEMORY TEST|main thread' log2

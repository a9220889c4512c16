#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx with four workers under a load generator: reload, reopened logs, a killed worker and quit, all by signal.
# needs: nginx ab curl ps
# sink: decode

mkdir html logs
chmod 755 . html # workers leave root
for i in 1 2 3; do seq 1 $((i * i * 400)) >html/page$i.txt; done
write_conf() {
    cat >nginx.conf <<END
daemon off;
worker_processes 4;
pid nginx.pid;
error_log logs/error.log notice;
$([ "$(id -u)" -ne 0 ] || echo "user www-data;")
events { worker_connections 128; multi_accept on; }
http {
    access_log logs/access.log;
    sendfile on; gzip on; gzip_types *; gzip_min_length 100; types { text/plain txt; }
    client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
    proxy_cache_path cache keys_zone=zone:1m max_size=1m; limit_req_zone \$uri zone=slow:1m rate=1000r/s;
    upstream self { server 127.0.0.1:$PORT; keepalive 4; }
    server {
        listen 127.0.0.1:$PORT;
        root html;
        add_header X-Version $1;
        location = /version { return 200 "version $1\n"; }
        location /proxy/ { proxy_pass http://self/; proxy_cache zone; proxy_cache_valid 1m; proxy_http_version 1.1; proxy_set_header Connection ""; }
        location /limited/ { limit_req zone=slow burst=2000 nodelay; alias html/; }
        location ~ ^/re/(\d+)/(\w+)\$ { return 200 "\$2 \$1\n"; }
        location /no { return 403; }
        rewrite ^/old/(.*)\$ /\$1 permanent;
    }
}
END
}
get() { curl -s --max-time 120 "http://127.0.0.1:$PORT$1" "${2:---compressed}"; }
load() { ab -q -n "$1" -c 16 ${3:--k} "http://127.0.0.1:$PORT$2" 2>&1 | grep -E '^(Complete requests|Failed requests|Document Length|Non-2xx)' | tr -s ' ' | paste -s -d ';'; }
workers() { ps -o pid=,args= --ppid "$(cat nginx.pid)" | sed -n 's/^ *\([0-9]*\) nginx: worker process$/\1/p'; }
until_true() { n=0; until eval "$1"; do n=$((n + 1)); [ $n -gt 600 ] && { echo "never: $1"; break; }; sleep 0.1; done; }

write_conf 1
$GAIT nginx -p . -c nginx.conf -t 2>&1 | sed 's/.*\(syntax is ok\|test is successful\)/\1/'
$GAIT nginx -p . -c nginx.conf 2>err &
server=$!
until_true 'get /version >/dev/null'
until_true '[ "$(workers | wc -l)" -eq 4 ]'
echo "workers $(workers | wc -l)"
load 1000 /page1.txt
load 300 /page3.txt
load 200 /version -i
load 300 /proxy/page2.txt
load 200 /limited/page1.txt
load 50 /missing
for p in page1.txt page2.txt page3.txt proxy/page3.txt; do get /$p | cksum; done
get /re/42/answer; get /no -I | head -n 1; get /old/page1.txt -i | grep -c '^Location.*page1.txt'; get /page2.txt -r100-140 | cksum
echo "-- reload under load"
load 1500 /page1.txt -r >during &
write_conf 2
kill -HUP "$(cat nginx.pid)"
until_true '[ "$(get /version)" = "version 2" ]'
wait $!
cat during
until_true '[ "$(workers | wc -l)" -eq 4 ] && ! ps -o args= --ppid "$(cat nginx.pid)" | grep -q "shutting down"'
echo "workers $(workers | wc -l)"
echo "-- logs, a killed worker"
mv logs/access.log logs/old.log
kill -USR1 "$(cat nginx.pid)"
until_true '[ -e logs/access.log ]'
get /version
until_true '[ -s logs/access.log ]'
wc -l <logs/access.log
kill -KILL "$(workers | head -n 1)"
until_true 'grep -q "exited on signal 9" logs/error.log'
until_true '[ "$(workers | wc -l)" -eq 4 ]'
load 300 /page1.txt
echo "-- a broken configuration is refused, then quit"
cp nginx.conf good.conf; echo 'nonsense;' >>nginx.conf
kill -HUP "$(cat nginx.pid)"
until_true 'grep -q "unknown directive" logs/error.log'
get /version
cp good.conf nginx.conf
load 1000 /page1.txt >during &
sleep 0.2
kill -QUIT "$(cat nginx.pid)"
wait $server
echo "nginx $?"
wait
grep -c -E '\[(alert|emerg|crit)\]' logs/error.log
[ -e nginx.pid ] || echo "pid file is gone"

#!/bin/sh
# SPDX-License-Identifier: MIT
# busybox: a static program that is its own shell and forks itself into applets.
# small
# needs: busybox

cat >script <<'ASH'
echo "-- text"
seq 1 500 | awk '{ a[$1 % 7] += $1 } END { for (i = 0; i < 7; i++) print i, a[i] }'
printf 'b 2\na 1\nc 3\n' | sort | tr a-z A-Z | sed 's/\([A-Z]\) \([0-9]\)/\2\1/' | paste -s -d, -
seq 1 30 | grep -E '^(1|2).$' | wc -l
seq 100 | tail -n 5 | head -n 2 | rev
echo "hello world" | od -c | head -n 1
printf 'one\ntwo\n' >f1; printf 'one\n2\n' >f2; diff f1 f2 | tail -n +3; cmp f1 f2; echo "cmp $?"
expr 6 \* 7; dc -e '2 100 ^ p'; echo 'scale=20; 4*a(1)' | bc -l
echo "-- files"
mkdir -p d/e/f; for i in 1 2 3 4 5; do seq 1 $((i * 1000)) >d/e/n$i; done; touch -d '2020-01-02 03:04:05' d/e/n3
find d -type f -size +10k | sort; stat -c '%n %s %Y' d/e/n3; du -s d >/dev/null && echo du
tar cf - d | gzip -9 | tee t.tgz | gunzip | tar tf - | sort | wc -l
bzip2 -k d/e/n5 && bunzip2 -c d/e/n5.bz2 | md5sum; xz -dc </dev/null; sha256sum d/e/n5 | cut -c 1-16; sha512sum d/e/n1 | cut -c 1-16
cpio -o -H newc <f1 2>/dev/null | wc -c; uuencode f1 f1 | uudecode -o - ; base64 f1
echo "-- shell"
f() { if [ $1 -lt 2 ]; then echo $1; else echo $(($(f $(($1 - 1))) + $(f $(($1 - 2))))); fi; }; f 10
trap 'echo usr1' USR1; kill -USR1 $$
sleep 60 & kill $!; wait $!; echo "killed $?"
sh -c 'trap "echo term; exit 7" TERM; (sleep 0.1; kill -TERM $$) & wait; sleep 5'; echo $?; sh -c 'kill -9 $$'; echo $?
timeout 0.2 sleep 60; echo "timeout $?"
yes | head -n 2; false | true; echo $?
for i in 1 2 3 4 5 6 7 8; do (exit $i) & p="$p $!"; done; for x in $p; do wait $x; echo -n "$? "; done; echo
nc -l -p $PORT -e cat >/dev/null 2>&1 & n=$!
for i in 1 2 3 4 5 6 7 8 9 10; do r=$(echo ping | nc -w 5 127.0.0.1 $PORT) && break; sleep 0.2; done; echo "nc $r"; kill $n 2>/dev/null; wait
seq 1 200 | xargs -n 4 -P 4 echo | sort | md5sum
exit 3
ASH
$GAIT busybox sh script 2>err
echo "status $?"
$GAIT busybox no-such-applet 2>&1
echo "status $?"
ln -s "$(command -v busybox)" uname
$GAIT ./uname -s

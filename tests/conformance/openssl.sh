#!/bin/sh
# SPDX-License-Identifier: MIT
# openssl: digests, ciphers, keys and certificates; speed with its alarm signals and child processes; a TLS connection.
# needs: openssl

openssl enc -aes-256-ctr -K "$(printf '%064d' 7)" -iv "$(printf '%032d' 9)" -in /dev/zero 2>/dev/null | head -c 3000000 >data
for d in md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-256 shake128 blake2b512 blake2s256 sm3 ripemd160; do
    $GAIT openssl dgst -$d data 2>&1
done
for c in aes-128-cbc aes-256-ctr aes-192-ofb chacha20 camellia-256-cbc des-ede3-cbc aria-128-ctr sm4-cbc; do
    $GAIT openssl enc -$c -pbkdf2 -iter 500 -S 0102030405060708 -pass pass:secret -in data -out sealed
    sha256sum <sealed
    $GAIT openssl enc -d -$c -pbkdf2 -iter 500 -S 0102030405060708 -pass pass:secret -in sealed | cmp - data && echo "$c back"
done
$GAIT openssl mac -cipher AES-128-CBC -macopt hexkey:00112233445566778899aabbccddeeff -in data CMAC
$GAIT openssl dgst -sha256 -hmac key data
$GAIT openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt pass:p -kdfopt salt:s -kdfopt iter:20000 PBKDF2

for key in "RSA -pkeyopt rsa_keygen_bits:2048" "EC -pkeyopt ec_paramgen_curve:P-256" ED25519 "EC -pkeyopt ec_paramgen_curve:P-521" X25519; do
    $GAIT openssl genpkey -quiet -algorithm $key -out key.pem && $GAIT openssl pkey -in key.pem -pubout -out pub.pem && openssl pkey -in key.pem -noout -check 2>&1
    case $key in
    X25519) openssl genpkey -algorithm X25519 -out other.pem; openssl pkey -in other.pem -pubout -out otherpub.pem
        $GAIT openssl pkeyutl -derive -inkey key.pem -peerkey otherpub.pem -out s1; openssl pkeyutl -derive -inkey other.pem -peerkey pub.pem -out s2; cmp s1 s2 ;;
    ED25519) $GAIT openssl pkeyutl -sign -rawin -in data -inkey key.pem -out sig; $GAIT openssl pkeyutl -verify -rawin -in data -pubin -inkey pub.pem -sigfile sig ;;
    *) $GAIT openssl dgst -sha256 -sign key.pem -out sig data; $GAIT openssl dgst -sha256 -verify pub.pem -signature sig data ;;
    esac
    echo "$key $?"
done
$GAIT openssl prime -generate -bits 256 -hex | wc -c
$GAIT openssl prime 170141183460469231731687303715884105727

# The numbers of speed are not compared, its lines are. -multi forks.
speed() { sed -n 's/^\([A-Za-z0-9 -]*[A-Za-z0-9]\) [ .0-9ks]*$/\1/p' | tr -s ' ' | sort -u; }
$GAIT openssl speed -seconds 1 -bytes 4096 -evp aes-128-gcm 2>/dev/null | speed
$GAIT openssl speed -seconds 1 -bytes 4096 -multi 2 sha256 2>/dev/null | speed

openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
$GAIT openssl s_server -quiet -accept "$PORT" -key tls.key -cert tls.crt -www -naccept 3 >/dev/null 2>&1 &
n=0
until openssl s_client -connect "localhost:$PORT" </dev/null >/dev/null 2>&1; do n=$((n + 1)); [ $n -gt 300 ] && break; sleep 0.1; done
printf 'GET / HTTP/1.0\r\n\r\n' | $GAIT openssl s_client -quiet -verify_return_error -CAfile tls.crt -tls1_3 -connect "localhost:$PORT" 2>&1 | grep -a -E 'HTTP|verify return|Cipher *:'
printf 'GET / HTTP/1.0\r\n\r\n' | $GAIT openssl s_client -quiet -CAfile tls.crt -tls1_2 -cipher ECDHE-RSA-AES256-GCM-SHA384 -connect "localhost:$PORT" 2>&1 | grep -a -E 'HTTP|Cipher *:'
wait

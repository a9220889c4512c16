#!/bin/sh
# SPDX-License-Identifier: MIT
# sqlite3: joins, windows, JSON, triggers, rollbacks and vacuum; two writers on one database; a writer killed half-way.
# small
# needs: sqlite3

cat >work.sql <<'SQL'
PRAGMA journal_mode = WAL;
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT UNIQUE, city TEXT);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer INT REFERENCES customer, amount REAL, day TEXT, extra JSON);
CREATE TABLE log(what TEXT, n INT);
CREATE TRIGGER sold AFTER UPDATE OF amount ON sale BEGIN INSERT INTO log VALUES('changed', new.id); END;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO customer SELECT i, printf('name %05d', i * 7919 % 10007), char(65 + i % 7) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO sale SELECT i, 1 + i * 31 % 2000, (i * 17 % 1000) / 8.0, date('2020-01-01', (i % 700) || ' days'),
    json_object('n', i, 'tags', json_array('a' || (i % 3), i % 5)) FROM n;
CREATE INDEX by_customer ON sale(customer, day);
ANALYZE;
SELECT city, count(*), round(sum(amount), 2), max(day) FROM sale JOIN customer c ON c.id = customer GROUP BY city ORDER BY 1;
SELECT name, total, rank() OVER (ORDER BY total DESC) FROM (SELECT name, sum(amount) total FROM sale JOIN customer c
    ON c.id = customer GROUP BY c.id) ORDER BY total DESC, name LIMIT 5;
SELECT json_extract(extra, '$.tags[0]') t, avg(json_extract(extra, '$.n')) FROM sale GROUP BY t;
SELECT day, sum(amount) OVER (ORDER BY day ROWS 10 PRECEDING) FROM sale WHERE customer = 77 ORDER BY day LIMIT 4;
BEGIN; UPDATE sale SET amount = amount + 1 WHERE id % 100 = 0; SELECT count(*) FROM log; ROLLBACK; SELECT count(*) FROM log;
BEGIN; DELETE FROM sale WHERE id % 3 = 0; SAVEPOINT s; DELETE FROM sale; ROLLBACK TO s; COMMIT; SELECT count(*) FROM sale;
SELECT group_concat(upper(substr(name, -2)), '') FROM (SELECT name FROM customer WHERE name GLOB '*00*' ORDER BY name LIMIT 20);
SELECT count(*) FROM customer a, customer b WHERE a.id < 300 AND b.id < 300 AND a.name < b.name AND a.city = b.city;
INSERT INTO customer VALUES(1, 'twice', 'X');
SELECT exp(1), ln(10), sqrt(2), pow(2, 0.5), 1e308 * 10, 7 / 2, -7 % 3, 0.1 + 0.2, x'00ff', typeof(1/0);
VACUUM; PRAGMA integrity_check; PRAGMA page_count;
SQL
$GAIT sqlite3 -batch db.sqlite ".read work.sql" 2>&1
echo "status $?"
$GAIT sqlite3 db.sqlite .dump | sha256sum

# Two processes write by turns, waiting for each other's locks.
add() { i=0; while [ $i -lt 40 ]; do echo "BEGIN IMMEDIATE; INSERT INTO log VALUES('$1', $i); COMMIT;"; i=$((i + 1)); done; }
add one >one.sql
add two >two.sql
$GAIT sqlite3 -cmd '.timeout 60000' db.sqlite '.read one.sql' & one=$!
$GAIT sqlite3 -cmd '.timeout 60000' db.sqlite '.read two.sql'
wait $one
sqlite3 db.sqlite 'SELECT what, count(*), sum(n) FROM log GROUP BY what; PRAGMA integrity_check'

# A transaction that dies with its process leaves no trace.
(echo "PRAGMA synchronous = OFF; BEGIN; DELETE FROM sale; SELECT 'deleted', count(*) FROM sale;"; echo ".system kill -9 \$PPID") |
    $GAIT sqlite3 db.sqlite
echo "status $?"
$GAIT sqlite3 db.sqlite 'SELECT count(*) FROM sale; PRAGMA integrity_check'

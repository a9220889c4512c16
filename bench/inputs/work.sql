-- SPDX-License-Identifier: MIT
-- What SQLite is used for: inserts, indexes, joins, aggregates, updates. The table size(n) says how many orders.
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, price REAL);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INT, item INT, n INT, day TEXT);

BEGIN;
WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < (SELECT n / 20 FROM size))
INSERT INTO customer
SELECT i, printf('name-%06x', (i * 7919) % 1000003), 'city-' || ((i * 31) % 97) FROM s;
WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < (SELECT n / 50 FROM size))
INSERT INTO item SELECT i, 'title ' || hex(i * 2654435761 % 65537), (i * 37 % 10000) / 100.0 FROM s;
WITH RECURSIVE s(i, r) AS (
    SELECT 1, 12345 UNION ALL
    SELECT i + 1, (r * 1103515245 + 12345) & 2147483647 FROM s WHERE i < (SELECT n FROM size))
INSERT INTO orders
SELECT i, 1 + (r >> 8) % (SELECT n / 20 FROM size), 1 + (r >> 4) % (SELECT n / 50 FROM size), 1 + r % 9,
       date('2020-01-01', '+' || ((r >> 3) * 31 % 1009) || ' days')
FROM s;
COMMIT;

CREATE INDEX orders_by_customer ON orders(customer);
CREATE INDEX orders_by_day ON orders(day, item);

SELECT city, count(*), round(sum(n * price), 2) AS total
FROM orders JOIN customer ON customer.id = orders.customer JOIN item ON item.id = orders.item
GROUP BY city ORDER BY total DESC, city LIMIT 10;

SELECT substr(day, 1, 7) AS month, count(DISTINCT customer), max(price)
FROM orders JOIN item ON item.id = orders.item GROUP BY month ORDER BY month LIMIT 12;

SELECT name, (SELECT count(*) FROM orders WHERE customer = customer_.id) AS k
FROM customer AS customer_ ORDER BY k DESC, name LIMIT 10;

UPDATE orders SET n = n + 1 WHERE day BETWEEN '2020-03-01' AND '2020-06-30';
UPDATE item SET title = upper(replace(title, 'tit', 'ar')) WHERE title LIKE '%A%3%';
DELETE FROM orders WHERE item IN (SELECT id FROM item WHERE price < 5.0);

SELECT count(*), sum(n), min(day), max(day) FROM orders;
SELECT title, rank() OVER (ORDER BY price DESC) AS place FROM item ORDER BY place, title LIMIT 5;
WITH t AS (SELECT customer, sum(n) AS s FROM orders GROUP BY customer)
SELECT s, count(*) FROM t GROUP BY s ORDER BY count(*) DESC, s LIMIT 5;
SELECT group_concat(k) FROM (SELECT lower(hex(title)) AS k FROM item ORDER BY k LIMIT 5);

CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price REAL, kind INTEGER);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO item SELECT i, 'item ' || (i * 7919 % 100003), i * 1.25, i % 17 FROM n;
COMMIT;
CREATE INDEX by_name ON item(name);
SELECT count(*), sum(price), min(name), max(name) FROM item;
SELECT kind, count(*), round(avg(price), 3) FROM item GROUP BY kind ORDER BY kind;
SELECT id FROM item WHERE name = 'item 500';
UPDATE item SET price = price * 2 WHERE kind = 3;
DELETE FROM item WHERE id % 3 = 0;
SELECT count(*), printf('%.2f', sum(price)) FROM item;
SELECT a.name FROM item a JOIN item b ON b.id = a.id + 1 WHERE a.kind = 5 ORDER BY a.name LIMIT 5;
SELECT * FROM missing;
PRAGMA integrity_check;

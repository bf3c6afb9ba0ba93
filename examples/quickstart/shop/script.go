package main

// script resets the shop.
const script = `
DROP TABLE IF EXISTS orders;
DROP TABLE IF EXISTS products;
DROP TABLE IF EXISTS customers;

CREATE TABLE customers (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  city TEXT NOT NULL
);

CREATE TABLE products (
  id          INTEGER PRIMARY KEY,
  ean         TEXT    NOT NULL UNIQUE,
  name        TEXT    NOT NULL,
  category    TEXT    NOT NULL,
  price_cents INTEGER NOT NULL,
  stock       INTEGER NOT NULL CHECK (stock >= 0)
);

CREATE TABLE orders (
  id       INTEGER PRIMARY KEY,
  customer INTEGER NOT NULL REFERENCES customers,
  product  INTEGER NOT NULL REFERENCES products,
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  ordered  DATE    NOT NULL
);

INSERT INTO customers (id, name, city) VALUES
  (1, 'Ada',    'London'),
  (2, 'Enrico', 'Rome');

INSERT INTO products (id, ean, name, category, price_cents, stock) VALUES
  (1, '2000000001012', 'pencil',           'writing',  120, 200),
  (2, '2000000001029', 'fountain pen',     'writing', 3900,   4),
  (3, '2000000001036', 'blue ink',         'writing',  850,  12),
  (4, '2000000001043', 'squared notebook', 'paper',    640,  30),
  (5, '2000000001050', 'letter paper',     'paper',   1150,   9),
  (6, '2000000001067', 'globe',            'desk',    5400,   2);

INSERT INTO orders (id, customer, product, quantity, ordered) VALUES
  (1, 1, 2, 1, '2026-03-02'),
  (2, 2, 6, 1, '2026-03-05'),
  (3, 1, 3, 2, '2026-04-17'),
  (4, 2, 1, 24, '2026-04-20'),
  (5, 1, 4, 3, '2026-05-08'),
  (6, 2, 5, 1, '2026-06-11');
`

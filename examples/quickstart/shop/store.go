package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	_ "modernc.org/sqlite"
)

// store is the shop's file, which several shops and bridges may use at a time.
type store struct {
	db   *sql.DB
	file string
}

type product struct {
	ID       int    `json:"id"`
	EAN      string `json:"ean"`
	Name     string `json:"name"`
	Category string `json:"category"`
	Cents    int    `json:"price_cents"`
	Stock    int    `json:"stock"`
}

type customer struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	City string `json:"city"`
}

type order struct {
	ID       int    `json:"id"`
	Product  string `json:"product"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"total_cents"`
}

// newOrder is the body of an order in the REST API.
type newOrder struct {
	Customer int `json:"customerid"`
	Product  int `json:"product"`
	Quantity int `json:"quantity"`
}

// search selects products; a zero field selects all.
type search struct {
	Text, Category string
	MaxCents       int
}

// A refusal is an error of the client, with its HTTP status.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

func refused(status int, format string, args ...any) error {
	return refusal{status, fmt.Sprintf(format, args...)}
}

func openStore(file string) (*store, error) {
	// A transaction waits at its beginning until others that write have ended.
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "foreign_keys(1)"}}
	db, err := sql.Open("sqlite", file+"?"+options.Encode())
	if err != nil {
		return nil, err
	}
	return &store{db, file}, nil
}

func (s *store) close() { s.db.Close() }

// reset resets the shop to its initial state in one transaction.
func (s *store) reset(ctx context.Context) error {
	err := s.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, script)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	return nil
}

// change runs do in a transaction.
func (s *store) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

const productColumns = "id, ean, name, category, price_cents, stock"

// row is a *sql.Row or *sql.Rows.
type row interface{ Scan(into ...any) error }

func readProduct(r row) (p product, err error) {
	return p, r.Scan(&p.ID, &p.EAN, &p.Name, &p.Category, &p.Cents, &p.Stock)
}

func (s *store) products(ctx context.Context, q search) ([]product, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT `+productColumns+` FROM products
		WHERE instr(lower(name), lower(?1)) > 0 AND ?2 IN ('', category) AND (?3 = 0 OR price_cents <= ?3)
		ORDER BY id LIMIT 100`, q.Text, q.Category, q.MaxCents)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []product{}
	for rows.Next() {
		p, err := readProduct(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, rows.Err()
}

func (s *store) product(ctx context.Context, id int) (product, error) {
	p, err := readProduct(s.db.QueryRowContext(ctx, "SELECT "+productColumns+" FROM products WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return p, refused(http.StatusNotFound, "there is no product %d", id)
	}
	return p, err
}

// restock adds pieces of a product.
func (s *store) restock(ctx context.Context, args restockArgs) (product, error) {
	if args.Pieces < 1 {
		return product{}, refused(http.StatusBadRequest, "pieces: expected 1 or more, got %d", args.Pieces)
	}
	p, err := readProduct(s.db.QueryRowContext(ctx,
		"UPDATE products SET stock = stock + ? WHERE id = ? RETURNING "+productColumns, args.Pieces, args.Product))
	if errors.Is(err, sql.ErrNoRows) {
		return p, refused(http.StatusNotFound, "there is no product %d", args.Product)
	}
	return p, err
}

// order places an order and reduces the stock.
func (s *store) order(ctx context.Context, n newOrder) (o order, err error) {
	if n.Quantity < 1 {
		return o, refused(http.StatusBadRequest, "quantity: expected 1 or more, got %d", n.Quantity)
	}
	if _, err := s.customer(ctx, n.Customer); err != nil {
		return o, err
	}
	p, err := s.product(ctx, n.Product)
	if err != nil {
		return o, err
	}
	o = order{Product: p.Name, Quantity: n.Quantity, Cents: n.Quantity * p.Cents}
	return o, s.change(ctx, func(tx *sql.Tx) error {
		var left int
		err := tx.QueryRowContext(ctx, "UPDATE products SET stock = stock - ?1 WHERE id = ?2 AND stock >= ?1 RETURNING stock",
			n.Quantity, n.Product).Scan(&left)
		if errors.Is(err, sql.ErrNoRows) {
			return refused(http.StatusConflict, "there are not %d of %s: only %d", n.Quantity, p.Name, p.Stock)
		}
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "INSERT INTO orders (customer, product, quantity, ordered) VALUES (?, ?, ?, date('now')) RETURNING id",
			n.Customer, n.Product, n.Quantity).Scan(&o.ID)
	})
}

func (s *store) customer(ctx context.Context, id int) (c customer, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT id, name, city FROM customers WHERE id = ?", id).Scan(&c.ID, &c.Name, &c.City)
	if errors.Is(err, sql.ErrNoRows) {
		return c, refused(http.StatusNotFound, "there is no customer %d", id)
	}
	return c, err
}

// orders returns the last orders of a customer, the newest first.
func (s *store) orders(ctx context.Context, customer, last int) ([]order, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT o.id, p.name, o.quantity, o.quantity * p.price_cents
		FROM orders o JOIN products p ON p.id = o.product WHERE o.customer = ? ORDER BY o.id DESC LIMIT ?`, customer, last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []order
	for rows.Next() {
		var o order
		if err := rows.Scan(&o.ID, &o.Product, &o.Quantity, &o.Cents); err != nil {
			return nil, err
		}
		found = append(found, o)
	}
	return found, rows.Err()
}

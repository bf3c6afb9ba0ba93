package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
)

// maxBody bounds the body of a request or an answer, in bytes.
const maxBody = 1 << 20

// about is the answer at /.
type about struct {
	File string `json:"file"` // path of the data
}

type delivery struct {
	Country string `json:"country"`
	Days    int    `json:"days"`
	Cents   int    `json:"cost_cents"`
}

// newAPIs returns the APIs of the shop.
func newAPIs(s *store) (http.Handler, error) {
	graphql, err := newGraphQL(s)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, about{s.file}) })
	mux.HandleFunc("GET /products", s.getProducts)
	mux.HandleFunc("GET /products/{id}", s.getProduct)
	mux.HandleFunc("POST /orders", s.postOrder)
	mux.HandleFunc("GET /delivery/{country}", getDelivery)
	mux.Handle("POST /graphql", graphql)
	return http.MaxBytesHandler(mux, maxBody), nil
}

func (s *store) getProducts(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	wanted := search{Text: query.Get("text"), Category: query.Get("category")}
	if cents := query.Get("max_cents"); cents != "" {
		var err error
		if wanted.MaxCents, err = strconv.Atoi(cents); err != nil {
			fail(w, refused(http.StatusBadRequest, "max_cents: expected a whole number"))
			return
		}
	}
	found, err := s.products(r.Context(), wanted)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"products": found, "count": len(found)})
}

func (s *store) getProduct(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		fail(w, refused(http.StatusNotFound, "there is no product %s", r.PathValue("id")))
		return
	}
	p, err := s.product(r.Context(), id)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, p)
}

func (s *store) postOrder(w http.ResponseWriter, r *http.Request) {
	var n newOrder
	if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
		fail(w, refused(http.StatusBadRequest, "not an order: %v", err))
		return
	}
	o, err := s.order(r.Context(), n)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusCreated, o)
}

func getDelivery(w http.ResponseWriter, r *http.Request) {
	known := map[string]delivery{"GB": {"GB", 1, 300}, "IT": {"IT", 3, 700}, "NZ": {"NZ", 9, 2100}}
	d, ok := known[r.PathValue("country")]
	if !ok {
		fail(w, refused(http.StatusNotFound, "the shop does not deliver to %s", r.PathValue("country")))
		return
	}
	answer(w, http.StatusOK, d)
}

// fail answers with the reason of a refusal. Any other error is the shop's own and goes to standard
// error.
func fail(w http.ResponseWriter, err error) {
	var r refusal
	if !errors.As(err, &r) {
		fmt.Fprintln(os.Stderr, "shop:", err)
		r = refusal{http.StatusInternalServerError, "internal error"}
	}
	answer(w, r.status, map[string]string{"error": r.text})
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop: answer:", err)
		status, body = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

package models

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("X") != "signed":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/a/v1/models":
			io.WriteString(w, `{"data":[{"id":"small"},{"id":""},{"name":"x"},7,{"id":"large"}]}`)
		case r.URL.Path == "/a/v1/away":
			http.Redirect(w, r, "/a/v1/models", http.StatusFound)
		default:
			io.WriteString(w, `<html>`)
		}
	}))
	defer server.Close()
	api := API{BaseURL: server.URL + "/a/v1/", Version: "v1", Header: http.Header{"Authorization": {"Bearer k"}},
		Auth: func(r *http.Request) error { r.Header.Set("X", "signed"); return nil }}
	if names, err := api.List(t.Context(), "/v1/models", "data", "id"); err != nil || !slices.Equal(names, []string{"small", "large"}) {
		t.Errorf("%q, %v", names, err)
	}
	for path, want := range map[string]string{"/v1/other": "not readable", "/v1/away": "HTTP 302 Found"} {
		if _, err := api.List(t.Context(), path, "data", "id"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	api.Auth = func(*http.Request) error { return errors.New("no key") }
	if _, err := api.List(t.Context(), "/v1/models", "data", "id"); err == nil || err.Error() != "authorization: no key" {
		t.Errorf("got %v", err)
	}
	for _, base := range []string{"http://127.0.0.1:1/secret", "http://me:secret@%zz"} {
		api = API{BaseURL: base}
		if _, err := api.List(t.Context(), "/v1/models", "data", "id"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
	}
}

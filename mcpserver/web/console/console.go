package console

import (
	"encoding/json"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// Options are what a console shows and does. The functions are called by many goroutines at once; their
// errors are shown to the operator.
type Options struct {
	Read map[string]func(*http.Request) (any, error) // resources, as JSON
	Do   map[string]func(*http.Request) (any, error) // actions; the values are in the query

	Calls  *observe.Stream
	Recent func(from int) (calls []observe.Call, next int) // of observe.Counts
	Knows  func(*http.Request) bool                        // whether a request's sender is still let in
}

// Path is where the handlers of Protected belong.
const Path = "/console/api/"

// Handler returns the API, which mcpserver.Options.Protected must protect.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	for name, read := range o.Read {
		mux.HandleFunc("GET "+Path+name, answer(read))
	}
	for name, do := range o.Do {
		mux.HandleFunc("POST "+Path+name, answer(do))
	}
	mux.HandleFunc("GET "+Path+"calls", o.serveCalls)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if !mcpserver.CallerOf(r).Operator {
			fail(w, http.StatusUnauthorized, "only the operator may use the console: mcpbridge open prints an address")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// answer returns a handler that answers with what a function returns.
func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		writeJSON(w, v)
	}
}

func fail(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": reason})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

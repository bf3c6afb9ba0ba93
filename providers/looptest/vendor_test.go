package looptest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// An answer is a response of a vendor.
type answer struct {
	status int
	header http.Header
	body   string
	then   string // "": the response ends; cut: the connection does; hold: nothing more comes
}

// readAnswer reads a response-N: a line with its status and type, lines with its headers and,
// after "then:", the fault with which it ends, an empty line, and its body.
func readAnswer(t *testing.T, text string) answer {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	first, rest, _ := strings.Cut(head, "\n")
	code, kind, _ := strings.Cut(first, " ")
	status, err := strconv.Atoi(code)
	if err != nil || kind == "" {
		t.Fatalf("a response begins with %q: expected its status and type", first)
	}
	a := answer{status: status, header: http.Header{"Content-Type": {kind}}, body: body}
	for line := range strings.Lines(rest) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "then" {
			a.then = value
			continue
		}
		a.header.Set(name, value)
	}
	if a.then == "cut" { // in the middle of a line
		a.body = strings.TrimRight(body, "\n")
	}
	return a
}

// A vendor is the server of all providers: it sends its answers one after another and records the
// requests. Its network is in memory, so that its clock can be faked.
type vendor struct {
	client *http.Client
	server *http.Server
	done   sync.WaitGroup

	mu       sync.Mutex // guards what follows
	answers  []answer
	requests []string  // as request-N has them
	answered time.Time // the last of them
}

func openVendor(answers []answer) *vendor {
	v := &vendor{answers: answers, answered: time.Now()}
	network := peer.NewNetwork()
	v.client = &http.Client{Transport: &http.Transport{DialContext: network.Dial}}
	v.server = &http.Server{Handler: v}
	v.done.Go(func() { _ = v.server.Serve(network) }) // until end
	return v
}

func (v *vendor) end() {
	v.client.CloseIdleConnections()
	_ = v.server.Close()
	v.done.Wait()
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	v.mu.Lock()
	n := len(v.requests)
	v.requests = append(v.requests, outline(r, body, time.Since(v.answered)))
	v.answered = time.Now()
	v.mu.Unlock()
	if n >= len(v.answers) {
		http.Error(w, "no response is left", http.StatusTeapot)
		return
	}
	a := &v.answers[n]
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
	w.(http.Flusher).Flush()
	switch a.then {
	case "cut":
		panic(http.ErrAbortHandler)
	case "hold":
		<-r.Context().Done()
	}
}

// outline returns a request in readable form: its line, the time since the answer before it, its
// headers except those of net/http, its body.
func outline(r *http.Request, body []byte, since time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s http://%s%s\n", r.Method, r.Host, r.URL)
	if since > 0 {
		fmt.Fprintf(&b, "after: %s\n", withoutJitter(since))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != "Accept-Encoding" && name != "Content-Length" && name != "User-Agent" {
			fmt.Fprintf(&b, "%s: %s\n", strings.ToLower(name), strings.Join(r.Header[name], ", "))
		}
	}
	return b.String() + "\n" + providertest.Outline(body, 2) + "\n"
}

// withoutJitter returns a delay of providers.Retries without its random reduction of up to a
// quarter.
func withoutJitter(d time.Duration) time.Duration {
	for _, whole := range []time.Duration{500 * time.Millisecond, time.Second} {
		if d >= whole*3/4 && d <= whole {
			return whole
		}
	}
	return d
}

// record returns the sections of a file: those written by hand, each response after its request,
// and the events at the end.
func (v *vendor) record(kept []txtar.File, events []byte) []txtar.File {
	var files []txtar.File
	requests := 0
	add := func(n int) {
		for ; requests < n && requests < len(v.requests); requests++ {
			files = append(files, txtar.File{Name: fmt.Sprintf("request-%d", requests+1), Data: []byte(v.requests[requests])})
		}
	}
	for _, f := range kept {
		if number, ok := strings.CutPrefix(f.Name, "response-"); ok {
			n, _ := strconv.Atoi(number)
			add(n)
		}
		files = append(files, f)
	}
	add(len(v.requests))
	return append(files, txtar.File{Name: "events", Data: events})
}

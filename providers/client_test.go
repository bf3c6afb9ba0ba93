package providers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// roundTrip answers without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answered(status int, header http.Header, body io.Reader) (*http.Response, error) {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body)}, nil
}

// over returns a client whose requests go to a function.
func over(f roundTrip) *Client {
	return &Client{BaseURL: "http://api.invalid", HTTP: &http.Client{Transport: f}}
}

func TestURL(t *testing.T) {
	for _, c := range []struct{ base, version, want string }{
		{"https://api.example", "v1", "https://api.example/v1/x"},
		{"https://api.example/", "v1", "https://api.example/v1/x"},
		{"https://api.example/v1", "v1", "https://api.example/v1/x"},
		{"https://api.example/v1//", "v1", "https://api.example/v1/x"},
		{"http://127.0.0.1:8080/deep/v1", "v1", "http://127.0.0.1:8080/deep/v1/x"},
		{"http://127.0.0.1:8080/v1", "", "http://127.0.0.1:8080/v1/v1/x"},
		{"https://api.example/v1/?api-version=2&a=b", "v1", "https://api.example/v1/x?api-version=2&a=b"},
		{"http://[::1]:8080", "v1", "http://[::1]:8080/v1/x"},
		{"", "v1", ""}, {"api.example", "v1", ""}, {"127.0.0.1:8080", "v1", ""}, {"ftp://secret@x", "v1", ""}, {"http://", "v1", ""}, {"http://a b", "v1", ""}, {"http://secret:%zz@x", "", ""},
	} {
		u, err := (&Client{BaseURL: c.base, Version: c.version}).address("/v1/x")
		switch {
		case c.want == "" && (err == nil || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, %v", c.base, u, err)
		case c.want != "" && (err != nil || u.String() != c.want):
			t.Errorf("%s: %v, %v, want %s", c.base, u, err, c.want)
		}
	}
}

func TestHeaders(t *testing.T) {
	signed := 0
	c := over(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "{}" || r.Method != "POST" || r.URL.String() != "http://api.invalid/v1/x" {
			t.Errorf("%s %s %q", r.Method, r.URL, body)
		}
		want := http.Header{"Content-Type": {"application/json"}, "A": {"theirs"}, "B": {"vendor's"}, "Signed": {fmt.Sprint(signed)}}
		if fmt.Sprint(r.Header) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", r.Header, want)
		}
		if signed == 1 {
			return answered(503, http.Header{"Retry-After-Ms": {"1"}}, strings.NewReader(""))
		}
		return answered(200, nil, strings.NewReader(""))
	})
	c.Header = http.Header{"A": {"theirs"}}
	*c = c.For(Client{Header: http.Header{"a": {"vendor's"}, "b": {"vendor's"}, "C": {""}}})
	c.Auth = func(r *http.Request) error {
		signed++ // each attempt is signed
		r.Header.Set("Signed", fmt.Sprint(signed))
		return nil
	}
	resp, err := c.post(t.Context(), "/v1/x", net.Buffers{[]byte("{}")}, nil)
	if err != nil || signed != 2 {
		t.Fatal(signed, err)
	}
	if err := resp.Close(); err != nil {
		t.Error(err)
	}
	c.Auth = func(*http.Request) error { return errors.New("no key") }
	if _, err := c.post(t.Context(), "/v1/x", nil, nil); err == nil || err.Error() != "authorization: no key" || !movesOn(err) {
		t.Error(err)
	}
}

// retried posts within a bubble, and returns the waits before the retries, and the outcome.
func retried(t *testing.T, c *Client, answers ...roundTrip) (waits []time.Duration, told int, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		n := 0
		c.BaseURL = "http://api.invalid"
		c.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if n > 0 {
				waits = append(waits, time.Since(last))
			}
			last = time.Now()
			n++
			if n > len(answers) {
				return answered(200, nil, strings.NewReader(""))
			}
			return answers[n-1](r)
		})}
		var resp *Response
		resp, err = c.post(t.Context(), "/x", nil, func(ev Event) {
			if ev.Type != EventRetry || ev.Text == "" || ev.After <= 0 {
				t.Errorf("%+v", ev)
			}
			told++
		})
		if err == nil {
			_ = resp.Close()
		}
	})
	return waits, told, err
}

// refusal answers with a status and headers, given as pairs of name and value.
func refusal(status int, headers ...string) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return answered(status, h, strings.NewReader(`{"error":{"message":"no"}}`))
	}
}

func TestRetries(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name    string
		retry   Retries
		answers []roundTrip
		waits   []time.Duration // at most so long, and at least three quarters of it
		fails   bool
	}{
		{"never needed", Retries{}, nil, nil, false},
		{"once", Retries{}, []roundTrip{refusal(503)}, []time.Duration{500 * time.Millisecond}, false},
		{"twice, and no more", Retries{}, []roundTrip{refusal(500), refusal(529), refusal(500)}, []time.Duration{500 * time.Millisecond, time.Second}, true},
		{"up to the longest wait", Retries{Max: 4, First: time.Second, Most: 3 * time.Second}, []roundTrip{refusal(408), refusal(409), refusal(429), refusal(502)}, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}, false},
		{"none wanted", Retries{Max: -1}, []roundTrip{refusal(503)}, nil, true},
		{"not worth it", Retries{}, []roundTrip{refusal(400)}, nil, true},
		{"forbidden by the server", Retries{}, []roundTrip{refusal(429, "x-should-retry", "false")}, nil, true},
		{"wanted by the server", Retries{}, []roundTrip{refusal(400, "x-should-retry", "true")}, []time.Duration{500 * time.Millisecond}, false},
		{"no connection", Retries{}, []roundTrip{func(*http.Request) (*http.Response, error) { return nil, refused }}, []time.Duration{500 * time.Millisecond}, false},
		{"a connection that was closed", Retries{}, []roundTrip{func(*http.Request) (*http.Response, error) { return nil, io.EOF }}, []time.Duration{500 * time.Millisecond}, false},
		{"another failure of the transport", Retries{}, []roundTrip{func(*http.Request) (*http.Response, error) { return nil, errors.New("bad certificate") }}, nil, true},
		{"a hint in seconds", Retries{}, []roundTrip{refusal(429, "retry-after", "7")}, []time.Duration{7 * time.Second}, false},
		{"a hint in milliseconds wins", Retries{}, []roundTrip{refusal(429, "retry-after", "7", "retry-after-ms", "30")}, []time.Duration{30 * time.Millisecond}, false},
		{"a hint that is too long", Retries{}, []roundTrip{refusal(429, "retry-after", "61")}, nil, true},
		{"a hint that is allowed", Retries{Hint: time.Hour}, []roundTrip{refusal(429, "retry-after", "1800")}, []time.Duration{30 * time.Minute}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			waits, told, err := retried(t, &Client{Retry: c.retry}, c.answers...)
			if (err != nil) != c.fails || len(waits) != len(c.waits) || told != len(waits) {
				t.Fatalf("waits %v, told %d times, %v", waits, told, err)
			}
			for i, w := range waits {
				if w > c.waits[i] || w < c.waits[i]*3/4 {
					t.Errorf("wait %d: %v, want %v or up to a quarter less", i, w, c.waits[i])
				}
			}
		})
	}
}

// The error of a request that is not sent again says when to come back.
func TestFarRetryAfter(t *testing.T) {
	_, _, err := retried(t, &Client{}, refusal(429, "retry-after", "7200"))
	if err == nil || !strings.Contains(err.Error(), ": try again in 2h0m0s (HTTP 429") {
		t.Error(err)
	}
	if _, _, err := retried(t, &Client{}, refusal(429, "retry-after", "7200", "x-should-retry", "false")); err == nil || strings.Contains(err.Error(), "try again") {
		t.Errorf("forbidden: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	c := over(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	})
	c.Header = http.Header{"Authorization": {"Bearer " + "secret"}}
	c.BaseURL, c.Retry.Max = "https://user:secret@api.invalid:1/secret?key=secret#", -1
	_, err := c.post(t.Context(), "/x", nil, nil)
	var e *APIError
	if !errors.As(err, &e) || e.Status != 0 || !e.Again || err.Error() != "cannot reach api.invalid:1: dial tcp: connection refused" {
		t.Errorf("%#v", err)
	}
	own := &APIError{Message: "the script has ended"}
	c.HTTP.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, own })
	if _, err := c.post(t.Context(), "/x", nil, nil); !errors.Is(err, own) || err.Error() != own.Message {
		t.Errorf("the transport's own: %v", err)
	}
	c.BaseURL = "nowhere"
	if _, err := c.post(t.Context(), "/x", nil, nil); err == nil || errors.As(err, &e) && e.Again {
		t.Errorf("no address: %v", err)
	}
}

// A response that does not begin is requested again; one that stalls is not, since part of it
// was read.
func TestPatience(t *testing.T) {
	waits, told, err := retried(t, &Client{Patience: time.Minute}, func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	if err != nil || told != 1 || waits[0] < time.Minute || waits[0] > time.Minute+500*time.Millisecond {
		t.Errorf("%v, %d, %v", waits, told, err)
	}
	synctest.Test(t, func(t *testing.T) {
		body, w := io.Pipe()
		c := over(func(r *http.Request) (*http.Response, error) {
			context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) }) // as net/http does
			time.Sleep(50 * time.Second)
			return answered(200, nil, body)
		})
		c.Patience = time.Minute
		resp, err := c.post(t.Context(), "/x", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range 3 {
				time.Sleep(50 * time.Second) // less than Patience, each time
				_, _ = io.WriteString(w, "x\n")
			}
		}()
		lines, begin := 0, time.Now()
		err = resp.Lines(func([]byte) error { lines++; return nil }, nil)
		if !errors.Is(err, errSilent) || lines != 3 || time.Since(begin) != 150*time.Second+time.Minute {
			t.Errorf("%d lines in %v, %v", lines, time.Since(begin), err)
		}
		_ = resp.Close()
	})
}

func TestPostCanceled(t *testing.T) {
	why := errors.New("the user has gone")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := over(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		time.AfterFunc(time.Second, func() { cancel(why) })
		if _, err := c.post(ctx, "/x", nil, nil); !errors.Is(err, why) {
			t.Errorf("while waiting for the response: %v", err)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		c = over(refusal(429, "retry-after", "30"))
		time.AfterFunc(time.Second, func() { cancel(why) })
		begin := time.Now()
		if _, err := c.post(ctx, "/x", nil, nil); !errors.Is(err, why) || time.Since(begin) != time.Second {
			t.Errorf("while waiting for the next try: %v after %v", err, time.Since(begin))
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		body, w := io.Pipe()
		c = over(func(r *http.Request) (*http.Response, error) {
			context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) })
			return answered(200, nil, body)
		})
		resp, err := c.post(ctx, "/x", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(w, "x\n"); cancel(why) }()
		if err := resp.Lines(func([]byte) error { return nil }, nil); !errors.Is(err, why) {
			t.Errorf("while reading: %v", err)
		}
		_ = resp.Close()
	})
}

// A redirect would send the key to another host.
func TestRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	c := &Client{BaseURL: server.URL, Header: http.Header{"X-Api-Key": {"secret"}}}
	var e *APIError
	if _, err := c.post(t.Context(), "/x", nil, nil); !errors.As(err, &e) || e.Status != 307 || e.Again {
		t.Errorf("%v", err)
	}
}

// Some servers repeat the key.
func TestSecrets(t *testing.T) {
	const key = "sk-0123456789"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"bad key %[1]s","type":%[1]q,"code":%[1]q}}`, strings.TrimPrefix(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+r.FormValue("api-key"), "Bearer "))
	}))
	defer server.Close()
	for query, header := range map[string]http.Header{"": {"Authorization": {"Bearer " + key}}, "?v=2": {"X-Api-Key": {key}}, "?api-key=" + key: nil} {
		c := &Client{BaseURL: server.URL + query, Header: header}
		_, err := c.post(t.Context(), "/x", nil, nil)
		if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "bad key [hidden]") {
			t.Errorf("%v", err)
		}
	}
	u, _ := url.Parse(server.URL)
	u.User = url.UserPassword("me", key)
	server.Close()
	if _, err := (&Client{BaseURL: u.String(), Retry: Retries{Max: -1}}).post(t.Context(), "/x", nil, nil); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
}

// opened returns a response with a body.
func opened(t *testing.T, c Client, body string) *Response {
	t.Helper()
	c.BaseURL = "http://api.invalid"
	c.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return answered(200, nil, strings.NewReader(body))
	})}
	resp, err := c.post(t.Context(), "/x", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Close() })
	return resp
}

func TestEvents(t *testing.T) {
	stop := errors.New("stop")
	for _, c := range []struct {
		name, body, want string
		done             bool
		err              error
	}{
		{"events", "event: a\ndata: 1\n\n: comment\n\nid: 7\n\ndata: 2\ndata: 3\n\n", "a 1| 2\n3|", false, nil},
		{"the end is said", "data: 1\r\n\r\ndata:  [DONE] \r\n\r\ndata: 2\r\n\r\n", " 1|", true, nil},
		{"nothing", "", "", false, nil},
		{"no end", "data: 1\n\ndata: 2\n", " 1|", false, nil},
		{"what reads has an error", "data: stop\n\ndata: 2\n\n", " stop|", false, stop},
	} {
		resp := opened(t, Client{}, c.body)
		got := ""
		err := resp.Events(func(kind string, data []byte) error {
			got += kind + " " + string(data) + "|"
			if string(data) == "stop" {
				return stop
			}
			return nil
		}, nil)
		if got != c.want || resp.Done != c.done || !errors.Is(err, c.err) || err != nil && c.err == nil {
			t.Errorf("%s: %q, %v, %v", c.name, got, resp.Done, err)
		}
	}
}

func TestLines(t *testing.T) {
	stop := errors.New("stop")
	got := ""
	err := opened(t, Client{}, "{}\r\n\n \t\n{\"a\":1}").Lines(func(data []byte) error { got += string(data) + "|"; return nil }, nil)
	if got != `{}|{"a":1}|` || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	n := 0
	if err := opened(t, Client{}, "a\nb\n").Lines(func([]byte) error { n++; return stop }, nil); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d lines, %v", n, err)
	}
}

func TestBounds(t *testing.T) {
	var long *wire.TooLongError
	ten := strings.Repeat("x", 10)
	ignore := func([]byte) error { return nil }
	if err := opened(t, Client{MaxEvent: 9}, ten+"\n").Lines(ignore, nil); !errors.As(err, &long) {
		t.Errorf("a line: %v", err)
	}
	if err := opened(t, Client{MaxEvent: 10}, ten+"\n").Lines(ignore, nil); err != nil {
		t.Errorf("a line: %v", err)
	}
	event := func(string, []byte) error { return nil }
	if err := opened(t, Client{MaxEvent: 9}, "data: "+ten+"\n\n").Events(event, nil); !errors.As(err, &long) {
		t.Errorf("an event: %v", err)
	}
	if err := opened(t, Client{MaxEvent: 10}, "data: "+ten+"\n\n").Events(event, nil); err != nil {
		t.Errorf("an event: %v", err)
	}
}

// The whole response is bounded too, however short its events and lines are.
func TestMaxBody(t *testing.T) {
	lines := "{}\n{}\n{}\n{}\n"
	events := "data: 1\n\ndata: 2\n\ndata: 3\n\n"
	for _, c := range []struct {
		name, body string
		read       func(*Response) (n int, err error)
		most       int
	}{
		{"whole", lines, func(r *Response) (int, error) {
			b, err := io.ReadAll(r)
			return bytes.Count(b, []byte("\n")), err
		}, 4},
		{"lines", lines, func(r *Response) (n int, err error) {
			return n, r.Lines(func([]byte) error { n++; return nil }, nil)
		}, 4},
		{"events", events, func(r *Response) (n int, err error) {
			return n, r.Events(func(string, []byte) error { n++; return nil }, nil)
		}, 3},
	} {
		all := int64(len(c.body))
		for _, most := range []int64{0, all, all + 1} {
			if n, err := c.read(opened(t, Client{MaxBody: most}, c.body)); n != c.most || err != nil {
				t.Errorf("%s, %d bytes of %d: %d, %v", c.name, all, most, n, err)
			}
		}
		n, err := c.read(opened(t, Client{MaxBody: all - 1}, c.body))
		var e *APIError
		if !errors.As(err, &e) || e.Again || n != c.most-1 || e.Message != fmt.Sprintf("the response is longer than %d bytes", all-1) {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
	}
	for range 3 { // the error stays
		if n, err := opened(t, Client{MaxBody: 1}, lines).body.Read(make([]byte, 9)); n != 1 || err == nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
}

// The body of an error is read up to a bound.
func TestLongError(t *testing.T) {
	c := over(func(*http.Request) (*http.Response, error) { return answered(400, nil, endless{}) })
	var e *APIError
	if _, err := c.post(t.Context(), "/x", nil, nil); !errors.As(err, &e) || len(e.Message) > 1000 {
		t.Errorf("%.100v", err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// To close a response early ends its connection.
func TestClose(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	resp, err := (&Client{BaseURL: server.URL}).post(t.Context(), "/x", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Close(); err != nil {
		t.Error(err)
	}
	<-gone
}

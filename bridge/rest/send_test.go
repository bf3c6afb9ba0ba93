package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// An answer can be read whatever codings the config and the tool say that they accept.
func TestAcceptEncoding(t *testing.T) {
	d := sourcetest.NewAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept-Encoding"), "br") {
			w.Header().Set("Content-Encoding", "br")
		}
		io.WriteString(w, "text")
	})
	for _, c := range []struct{ config, spec, want string }{
		{`,"headers":{"Accept-Encoding":"gzip, deflate, br"}`, ``, "gzip"},
		{``, `,"headers":{"accept-encoding":"{coding}"}`, "gzip"},
		{`,"headers":{"Accept-Encoding":"br"}`, `,"headers":{"Accept-Encoding":"identity"}`, "identity"},
	} {
		r := sourcetest.Do(t, sourcetest.Tool(t, openAPI(t, d.URL, `{"url":"URL"`+c.config+`}`), `{"method":"GET","path":"/"`+c.spec+`}`), `{"coding":"br"}`)
		if got := d.Last(t).Header.Get("Accept-Encoding"); got != c.want || r.IsError() {
			t.Errorf("%s%s: asked for %s, got %s", c.config, c.spec, got, r.JSON)
		}
	}
}

func TestRedirects(t *testing.T) {
	other := sourcetest.NewAPI(t, nil)
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL","auth":"s3cr3t"}`)
	for _, c := range []struct {
		method   string
		status   int
		location string
		want     string // the last request; "" if the redirect is not followed
	}{
		{"GET", 302, "/there?x=1", "GET /there?x=1 "},
		{"GET", 301, "URL/there", "GET /there "},
		{"POST", 307, "/there", `POST /there {"a":1}`},
		{"PUT", 308, "/there", `PUT /there {"a":1}`},
		{"POST", 303, "/there", "GET /there "},
		{"DELETE", 301, "/there", ""},
		{"POST", 302, "/there", ""},
		{"GET", 302, "OTHER/there?s3cr3t", ""},
		{"GET", 302, "//evil.example/", ""},
		{"GET", 302, "https://127.0.0.1/", ""},
		{"GET", 302, "http://u:p@HOST/", ""},
		{"GET", 302, "/loop", ""},
	} {
		location := strings.NewReplacer("URL", d.URL, "OTHER", other.URL, "HOST", strings.TrimPrefix(d.URL, "http://")).Replace(c.location)
		d.Respond(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				io.WriteString(w, "{}")
				return
			}
			w.Header().Set("Location", location)
			w.WriteHeader(c.status)
		})
		r := sourcetest.Do(t, sourcetest.Tool(t, b, `{"method":"`+c.method+`","path":"/here"}`), `{"a":1}`)
		came := d.Requests()
		last := came[len(came)-1]
		got := last.Method + " " + last.URI + " " + last.Body
		if c.want != "" && (got != c.want || r.IsError() || last.Header.Get("Authorization") != "s3cr3t") {
			t.Errorf("%s %d %s: %s, %s", c.method, c.status, c.location, got, r.JSON)
		}
		if c.want == "" && (!r.IsError() || !strings.Contains(string(r.JSON), "redirected to http") || strings.Contains(string(r.JSON), "s3cr3t") || len(came) > 6) {
			t.Errorf("%s %d %s: %s after %d requests", c.method, c.status, c.location, r.JSON, len(came))
		}
		if len(other.Requests()) > 0 {
			t.Errorf("%s: another host was asked", c.location)
		}
	}
}

// A user in the API's url follows a redirect, wherever that says it leads on the same server.
func TestRedirectKeepsUser(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, strings.Replace(d.URL, "http://", "http://ann:s3cr%3At@", 1), `{"url":"URL"}`)
	for _, location := range []string{"/there", d.URL + "/there"} {
		d.Respond(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/there" {
				http.Redirect(w, r, location, http.StatusFound)
			}
		})
		r := sourcetest.Do(t, sourcetest.Tool(t, b, `{"method":"GET","path":"/here"}`), `{}`)
		last := d.Last(t)
		user, password, _ := (&http.Request{Header: last.Header}).BasicAuth()
		if last.URI != "/there" || user != "ann" || password != "s3cr:t" || r.IsError() {
			t.Errorf("%s: %s by %s: %s", location, last.URI, user, r.JSON)
		}
	}
}

// tokens are the credentials of an API that refuses all but the newest one.
type tokens struct{ n int }

func (c *tokens) Authorization(context.Context) (string, error) {
	return "Bearer token-" + strconv.Itoa(c.n), nil
}

func (c *tokens) Refused(context.Context, string, int, http.Header, bool) (again bool, err error) {
	c.n++
	return true, nil
}

// A token that is refused at a later attempt is renewed, too.
func TestRetryRenewsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sourcetest.Open(t, Kind, bridge.BackendConfig{Config: json.RawMessage(`{"url":"http://api.example.com"}`), Credentials: &tokens{}}).(*backend)
		answers := []*http.Response{reply(503, ""), reply(401, ""), reply(200, "")}
		var sent []string
		b.HTTP.Transport = trip(func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.Header.Get("Authorization"))
			return answers[len(sent)-1], nil
		})
		wantText(t, sourcetest.Do(t, sourcetest.Tool(t, b, `{"method":"GET","path":"/"}`), `{}`), "200", false)
		if want := []string{"Bearer token-0", "Bearer token-0", "Bearer token-1"}; !slices.Equal(sent, want) {
			t.Errorf("sent %q", sent)
		}
	})
}

// trip is an API in memory, for tests with fake time.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reply(status int, retryAfter string) *http.Response {
	h := http.Header{"Content-Type": {"text/plain"}}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(strconv.Itoa(status)))}
}

func TestRetries(t *testing.T) {
	broken := errors.New("connection reset")
	for _, c := range []struct {
		name, method string
		config       string
		answers      []any // *http.Response or error
		tries        int
		least, most  time.Duration
		want         string // "" for an error
	}{
		{"GET", "GET", "", []any{reply(503, ""), reply(502, ""), reply(200, "")}, 3, 150 * time.Millisecond, 300 * time.Millisecond, "200"},
		{"no more", "GET", "", []any{reply(503, ""), reply(504, ""), reply(503, "")}, 3, 0, time.Second, "HTTP 503 Service Unavailable\n503"},
		{"connection", "PUT", "", []any{broken, reply(200, "")}, 2, 50 * time.Millisecond, 100 * time.Millisecond, "200"},
		{"connection, at last", "DELETE", "", []any{broken, broken, broken}, 3, 0, time.Second, ""},
		{"Retry-After", "GET", "", []any{reply(429, "7"), reply(200, "")}, 2, 7 * time.Second, 7 * time.Second, "200"},
		{"Retry-After, a date", "GET", "", []any{reply(503, "Sat, 01 Jan 2000 00:00:03 GMT"), reply(200, "")}, 2, 3 * time.Second, 3 * time.Second, "200"},
		{"Retry-After, too long", "GET", "", []any{reply(429, "11")}, 1, 0, 0, "HTTP 429 Too Many Requests: try again in 11s\n429"},
		{"Retry-After, of a POST", "POST", "", []any{reply(503, "Sat, 01 Jan 2000 01:00:00 GMT")}, 1, 0, 0, "HTTP 503 Service Unavailable: try again in 1h0m0s\n503"},
		{"Retry-After, elsewhere", "POST", "", []any{reply(500, "9")}, 1, 0, 0, "HTTP 500 Internal Server Error\n500"},
		{"Retry-After, now", "POST", "", []any{reply(429, "0")}, 1, 0, 0, "HTTP 429 Too Many Requests\n429"},
		{"POST", "POST", "", []any{reply(503, "")}, 1, 0, 0, "HTTP 503 Service Unavailable\n503"},
		{"PATCH", "PATCH", "", []any{broken}, 1, 0, 0, ""},
		{"other status", "GET", "", []any{reply(500, "")}, 1, 0, 0, "HTTP 500 Internal Server Error\n500"},
		{"none", "GET", `,"retries":0`, []any{reply(503, "")}, 1, 0, 0, "HTTP 503 Service Unavailable\n503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := openAPI(t, "", `{"url":"http://api.example.com"`+c.config+`}`).(*backend)
				tries := 0
				b.HTTP.Transport = trip(func(r *http.Request) (*http.Response, error) {
					if tries++; c.method == "PUT" {
						if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"a":1}` {
							t.Errorf("try %d: body %q (%v)", tries, body, err)
						}
					}
					switch a := c.answers[tries-1].(type) {
					case error:
						return nil, a
					default:
						return a.(*http.Response), nil
					}
				})
				start := time.Now()
				r, err := sourcetest.Tool(t, b, `{"method":"`+c.method+`","path":"/"}`).Call(t.Context(), json.RawMessage(`{"a":1}`))
				if took := time.Since(start); tries != c.tries || took < c.least || took > c.most {
					t.Errorf("%d tries in %s", tries, took)
				}
				if c.want == "" {
					if !errors.Is(err, broken) {
						t.Errorf("error %v", err)
					}
				} else if err != nil {
					t.Errorf("error %v", err)
				} else {
					wantText(t, r, c.want, strings.HasPrefix(c.want, "HTTP"))
				}
			})
		})
	}
}

// A call whose context ends while it waits to try again returns at once.
func TestRetryCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openAPI(t, "", `{"url":"http://api.example.com"}`).(*backend)
		b.HTTP.Transport = trip(func(*http.Request) (*http.Response, error) { return reply(503, "9"), nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := sourcetest.Tool(t, b, `{"method":"GET","path":"/"}`).Call(ctx, json.RawMessage(`{}`))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// After a lost answer, the next step depends on whether the request may be repeated.
func TestLost(t *testing.T) {
	b := openAPI(t, "", `{"url":"http://api.example.com","retries":0}`).(*backend)
	b.HTTP.Transport = trip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	for method, want := range map[string]string{
		"GET": "try again later", "PUT": "try again later", "DELETE": "try again later",
		"POST": "the request may have been carried out", "PATCH": "the request may have been carried out",
	} {
		_, err := sourcetest.Tool(t, b, `{"method":"`+method+`","path":"/"}`).Call(t.Context(), json.RawMessage(`{}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", method, err, want)
		}
	}
}

// A tool's timeout overrides its API's.
func TestTimeout(t *testing.T) {
	b := openAPI(t, "", `{"url":"http://api.example.com","timeout":"3s"}`)
	for spec, want := range map[string]time.Duration{`{"method":"GET","path":"/"}`: 3 * time.Second, `{"method":"GET","path":"/","timeout":90}`: 90 * time.Second} {
		if got := sourcetest.Tool(t, b, spec).Timeout; got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}

// An answer that is a switch of protocols ends the call: its body, the connection, has no end.
func TestSwitch(t *testing.T) {
	d := sourcetest.NewAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		io.Copy(io.Discard, conn) // until the client closes the connection
	})
	tool := sourcetest.Tool(t, openAPI(t, d.URL, `{"url":"URL","retries":0}`), `{"method":"GET","path":"/"}`)
	if r, err := tool.Call(t.Context(), json.RawMessage(`{}`)); err == nil {
		t.Errorf("%s", r.JSON)
	}
}

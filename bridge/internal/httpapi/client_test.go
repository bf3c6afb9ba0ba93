package httpapi

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

func TestRedirects(t *testing.T) {
	const seeOther = http.StatusSeeOther
	for _, c := range []struct {
		from, to     string // METHOD URL
		status, hops int
		follow, see  bool // followed without and with SeeOther
	}{
		{"GET https://h/a", "GET https://h/b", 302, 1, true, true},
		{"GET https://h/a", "GET https://H:443/b", 302, maxRedirects, true, true},
		{"GET https://h/a", "GET https://h/b", 302, maxRedirects + 1, false, false},
		{"POST https://h/a", "POST https://h/b", 307, 1, true, true},
		{"POST https://h/a", "GET https://h/b", 302, 1, false, false},
		{"POST https://h/a", "GET https://h/b", seeOther, 1, false, true},
		{"POST https://h/a", "GET https://i/b", seeOther, 1, false, false},
		{"GET https://h/a", "GET http://h/a", 302, 1, false, false},
		{"GET https://h/a", "GET https://h:444/a", 302, 1, false, false},
		{"GET https://h/a", "GET https://h.evil.example/a", 302, 1, false, false},
		{"GET https://h/a", "GET https://u:p@h/a", 302, 1, false, false},
	} {
		request := func(text string) *http.Request {
			method, at, _ := strings.Cut(text, " ")
			req, err := http.NewRequest(method, at, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Response = &http.Response{StatusCode: c.status}
			return req
		}
		via := make([]*http.Request, c.hops)
		for i := range via {
			via[i] = request(c.from)
		}
		for see, want := range map[bool]bool{false: c.follow, true: c.see} {
			err := checkRedirect(request(c.to), via, see)
			if (err == nil) != want || err != nil && err != http.ErrUseLastResponse {
				t.Errorf("%+v, 303 is followed: %v: %v", c, see, err)
			}
		}
	}
}

func TestRead(t *testing.T) {
	for _, known := range []int64{-1, 10} {
		for limit, want := range map[int]string{4: "0123", 9: "012345678", 10: "0123456789", 5000: "0123456789"} {
			b, cut, err := read(&http.Response{ContentLength: known, Body: io.NopCloser(strings.NewReader("0123456789"))}, limit)
			if err != nil || string(b.B) != want || cut != (limit < 10) {
				t.Errorf("%d: %q, %v, %v", limit, b.B, cut, err)
			}
			b.Free()
		}
	}
}

// The model does not see credentials that the API repeats.
func TestFailureHides(t *testing.T) {
	for config, body := range map[string]string{
		`"auth":"Bearer t0k3n-of-ann"`:                                "no Bearer t0k3n-of-ann: t0k3n-of-ann",
		`"auth":{"basic":{"username":"ann","password":"pa:ss w0rd"}}`: "YW5uOnBhOnNzIHcwcmQ= is pa:ss w0rd, pa%3Ass+w0rd",
		`"auth":{"header":{"name":"X-Me","value":"s3cr3t"}}`:          "X-Me: s3cr3t",
		`"headers":{"X-Api-Key":"k3yk3y","X-Kind":"harmless"}`:        "k3yk3y",
		`"auth":"ann"`:                      "",
		`"headers":{"Accept":"text/plain"}`: "",
	} {
		c, err := client(`{"url":"https://u:passw0rd@h/v1?api_key=qu3rykey&page=harmless",`+config+`}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := c.rejected(&http.Response{StatusCode: 401, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body + " passw0rd qu3rykey harmless text/plain ann"))}, Call{})
		got := sourcetest.Texts(t, r)[0]
		_, said, _ := strings.Cut(got, "\n")
		for _, secret := range []string{"t0k3n", "YW5", "ss w0rd", "ss+w0rd", "s3cr3t", "k3yk3y", "passw0rd", "qu3rykey"} {
			if strings.Contains(said, secret) {
				t.Errorf("%s: %s", config, said)
			}
		}
		if !strings.HasSuffix(said, " xxxxx xxxxx harmless text/plain ann") {
			t.Errorf("%s: %s", config, said)
		}
	}
}

// Nor a token that the request was sent with, also where the excerpt ends within it.
func TestFailureHidesToken(t *testing.T) {
	token := "t0k3n-" + strings.Repeat("abcdefghij", 50)
	c := &Client{credentials: struct{ credentials }{}}
	for _, before := range []int{0, maxExcerpt - 300, maxExcerpt - 20, maxExcerpt - 7} {
		res := &http.Response{
			StatusCode: 500, Header: http.Header{}, Request: &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}},
			Body: io.NopCloser(strings.NewReader(strings.Repeat(".", before) + " " + token)),
		}
		if got := sourcetest.Texts(t, c.rejected(res, Call{}))[0]; strings.Contains(got, "t0k3n") || !strings.Contains(got, " xxxxx") {
			t.Errorf("after %d bytes: …%s", before, got[len(got)-40:])
		}
	}
}

func TestFailure(t *testing.T) {
	long := strings.Repeat("é", 1500)
	for _, c := range []struct {
		status            int
		contentType, body string
		want              string
	}{
		{404, "application/json", `{"error":"no such user"}`, "HTTP 404 Not Found\n" + `{"error":"no such user"}`},
		{500, "text/plain", long, "HTTP 500 Internal Server Error\n" + long[:maxExcerpt] + "…"},
		{500, "text/plain", "x" + long, "HTTP 500 Internal Server Error\nx" + long[:maxExcerpt-2] + "…"},
		{418, "image/png", "x", "HTTP 418 I'm a teapot"},
		{400, "text/plain; charset=latin1", "caf\xe9", "HTTP 400 Bad Request\ncafé"},
		{400, "", "plain", "HTTP 400 Bad Request\nplain"},
		{400, "", "\x00\xff", "HTTP 400 Bad Request"},
		{599, "text/plain", "", "HTTP 599"},
	} {
		r := new(Client).rejected(&http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.contentType}}, Body: io.NopCloser(strings.NewReader(c.body))}, Call{})
		if got := sourcetest.Texts(t, r); !r.IsError() || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s, want %s", r.JSON, c.want)
		}
	}
}

package console_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/mcpserver/web/console"
)

// A page of a server has the policy that it declares, never an origin of its own, and nothing of which a policy could
// be made another one.
func TestSandbox(t *testing.T) {
	get := func(csp string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		console.Files()["/console/sandbox.html"].ServeHTTP(w, httptest.NewRequest("GET", "/console/sandbox.html?csp="+url.QueryEscape(csp), nil))
		return w
	}
	const none = "sandbox allow-scripts allow-forms; default-src 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; media-src data:; font-src 'none'; connect-src 'none'; frame-src 'none'; base-uri 'none'"
	const some = "sandbox allow-scripts allow-forms; default-src 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'self'; script-src 'unsafe-inline' https://*.cdn.example; style-src 'unsafe-inline' https://*.cdn.example; img-src data: https://*.cdn.example; media-src data: https://*.cdn.example; font-src https://*.cdn.example; connect-src https://a.example wss://b.example:8443; frame-src https://video.example/embed/; base-uri https://base.example"
	for csp, want := range map[string]string{
		"": none, "{}": none, "null": none,
		`{"connectDomains":["https://a.example","wss://b.example:8443"],"resourceDomains":["https://*.cdn.example"],"frameDomains":["https://video.example/embed/"],"baseUriDomains":["https://base.example"]}`: some,
	} {
		w := get(csp)
		if got := w.Header().Values("Content-Security-Policy"); w.Code != 200 || len(got) != 1 || got[0] != want || !strings.Contains(w.Body.String(), "srcdoc") {
			t.Errorf("%s: HTTP %d, %q\nwant %q", csp, w.Code, got, want)
		}
		for name, want := range map[string]string{"X-Frame-Options": "SAMEORIGIN", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	for _, bad := range []string{"*", "https:", "https://*", "'self'", "'unsafe-eval'", "data:", "blob:", "https://a.example; script-src *", "https://a.example 'unsafe-eval'",
		"https://a.example,b", "https://a.example\n", "javascript://a.example", "https://user@a.example", "https://a.example?q=1", "https://é.example", "https://a.example:", "https://a.example:x", "https://:80", "ftp://a.example", "a.example", ""} {
		w := get(`{"connectDomains":["https://ok.example",` + quote(bad) + `]}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "is not an origin") || strings.Contains(w.Header().Get("Content-Security-Policy"), "ok.example") {
			t.Errorf("%q: HTTP %d, %s", bad, w.Code, w.Body)
		}
	}
	for _, bad := range []string{"[]", `{"connectDomains":"https://a.example"}`, `{"connectDomains":[1]}`, "{", `{"x":"` + strings.Repeat("x", 9000) + `"}`} {
		if w := get(bad); w.Code != 400 {
			t.Errorf("%.40s: HTTP %d", bad, w.Code)
		}
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

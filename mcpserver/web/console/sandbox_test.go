package console_test

import (
	"encoding/json"
	"net/http"
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
		return getFrame("", "127.0.0.1:7332", url.Values{"csp": {csp}, "from": {"https://bridge.example"}})
	}
	const none = "sandbox allow-scripts allow-forms; frame-ancestors 'self'; default-src 'none'; object-src 'none'; form-action 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; media-src data:; font-src 'none'; connect-src 'none'; frame-src 'none'; base-uri 'none'"
	const some = "sandbox allow-scripts allow-forms; frame-ancestors 'self'; default-src 'none'; object-src 'none'; form-action 'none'; script-src 'unsafe-inline' https://*.cdn.example; style-src 'unsafe-inline' https://*.cdn.example; img-src data: https://*.cdn.example; media-src data: https://*.cdn.example; font-src https://*.cdn.example; connect-src https://a.example wss://b.example:8443; frame-src https://video.example/embed/; base-uri https://base.example"
	for csp, want := range map[string]string{
		"": none, "{}": none, "null": none,
		`{"connectDomains":["https://a.example","wss://b.example:8443"],"resourceDomains":["https://*.cdn.example"],"frameDomains":["https://video.example/embed/"],"baseUriDomains":["https://base.example"]}`: some,
	} {
		w := get(csp)
		if got := w.Header().Values("Content-Security-Policy"); w.Code != 200 || len(got) != 1 || got[0] != want || !strings.Contains(w.Body.String(), "srcdoc") {
			t.Errorf("%s: HTTP %d, %q\nwant %q", csp, w.Code, got, want)
		}
		for name, want := range map[string]string{"X-Frame-Options": "", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	for _, bad := range []string{"*", "https:", "https://*", "'self'", "'unsafe-eval'", "data:", "blob:", "https://a.example; script-src *", "https://a.example 'unsafe-eval'",
		"https://a.example,b", "https://a.example\n", "javascript://a.example", "https://user@a.example", "https://a.example?q=1", "https://é.example", "https://a.example:", "https://a.example:x", "https://:80", "ftp://a.example", "a.example", ""} {
		w := get(`{"connectDomains":["https://ok.example",` + quote(bad) + `]}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "is not an origin") || w.Header().Get("X-Frame-Options") != "" || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "sandbox; ") || strings.Contains(w.Header().Get("Content-Security-Policy"), "ok.example") {
			t.Errorf("%q: HTTP %d, %s", bad, w.Code, w.Body)
		}
	}
	for _, bad := range []string{"[]", `{"connectDomains":"https://a.example"}`, `{"connectDomains":[1]}`, "{", `{"x":"` + strings.Repeat("x", 9000) + `"}`} {
		if w := get(bad); w.Code != 400 {
			t.Errorf("%.40s: HTTP %d", bad, w.Code)
		}
	}
}

// getFrame requests the frame under a Host from a console that may be at bridge.example, too.
func getFrame(origin, host string, query url.Values) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/console/sandbox.html?"+query.Encode(), nil)
	r.Host = host
	console.Foreign(sandbox(origin))["/console/sandbox.html"].ServeHTTP(w, r)
	return w
}

func sandbox(origin string) console.Sandbox {
	return console.Sandbox{Origin: func() string { return origin }, Hosts: func(_ *http.Request, host string) bool { return host == "bridge.example" }}
}

// At the origin that it is loaded from the frame has that one, and the console that loads it may frame it.
func TestSandboxOrigin(t *testing.T) {
	const opaque, own = "sandbox allow-scripts allow-forms; frame-ancestors 'self'; ", "sandbox allow-same-origin allow-scripts allow-forms; frame-ancestors 'self'"
	for _, c := range []struct{ host, from, want string }{
		{"apps.example", "https://bridge.example", own + " https://bridge.example; "},
		{"APPS.example", "https://bridge.example", own + " https://bridge.example; "},
		{"apps.example", "", own + "; "},
		{"apps.example", "https://evil.example", own + "; "},
		{"apps.example", "https://bridge.example; script-src *", own + "; "},
		{"apps.example", "javascript://bridge.example", own + "; "},
		{"bridge.example", "https://bridge.example", opaque},
		{"apps.example:8443", "https://bridge.example", opaque},
	} {
		w := getFrame("https://apps.example", c.host, url.Values{"from": {c.from}})
		if got := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got, c.want+"default-src 'none'") {
			t.Errorf("%s from %s: %s", c.host, c.from, got)
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

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
)

// anyNode are nodes behind a balancer, with a server where each principal has an account, and the browser of ann.
type anyNode struct {
	*testing.T
	nodes    []*serving
	balancer *httptest.Server
	to       atomic.Pointer[url.URL] // where the balancer sends the next request
	browser  http.Client
	deadline time.Time
}

func newAnyNode(t *testing.T, names ...string) *anyNode {
	setFolders(t)
	t.Setenv(secret.KeyVariable, testSecretKey)
	guarded := newGuarded()
	t.Cleanup(guarded.Close)
	a := &anyNode{T: t, deadline: time.Now().Add(patience)}
	a.browser.Jar, _ = cookiejar.New(nil)
	a.balancer = httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(a.to.Load())
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(a.balancer.Close)
	nats := fleettest.NATS(t)
	for _, name := range names {
		node := serveConfig(t, fmt.Sprintf(`{"cluster": {"name": "test", "node": %q, "secrets": [%q], "nats": %q}, "publicUrl": %q,
			"mcpServers": {"docs": {"url": "%s/mcp", "credentials": "identity"}}, "tokens": {"ann": "token-of-ann-0123456789"}}`,
			name, fleettest.Secret, nats, a.balancer.URL, guarded.URL), nil)
		a.nodes = append(a.nodes, node)
		a.until("the node is ready", func() bool {
			resp, _ := node.send(http.MethodGet, "/readyz", "")
			return resp.StatusCode == http.StatusOK
		})
	}
	return a
}

func (a *anyNode) until(what string, done func() bool) {
	a.Helper()
	for !done() {
		if time.Now().After(a.deadline) {
			a.Fatalf("%s: that takes too long", what)
		}
	}
}

// ask sends a request of MCP as ann to a node.
func (a *anyNode) ask(node int, method, name, arguments string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":%q,"arguments":{%s},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, name, arguments)
	_, said := a.nodes[node].send(http.MethodPost, "/mcp", body, "Accept=application/json, text/event-stream",
		"Authorization=Bearer token-of-ann-0123456789", "Mcp-Protocol-Version=2026-07-28", "Mcp-Method="+method, "Mcp-Name="+name)
	return said
}

// begin returns the link that a node gives.
func (a *anyNode) begin(node int) string {
	said := a.ask(node, "tools/call", "connect_account", "")
	link := regexp.MustCompile(`http://[\w.:]+/login\?id=[\w-]+`).FindString(said)
	if !strings.HasPrefix(link, a.balancer.URL) {
		a.Fatalf("no link: %s", said)
	}
	return link
}

func (a *anyNode) enter(node int, code, want string) {
	a.Helper()
	if said := a.ask(node, "tools/call", "connect_account", `"code":"`+code+`"`); !strings.Contains(said, want) {
		a.Errorf("the code %s: %s, want %q", code, said, want)
	}
}

// open sends a request of a browser, which the balancer gives to a node, and returns the page, or where it leads.
func (a *anyNode) open(browser http.Client, node int, method, address string) (page, next string) {
	a.Helper()
	target, err := url.Parse(a.nodes[node].url)
	if err != nil {
		a.Fatal(err)
	}
	a.to.Store(target)
	req, err := http.NewRequestWithContext(a.Context(), method, address, nil)
	if err != nil {
		a.Fatal(err)
	}
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := browser.Do(req)
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	return string(text), resp.Header.Get("Location")
}

func (a *anyNode) shows(browser http.Client, node int, method, address, want string) {
	a.Helper()
	if page, _ := a.open(browser, node, method, address); !strings.Contains(page, want) {
		a.Errorf("the page is %s, want %q", page, want)
	}
}

// A principal logs in to a server at whatever nodes a balancer gives its browser, and its client, to. The login of a node
// that ends is gone.
func TestLoginAnywhere(t *testing.T) {
	a := newAnyNode(t, "a", "b", "c")
	link := a.begin(0)
	a.shows(a.browser, 1, http.MethodGet, link, "to <b>ann</b> of this bridge")
	a.enter(2, "AAAA-AAAA", "nobody has logged in so far")
	_, address := a.open(a.browser, 2, http.MethodPost, link)
	a.shows(http.Client{}, 1, http.MethodPost, link, "This link has been used")
	if _, again := a.open(a.browser, 1, http.MethodPost, link); again != address {
		t.Errorf("the link leads its browser to %q, and then to %q", address, again)
	}
	_, back := a.open(a.browser, 2, http.MethodGet, address)
	if !strings.HasPrefix(back, a.balancer.URL+"/login/callback?") {
		t.Fatalf("the authorization server leads to %q", back)
	}
	a.shows(http.Client{}, 2, http.MethodGet, back, "begun in another browser")
	page, _ := a.open(a.browser, 1, http.MethodGet, back)
	code := regexp.MustCompile(`class="code">([\w-]+)<`).FindStringSubmatch(page)
	if code == nil {
		t.Fatalf("no code: %s", page)
	}
	a.shows(a.browser, 2, http.MethodGet, back, code[1])
	if resp, _ := a.nodes[0].send(http.MethodGet, codePath+"?server=docs&principal=ann&code="+strings.ReplaceAll(code[1], "-", ""), ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a caller that is not a node gets %s", resp.Status)
	}
	a.enter(1, "AAAA-AAAA", "that is not the code")
	a.enter(2, code[1], "is connected")
	a.enter(1, code[1], "no login is under way")
	if said := a.ask(2, "tools/list", "", ""); !strings.Contains(said, `"search"`) {
		t.Errorf("the tools: %s", said)
	}
	a.until("another node hears of the login", func() bool { return strings.Contains(a.ask(0, "tools/list", "", ""), `"search"`) })
	link = a.begin(2)
	a.nodes[2].end()
	a.until("the login of a node that has ended is gone", func() bool {
		page, _ := a.open(a.browser, 1, http.MethodGet, link)
		return strings.Contains(page, "This link has been used, or is older than ten minutes")
	})
	a.nodes[0].end()
	if said := a.nodes[0].log.text.String(); strings.Contains(said, code[1]) {
		t.Errorf("the log has a code: %s", said)
	}
}

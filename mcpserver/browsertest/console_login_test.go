package browsertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
)

// bank is an MCP server behind a login, and its authorization server, which asks nobody.
func bank() *httptest.Server {
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			fmt.Fprintf(w, `{"resource":"%s/mcp","authorization_servers":[%q]}`, s.URL, s.URL)
		case "/.well-known/oauth-authorization-server":
			fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%s/authorize","token_endpoint":"%s/token","registration_endpoint":"%s/register","code_challenge_methods_supported":["S256"]}`, s.URL, s.URL, s.URL, s.URL)
		case "/register":
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"client_id":"some-client"}`)
		case "/authorize":
			http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=1&state="+r.FormValue("state"), http.StatusFound)
		case "/token":
			io.WriteString(w, `{"access_token":"access","token_type":"Bearer","expires_in":3600}`)
		case "/mcp":
			serveBank(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	return s
}

func serveBank(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	json.NewDecoder(r.Body).Decode(&m)
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bank","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"balance","inputSchema":{"type":"object"}}]}`,
	}[m.Method]
	switch {
	case r.Header.Get("Authorization") != "Bearer access":
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case result == "":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
}

// The operator logs in to a server from the console, and out again.
func TestConsoleLogin(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	server := bank()
	t.Cleanup(server.Close)
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{"mcpServers": object{"bank": object{"url": server.URL + "/mcp"}}})
	tab := browser.console(t, bridge)
	tab.see(t, `document.querySelector(".live.on")`)
	tab.open(t, bridge, url.Values{"view": {"servers"}, "part": {"logins"}})
	tab.see(t, `document.querySelector(".card .tag.bad")?.textContent === "login needed"`)
	tab.click(t, "Log in")
	tab.see(t, `document.querySelector(".steps-in a")`)
	tab.look(t, "login")
	link, err := chromedp.Run(tab.ctx, chromedp.Evaluate[string](`document.querySelector(".steps-in a").href`))
	if err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	page, err := (&http.Client{Jar: jar}).Post(link, "application/x-www-form-urlencoded", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	text, _ := io.ReadAll(page.Body)
	code := regexp.MustCompile(`class="code">([^<]+)<`).FindSubmatch(text)
	if code == nil {
		t.Fatalf("the page of the login shows\n%s", text)
	}
	tab.enter(t, ".steps-in input", "wrong")
	tab.click(t, "Finish")
	tab.see(t, `document.querySelector(".note.failed")?.textContent.includes("not the code")`)
	tab.enter(t, ".steps-in input", string(code[1]))
	tab.click(t, "Finish")
	tab.see(t, `document.querySelector(".card .tag.good")?.textContent === "logged in"`)
	tab.press(t, "Servers")
	tab.see(t, `document.querySelector(".card .tag.good")?.textContent === "ready"`)
	tab.open(t, bridge, url.Values{"view": {"servers"}, "part": {"logins"}})
	tab.click(t, "Log out")
	tab.see(t, `document.querySelector(".card .tag.bad")?.textContent === "login needed"`)
}

package stack_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/account"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// bank is an MCP server where each person has an account, and its authorization server, which knows
// browsers by a cookie.
type bank struct {
	*httptest.Server
	mu         sync.Mutex
	codes      map[string]string // accounts by code
	tokens     map[string]string // accounts by access token
	registered int
	issued     int // tokens

	away    atomic.Bool            // it registers nobody
	reached atomic.Pointer[func()] // is called when it is to register someone, or exchange a code; may be nil
}

func newBank(t *testing.T) *bank {
	b := &bank{codes: map[string]string{}, tokens: map[string]string{}}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/register" && b.away.Load() {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	if reached := b.reached.Load(); reached != nil && (r.URL.Path == "/register" || r.URL.Path == "/token") {
		(*reached)()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		fmt.Fprintf(w, `{"resource":"%s/mcp","authorization_servers":[%q]}`, b.URL, b.URL)
	case "/.well-known/oauth-authorization-server":
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%s/authorize","token_endpoint":"%s/token","registration_endpoint":"%s/register",
			"code_challenge_methods_supported":["S256"]}`, b.URL, b.URL, b.URL, b.URL)
	case "/register":
		b.registered++
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"client_id":"some-client"}`)
	case "/authorize":
		holder, err := r.Cookie("account")
		if err != nil {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		code := fmt.Sprintf("code-%d", len(b.codes))
		b.codes[code] = holder.Value
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?code="+code+"&state="+r.FormValue("state"), http.StatusFound)
	case "/token":
		b.issued++
		token := fmt.Sprintf("access-token-%d", b.issued)
		b.tokens[token] = b.codes[r.FormValue("code")]
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer"}`, token)
	case "/mcp":
		b.serve(w, r)
	default:
		http.NotFound(w, r)
	}
}

// forget ends all logins.
func (b *bank) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.tokens)
}

func (b *bank) serve(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	holder := b.tokens[token]
	if holder == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	stack.ServeTools(w, r, holder, "whoami", "connect_account")
}

// accountWorld is a bridge in front of a bank, and its pages.
type accountWorld struct {
	*testing.T
	bank  *bank
	pages *httptest.Server
	ended atomic.Pointer[func()] // is called when a browser has gone; may be nil
	stack *stack.Stack
	store *providertest.Memory
}

func newAccountWorld(t *testing.T) *accountWorld {
	w := &accountWorld{T: t, bank: newBank(t), store: &providertest.Memory{}}
	pool := stack.NewPool()
	t.Cleanup(func() { pool.Close() })
	w.pages = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if ended := w.ended.Load(); ended != nil {
			defer context.AfterFunc(r.Context(), *ended)()
		}
		pool.Desk.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.pages.Close)
	pool.Desk.SetBase(w.pages.URL)
	var err error
	w.stack, err = stack.New(&config.Config{Servers: []config.Server{{Name: "bank", URL: w.bank.URL + "/mcp", PerIdentity: true, Include: []string{"who*"}, Context: []string{"tenant"}}}},
		stack.Options{Pool: pool, Credentials: w.store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.stack.Close() })
	return w
}

// open opens a session of a principal.
func (w *accountWorld) open(principal string, change ...func(*bridge.Caller)) bridge.Session {
	caller := &bridge.Caller{ID: "caller of " + principal, Principal: bridge.Principal{Name: principal}}
	caller.HiddenValue = func(string) ([]byte, bool) { return []byte(`"tenant-4242"`), true }
	for _, c := range change {
		c(caller)
	}
	s, err := w.stack.Open(w.Context(), caller)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

// call calls a tool, and returns what it says or the error.
func (w *accountWorld) call(s bridge.Session, tool, arguments string) (string, error) {
	params, _ := wire.SplitParams(fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, tool, arguments))
	reply := s.Do(w.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
	if reply.Err != nil {
		return "", reply.Err
	}
	defer reply.Free()
	for content := range wire.Elements(wire.Lookup(reply.Result, "content")) {
		text, _ := wire.Text(wire.Lookup(content, "text"))
		if string(wire.Lookup(reply.Result, "isError")) == "true" {
			return "", errors.New(text)
		}
		return text, nil
	}
	return "", nil
}

// tools returns the names of the tools that a session lists.
func (w *accountWorld) tools(s bridge.Session) (names []string) {
	l, err := s.List(w.Context(), bridge.Tools)
	if err != nil {
		w.Fatal(err)
	}
	for _, it := range l.Items {
		names = append(names, it.Key)
	}
	return names
}

// browser is that of a person with an account at the bank.
func (w *accountWorld) browser(holder string) *http.Client {
	jar, _ := cookiejar.New(nil)
	at, _ := url.Parse(w.bank.URL)
	at.Path = "/authorize"
	jar.SetCookies(at, []*http.Cookie{{Name: "account", Value: holder, Path: "/authorize"}})
	return &http.Client{Jar: jar}
}

var linkPattern = regexp.MustCompile(`http://\S+/login\?id=\w+`)

// leave opens a link, and follows its form to the address of the authorization server.
func leave(browser *http.Client, link string) (address string, err error) {
	stay := *browser
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.Post(link, "application/x-www-form-urlencoded", nil)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		return "", errors.New(resp.Status)
	}
	return resp.Header.Get("Location"), nil
}

// visit opens the page of an authorization server, and returns the code that the page shows in the end.
func visit(browser *http.Client, address string) (code string, err error) {
	resp, err := browser.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	m := regexp.MustCompile(`class="code">([^<]+)<`).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s: %s", resp.Status, html.UnescapeString(string(text)))
	}
	return string(m[1]), nil
}

// TestAccount connects the accounts of two principals by link and code.
func TestAccount(t *testing.T) {
	w := newAccountWorld(t)
	for _, holder := range []string{"ann", "bob"} {
		s := w.open(holder)
		if got := w.tools(s); fmt.Sprint(got) != "[connect_account]" {
			t.Fatalf("%s: the tools are %q before the login", holder, got)
		}
		said, err := w.call(s, account.Tool, "{}")
		link := linkPattern.FindString(said)
		if err != nil || link == "" {
			t.Fatalf("%s: %q, %v", holder, said, err)
		}
		browser := w.browser(holder)
		resp, err := browser.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(text), "your account at <b>bank</b>") || !strings.Contains(string(text), "to <b>"+holder+"</b>") {
			t.Errorf("the page says %s", text)
		}
		if _, err := w.call(s, account.Tool, `{"code":"AAAA-AAAA"}`); err == nil || !strings.Contains(err.Error(), "nobody has logged in so far") {
			t.Errorf("a code before the login: %v", err)
		}
		address, err := leave(browser, link)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := leave(browser, link); again != address {
			t.Errorf("a link leads its browser to %q, %v, and then to %q", address, err, again)
		}
		if _, err := leave(w.browser(holder), link); err == nil {
			t.Error("a link works in two browsers")
		}
		if _, err := visit(browser, address); err != nil {
			t.Fatal(err)
		}
		code, err := visit(browser, address) // it logs in again
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.call(s, account.Tool, `{"code":"`+strings.ToLower(code)+`"}`); err != nil {
			t.Fatalf("%s: %v", holder, err)
		}
		if got, err := w.call(s, "whoami", "{}"); got != holder {
			t.Errorf("%s is %q, %v", holder, got, err)
		}
		if got := w.tools(s); fmt.Sprint(got) != "[connect_account whoami]" {
			t.Errorf("the tools are %q after the login", got)
		}
	}
	if w.bank.registered != 1 {
		t.Errorf("%d registrations, want one for all", w.bank.registered)
	}
	ann := w.open("ann")
	if got, err := w.call(ann, "whoami", "{}"); got != "ann" {
		t.Errorf("ann is %q, %v in another session", got, err)
	}
	w.bank.forget()
	if _, err := w.call(ann, "whoami", "{}"); err == nil || !linkPattern.MatchString(err.Error()) || !strings.Contains(err.Error(), "call connect_account of bank with the code") {
		t.Errorf("a login that has ended: %v", err)
	}
	for range 3 {
		l, err := ann.List(t.Context(), bridge.Tools)
		if err != nil || l.Items[0].Key != account.Tool {
			t.Errorf("the list after a login that has ended: %+v, %v", l, err)
		}
		if reply := ann.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsList}); !strings.Contains(string(reply.Result), account.Tool) {
			t.Errorf("the page after a login that has ended: %s, %v", reply.Result, reply.Err)
		}
	}
	if l, err := w.open("local").List(t.Context(), bridge.Tools); err == nil || !strings.Contains(err.Error(), "run mcpbridge login") {
		t.Errorf("the operator sees %v, %v", l, err)
	}
}

// TestAccountImpatient has a person whose login goes on whatever happens at its pages: others are asked for while it
// is open, the authorization server is away for a moment, and the browser sends each request twice, the first of which it
// gives up, as it does after a double click.
func TestAccountImpatient(t *testing.T) {
	w := newAccountWorld(t)
	s, browser := w.open("ann"), w.browser("ann")
	ask := func() string {
		said, err := w.call(s, account.Tool, "{}")
		if err != nil {
			t.Fatal(err)
		}
		return linkPattern.FindString(said)
	}
	link := ask()
	resp, err := browser.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for range 5 {
		ask()
	}
	w.bank.away.Store(true)
	if address, err := leave(browser, link); err == nil {
		t.Errorf("it leads to %q without a client", address)
	}
	w.bank.away.Store(false)
	// twice sends a request that the browser gives up when the bank has got what it leads to, and sends it again.
	twice := func(send func(browser *http.Client) error) {
		ctx, giveUp := context.WithCancel(t.Context())
		givenUp := make(chan bool, 9)
		noticed := func() { givenUp <- true }
		w.ended.Store(&noticed)
		reached := sync.OnceFunc(func() {
			giveUp()
			<-givenUp
		})
		w.bank.reached.Store(&reached)
		impatient := *browser
		impatient.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			return http.DefaultTransport.RoundTrip(r.WithContext(ctx))
		})
		send(&impatient)
		if ctx.Err() == nil {
			t.Error("the bank was not reached")
		}
		if err := send(browser); err != nil {
			t.Error(err)
		}
	}
	var address, code string
	twice(func(browser *http.Client) (err error) {
		address, err = leave(browser, link)
		return err
	})
	twice(func(browser *http.Client) (err error) {
		code, err = visit(browser, address)
		return err
	})
	if _, err := w.call(s, account.Tool, `{"code":"`+code+`"}`); err != nil {
		t.Error(err)
	}
}

// TestAccountSetCookie has someone ask for a link who has set the cookie in the browser of the person who opens it, and
// so knows all but the answer of the bank: the code is not shown without that.
func TestAccountSetCookie(t *testing.T) {
	w := newAccountWorld(t)
	s, browser := w.open("mallory"), w.browser("ann")
	said, err := w.call(s, account.Tool, "{}")
	if err != nil {
		t.Fatal(err)
	}
	link := linkPattern.FindString(said)
	address, err := leave(browser, link)
	if err != nil {
		t.Fatal(err)
	}
	var back string // where the bank leads to
	watching := *browser
	watching.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		back = r.URL.String()
		return nil
	}
	code, err := visit(&watching, address)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := visit(browser, back); again != code {
		t.Errorf("the page shows the code %q, and loaded again %q, %v", code, again, err)
	}
	at, _ := url.Parse(address)
	state := url.Values{"state": {at.Query().Get("state")}}
	if shown, err := visit(browser, w.pages.URL+"/login/callback?"+state.Encode()); err == nil {
		t.Errorf("without an answer the page shows %q", shown)
	}
	early := make(chan error, 1)
	reached := func() {
		_, err := w.call(s, account.Tool, `{"code":"`+code+`"}`)
		early <- err
	}
	w.bank.reached.Store(&reached)
	state.Set("code", "that of mallory")
	if shown, err := visit(browser, w.pages.URL+"/login/callback?"+state.Encode()); err != nil || shown == code {
		t.Errorf("with another answer the page shows %q, %v", shown, err)
	}
	select {
	case err := <-early:
		if err == nil {
			t.Error("the code of ann is good while another answer takes the place of hers")
		}
	default:
		t.Error("the bank was not asked")
	}
	if _, err := w.call(s, account.Tool, `{"code":"`+code+`"}`); err == nil {
		t.Error("the code of ann is good for what another answer has given")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAccountAsked has a client that shows addresses and forms ask its user.
func TestAccountAsked(t *testing.T) {
	w := newAccountWorld(t)
	browser, code := w.browser("ann"), ""
	s := w.open("ann", func(c *bridge.Caller) {
		c.Capabilities = []byte(`{"elicitation":{"form":{},"url":{}}}`)
		c.Ask = func(_ context.Context, _ string, params []byte) ([]byte, *toolformat.Error) {
			if mode, _ := wire.Text(wire.Lookup(params, "mode")); mode == "form" {
				return fmt.Appendf(nil, `{"action":"accept","content":{"code":%q}}`, code), nil
			}
			link, _ := wire.Text(wire.Lookup(params, "url"))
			address, err := leave(browser, link)
			if err == nil {
				code, err = visit(browser, address)
			}
			if err != nil {
				t.Error(err)
			}
			return []byte(`{"action":"accept"}`), nil
		}
	})
	if _, err := w.call(s, account.Tool, "{}"); err != nil {
		t.Fatal(err)
	}
	if got, err := w.call(s, "whoami", "{}"); got != "ann" {
		t.Errorf("ann is %q, %v", got, err)
	}
	w.bank.forget()
	if got, err := w.call(s, "whoami", "{}"); got != "ann" {
		t.Errorf("ann is %q, %v after a login that has ended", got, err)
	}
}

// TestAccountLaw has principals ask for links, and persons open any of them and tell any codes: a principal
// only ever uses an account whose code it has handed in itself.
func TestAccountLaw(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newAccountWorld(t)
			random := rand.New(rand.NewPCG(seed, 0))
			names := []string{"ann", "bob", "https://issuer.example#ann"}
			sessions, browsers, handed := map[string]bridge.Session{}, map[string]*http.Client{}, map[string]map[string]bool{}
			for _, name := range names {
				sessions[name], browsers[name], handed[name] = w.open(name), w.browser(name), map[string]bool{}
			}
			pick := func(from []string) string {
				if len(from) == 0 {
					return ""
				}
				return from[random.IntN(len(from))]
			}
			var links, addresses, codes []string
			holders := map[string]string{} // by code
			for range 60 {
				switch who := pick(names); random.IntN(5) {
				case 0:
					said, _ := w.call(sessions[who], account.Tool, "{}")
					links = append(links, linkPattern.FindString(said))
				case 1:
					if address, err := leave(browsers[who], pick(links)); err == nil {
						addresses = append(addresses, address)
					}
				case 2:
					if code, err := visit(browsers[who], pick(addresses)); err == nil {
						codes, holders[code] = append(codes, code), who
					}
				case 3:
					if code := pick(codes); code != "" {
						if _, err := w.call(sessions[who], account.Tool, `{"code":"`+code+`"}`); err == nil {
							handed[who] = map[string]bool{holders[code]: true}
						}
					}
				case 4:
					if got, err := w.call(sessions[who], "whoami", "{}"); err == nil && !handed[who][got] {
						t.Fatalf("%s uses the account of %q, and has handed in the code of %v", who, got, handed[who])
					}
				}
			}
		})
	}
}

package e2etest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// lawSession is a client with a token, at the URL of a profile or none.
type lawSession struct {
	*caller
	world            *world
	principal, asked string
	profile          *lawProfile // that it should have
	name             string      // in errors

	mu    sync.Mutex        // guards about
	about map[string]string // the token that a request names, by its id
}

// lawCarriers are the carriers of clients with a token.
var lawCarriers = map[string]func(t *testing.T, w *world, principal, path string) (*peer.Client, error){
	"http": func(_ *testing.T, w *world, principal, path string) (*peer.Client, error) {
		return peer.HTTP(context.Background(), w.web.URL+"/mcp"+path, bearer(lawSecret(principal))), nil
	},
	"sse": func(_ *testing.T, w *world, principal, path string) (*peer.Client, error) {
		return peer.DialSSE(context.Background(), w.web.URL+"/sse"+path, bearer(lawSecret(principal)))
	},
	"ws": func(_ *testing.T, w *world, principal, path string) (*peer.Client, error) {
		return peer.DialWS(context.Background(), w.web.URL+"/ws"+path, bearer(lawSecret(principal)))
	},
	"stdio": func(_ *testing.T, w *world, principal, path string) (*peer.Client, error) {
		return overPipesOf(w.front, &mcpserver.Stream{Principal: bridge.Principal{Name: principal}, Profile: strings.TrimPrefix(path, "/p/")}), nil
	},
}

// join connects a session, and returns nil if the bridge refuses it, as it should.
func (w *world) join(t *testing.T, carrier string, modern bool, principal, asked string) *lawSession {
	s := &lawSession{world: w, principal: principal, asked: asked, profile: w.profile(principal, asked), about: map[string]string{}}
	s.name = fmt.Sprintf("%s at %q over %s, modern %t", principal, asked, carrier, modern)
	path := ""
	if asked != "" {
		path = "/p/" + asked
	}
	client, err := lawCarriers[carrier](t, w, principal, path)
	if err != nil {
		t.Fatal(s.name, err)
	}
	t.Cleanup(func() { client.Close() })
	s.caller = &caller{TB: t, Client: s.watched(client), modern: modern, capabilities: "{}"}
	first, params := "server/discover", ""
	if !modern {
		first, params = "initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}`
	}
	m := s.response(s.ask(asked, first, params))
	switch text, _ := wire.Text(wire.Lookup(m.Error, "message")); {
	case s.profile != nil && m.Error == nil:
		if !modern {
			s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
			s.result(s.ask("", "logging/setLevel", `"level":"debug"`))
		}
		return s
	case s.profile != nil, asked != "" && text != "unknown profile: "+asked,
		asked == "" && !strings.HasPrefix(text, "no profile of this bridge is for "+principal):
		t.Errorf("%s: %s answers %s", s.name, first, m.Raw)
	}
	return nil
}

// watched returns a client that fails the test for each token that it should not receive.
func (s *lawSession) watched(c *peer.Client) *peer.Client {
	own, in := *c, make(chan peer.Received, 16<<10)
	own.In = in
	go func() {
		defer close(in)
		for m := range c.In {
			s.look(m.Raw)
			in <- m
		}
	}()
	return &own
}

func (s *lawSession) look(raw []byte) {
	s.mu.Lock()
	about := s.about[string(wire.Lookup(raw, "id"))]
	s.mu.Unlock()
	for _, token := range lawToken().FindAllString(string(raw), -1) {
		named := token == about && wire.Lookup(raw, "error") != nil
		if !named && !s.has(token) {
			s.Errorf("%s receives %s: %s", s.name, token, raw)
		}
	}
}

// has reports whether the session has what a token stands for: of lent tools only those of its principal.
func (s *lawSession) has(token string) bool {
	return s.profile != nil && s.profile.admits(token) && (!strings.HasPrefix(token, "lent_") || token == lentToken(s.principal))
}

// ask sends a request that names a token, and returns its id.
func (s *lawSession) ask(token, method, members string) string {
	s.mu.Lock()
	s.about[fmt.Sprint(s.last+1)] = token
	s.mu.Unlock()
	meta := ""
	if s.modern {
		meta = `"io.modelcontextprotocol/logLevel":"debug"`
	}
	return s.request(method, members, meta)
}

// reach sends a request about a token, which must be answered if the profile admits it, and else as if
// there was nothing of the kind.
func (s *lawSession) reach(token, method, members string) {
	s.Helper()
	m := s.response(s.ask(token, method, members))
	text, _ := wire.Text(wire.Lookup(m.Error, "message"))
	if admitted := s.has(token); admitted == (m.Error != nil) || !admitted && !strings.HasPrefix(text, "unknown ") {
		s.Errorf("%s, which has %s: %t, asks %s: %s", s.name, token, admitted, method, m.Raw)
	}
}

// lists checks what the session lists of a kind, of which each server has 3, and the first one most.
func (s *lawSession) lists(kind, method string, most int) {
	s.Helper()
	got := lawToken().FindAllString(s.result(s.ask("", method, "")), -1)
	slices.Sort(got)
	var want []string
	for i := range s.world.servers {
		for n := range most {
			if i > 0 && n == 3 {
				break
			}
			if token := fmt.Sprintf("%s_s%d_%d", kind, i, n); s.profile.admits(token) {
				want = append(want, token)
			}
		}
	}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		s.Errorf("%s lists %v, want %v", s.name, got, want)
	}
}

// check asks for all that there is.
func (s *lawSession) check() {
	s.lists("tool", wire.MethodToolsList, 3)
	s.lists("prompt", wire.MethodPromptsList, 3)
	s.lists("res", wire.MethodResourcesList, 3)
	s.lists("tmpl", wire.MethodTemplatesList, 3)
	for i := range s.world.servers {
		for n := range 3 {
			of := fmt.Sprintf("_s%d_%d", i, n)
			prefix := fmt.Sprintf("s%d__", i)
			s.reach("tool"+of, wire.MethodToolsCall, `"name":"`+prefix+`tool`+of+`","arguments":{}`)
			s.reach("prompt"+of, wire.MethodPromptsGet, `"name":"`+prefix+`prompt`+of+`"`)
			s.reach("prompt"+of, wire.MethodComplete, `"ref":{"type":"ref/prompt","name":"`+prefix+`prompt`+of+`"},"argument":{"name":"a","value":""}`)
			s.reach("tmpl"+of, wire.MethodComplete, `"ref":{"type":"ref/resource","uri":"tmpl://tmpl`+of+`/{id}"},"argument":{"name":"id","value":""}`)
			s.reach("res"+of, wire.MethodResourcesRead, `"uri":"res://res`+of+`"`)
			s.reach("tmpl"+of, wire.MethodResourcesRead, `"uri":"tmpl://tmpl`+of+`/7"`)
			if !s.modern {
				s.reach("res"+of, wire.MethodSubscribe, `"uri":"res://res`+of+`"`)
			}
		}
	}
	if s.modern {
		s.listens()
	}
}

// listens opens the stream of a modern client, with all resources that there are: those of its profile are
// granted.
func (s *lawSession) listens() {
	var all, want []string
	for i := range s.world.servers {
		for n := range 3 {
			token := fmt.Sprintf("res_s%d_%d", i, n)
			all = append(all, `"res://`+token+`"`)
			if s.profile.admits(token) {
				want = append(want, token)
			}
		}
	}
	s.ask("", wire.MethodListen, `"notifications":{"toolsListChanged":true,"resourceSubscriptions":[`+strings.Join(all, ",")+`]}`)
	m := s.note(wire.NotificationSubscribed)
	got := lawToken().FindAllString(string(m.Raw), -1)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.Errorf("%s may watch %v, want %v", s.name, got, want)
	}
}

// tasks lets a session begin a task, which others neither see nor cancel.
func (w *world) tasks(sessions []*lawSession) {
	begun := map[*lawSession]string{}
	for i, s := range sessions {
		if who := fmt.Sprint(i); !s.modern && s.profile.admits("tool_s0_0") && len(w.servers) > 1 {
			begun[s] = "task-of-" + who
			s.result(s.ask("tool_s0_0", wire.MethodToolsCall, `"name":"s0__tool_s0_0","arguments":{"who":"`+who+`"},"task":{}`))
		}
	}
	for owner, id := range begun {
		for _, s := range sessions {
			for _, method := range []string{wire.MethodTasksGet, wire.MethodTasksCancel} {
				if m := s.response(s.ask("", method, `"taskId":"`+id+`"`)); (s == owner) == (m.Error != nil) {
					s.Errorf("%s reaches the task of %s with %s: %s", s.name, owner.name, method, m.Raw)
				}
			}
		}
	}
}

// grow adds a tool to the first server, of which those are told who see it, and changes its resources.
func (w *world) grow(sessions []*lawSession) {
	s0 := w.servers[0]
	s0.Update(func() { s0.Tools += "," + lawTool("s0", 3) })
	w.model.tools = append(w.model.tools, "s0__tool_s0_3")
	s0.tell(wire.NotificationToolsChanged, "")
	for n := range 3 {
		s0.tell(wire.NotificationResourceUpdated, fmt.Sprintf(`"uri":"res://res_s0_%d"`, n))
	}
	for _, s := range sessions {
		for n := range 3 {
			if s.profile.admits(fmt.Sprint("res_s0_", n)) {
				s.note(wire.NotificationResourceUpdated)
			}
		}
		if s.profile.admits("tool_s0_3") {
			s.note("notifications/tools/list_changed")
		}
		s.lists("tool", wire.MethodToolsList, 4)
		for _, m := range s.held {
			if m.Method == "notifications/tools/list_changed" && !s.profile.admits("tool_s0_3") {
				s.Errorf("%s is told of a change that it does not see", s.name)
			}
		}
	}
}

// lends has a client of each principal lend a tool, which its other clients see if their profiles have it, and
// nobody else.
func (w *world) lends(t *testing.T, sessions []*lawSession) {
	for _, s := range sessions {
		if (strings.Contains(s.name, "over ws") || strings.Contains(s.name, "over stdio")) && !w.lent[s.principal] {
			token := lentToken(s.principal)
			w.lent[s.principal] = true
			s.result(s.ask(token, "mcpbridge/lend", `"page":{"id":"`+token+`","title":"of `+token+`"},"tools":[{"name":"`+token+`","description":"does `+token+`","inputSchema":{"type":"object"}}]`))
		}
	}
	for _, s := range sessions {
		listed := s.result(s.ask("", wire.MethodToolsList, ""))
		for principal := range w.lent {
			token := lentToken(principal)
			if got := strings.Contains(listed, token); got != s.has(token) {
				s.Errorf("%s lists %s: %t", s.name, token, got)
			}
			if !s.has(token) {
				s.reach(token, wire.MethodToolsCall, `"name":"`+token+`","arguments":{}`)
			}
		}
	}
	for principal := range w.lent {
		for _, asked := range []string{"", "prof_a", "prof_b"} {
			w.chat(t, principal, asked)
		}
	}
}

// cancels has sessions that cancel the call of another one, in vain.
func (w *world) cancels(sessions []*lawSession) {
	owners := 0
	for _, owner := range sessions {
		if !owner.profile.admits("tool_s0_0") || owners == 4 {
			continue
		}
		owners++
		before := len(w.servers[0].Seen(wire.MethodToolsCall))
		id := owner.ask("tool_s0_0", wire.MethodToolsCall, `"name":"s0__tool_s0_0","arguments":{"waits":"x"}`)
		calls := w.servers[0].Await(owner, wire.MethodToolsCall, before+1)
		call := calls[len(calls)-1]
		for _, s := range sessions {
			if s != owner {
				s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, nil)
				s.result(s.ask("", wire.MethodToolsList, ""))
			}
		}
		if call.Ctx.Err() != nil {
			owner.Errorf("the call of %s is canceled by another", owner.name)
		}
		owner.cancel(id)
		select {
		case <-call.Ctx.Done():
		case <-time.After(patience):
			owner.Errorf("%s cannot cancel its call", owner.name)
		}
	}
}

// steal tries to continue the session of a principal with a profile, and its streams, as another one.
func (w *world) steal(t *testing.T) {
	send := func(method, principal, asked, session, body string) *http.Response {
		headers := bearer(lawSecret(principal))
		headers.Set("Mcp-Session-Id", session)
		if session == "" {
			headers.Del("Mcp-Session-Id")
		}
		path := "/mcp"
		if asked != "" {
			path += "/p/" + asked
		}
		if method == http.MethodGet {
			headers.Set("Last-Event-ID", "0-0")
		}
		resp, err := peer.Do(t.Context(), http.DefaultClient, method, w.web.URL+path, []byte(body), headers)
		if err != nil {
			t.Fatal(err)
		}
		if method == http.MethodPost {
			io.Copy(io.Discard, resp.Body)
		}
		resp.Body.Close()
		return resp
	}
	for _, owner := range lawPrincipals {
		p := w.profile(owner, "")
		if p == nil {
			continue
		}
		id := send(http.MethodPost, owner, "", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`).Header.Get("Mcp-Session-Id")
		for _, thief := range lawPrincipals {
			for _, asked := range []string{"", "prof_a", "prof_b", "prof_none"} {
				want := http.StatusNotFound
				if thief == owner && asked == "" {
					want = http.StatusOK
				}
				if got := send(http.MethodPost, thief, asked, id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`).StatusCode; got != want {
					t.Errorf("%s at %q continues the session of %s: %d, want %d", thief, asked, owner, got, want)
				}
				if got := send(http.MethodGet, thief, asked, id, "").StatusCode; got != want {
					t.Errorf("%s at %q resumes a stream of %s: %d, want %d", thief, asked, owner, got, want)
				}
			}
		}
		return
	}
}

// Whatever the profiles, nobody sees, calls, completes, watches, resumes or cancels what is not in its
// own, or reads of it in an error, a log message or a notification.
func TestProfilesLaw(t *testing.T) {
	seeds, share := 2, 6 // of the sessions one of so many is tried: what they try on each other grows with the square
	if os.Getenv("MCPBRIDGE_LONG") != "" {
		seeds, share = 12, 3
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel() // it mostly waits
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, r)
			var sessions []*lawSession
			for _, principal := range slices.Concat(lawPrincipals, slices.Sorted(maps.Keys(lawClaimed))) {
				for _, asked := range []string{"", "prof_a", "prof_b", "prof_c", "prof_d", "prof_none"} {
					if r.IntN(share) == 0 {
						w.chat(t, principal, asked)
					}
					for _, carrier := range []string{"http", "sse", "ws", "stdio"} {
						for _, modern := range []bool{false, true} {
							if modern && carrier == "sse" || carrier == "stdio" && lawClaimed[principal] != nil || r.IntN(share) > 0 {
								continue
							}
							if s := w.join(t, carrier, modern, principal, asked); s != nil {
								s.check()
								sessions = append(sessions, s)
							}
						}
					}
				}
			}
			w.tasks(sessions)
			w.cancels(sessions)
			w.grow(sessions)
			w.lends(t, sessions)
			w.steal(t)
			w.operate(t)
		})
	}
}

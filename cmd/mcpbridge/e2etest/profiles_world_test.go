package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// lawToken matches a token: it stands for one thing of one server, and is in its name or URI, in its
// description, and in whatever the server says of it. Nobody may receive the token of what is not in its
// profile, nor the name of another profile.
var lawToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:tool|prompt|res|tmpl|srv)_s\d_\d|(?:prof|lent)_[a-z]+`)
})

// lawPrincipals are the holders of tokens.
var lawPrincipals = []string{"ann", "bob", "cid", "dan", "eve", "fay"}

// lawClaimed are those with access tokens, and the groups that these say that they are of.
var lawClaimed = map[string][]string{"iss#gil": {"one", "two"}, "iss#hal": {"three"}}

// lawIssuer accepts the access tokens.
type lawIssuer struct{}

func (lawIssuer) Authenticate(_ context.Context, c *auth.Credentials) (*auth.Identity, error) {
	name := strings.TrimPrefix(c.Token, lawSecret(""))
	if lawClaimed[name] == nil {
		return nil, nil
	}
	claims, err := json.Marshal(map[string]any{"sub": name, "groups": lawClaimed[name]})
	return &auth.Identity{Principal: bridge.Principal{Name: name}, Claims: string(claims), Credential: "law"}, err
}

func (lawIssuer) Admits(credential string) bool { return credential == "law" }
func (lawIssuer) Several() bool                 { return true }

func lawSecret(principal string) string { return "the-token-of-" + principal }

// world is a front for callers with profiles, and the servers behind it.
type world struct {
	*front
	stack    *stack.Stack
	servers  []*lawServer
	profiles []lawProfile
	config   string
	model    lawModel
	lent     map[string]bool // the principals whose client lends a tool
}

// lentToken returns the token of the tool that a principal's client lends.
func lentToken(principal string) string { return "lent_" + strings.TrimPrefix(principal, "iss#") }

// lawProfile is a profile and what it should mean.
type lawProfile struct {
	name       string
	principals []string
	groups     []string // patterns of the claim
	servers    []string
	kinds      map[string][2][]string // include and exclude by "tools", "prompts", "resources"
	readOnly   bool
}

// newLawProfile makes a profile, and its text in a config.
func newLawProfile(r *rand.Rand, name string) (p lawProfile, text string) {
	p = lawProfile{name: name, kinds: map[string][2][]string{}}
	var members []string
	add := func(key string, patterns []string) {
		if len(patterns) > 0 {
			members = append(members, `"`+key+`":["`+strings.Join(patterns, `","`)+`"]`)
		}
	}
	p.principals, p.servers = some(r, "ann", "b*", "?i?", "*a*", "e?e", "iss#*"), some(r, "s0", "s[12]", "s2*")
	add("principals", p.principals)
	if r.IntN(3) == 0 {
		p.groups = some(r, "one", "t*", "*e")
	}
	if len(p.groups) > 0 {
		members = append(members, `"claims":{"groups":["`+strings.Join(p.groups, `","`)+`"]}`)
	}
	add("servers", p.servers)
	for _, kind := range []struct {
		key      string
		patterns []string
	}{
		{"tools", []string{"*tool_s0_*", "*tool_s1_[01]", "*_2", "*tool_s?_0"}},
		{"prompts", []string{"*prompt_s0_*", "*_1", "*prompt_s?_0"}},
		{"resources", []string{"res://res_s0_?", "res://*_1", "tmpl://tmpl_s1_0/*", "tmpl://*"}},
	} {
		include, exclude := some(r, kind.patterns...), some(r, kind.patterns...)
		p.kinds[kind.key] = [2][]string{include, exclude}
		outer := members
		members = nil
		add("include", include)
		add("exclude", exclude)
		if len(members) > 0 {
			outer = append(outer, `"`+kind.key+`":{`+strings.Join(members, ",")+`}`)
		}
		members = outer
	}
	if p.readOnly = r.IntN(4) == 0; p.readOnly {
		members = append(members, `"annotations":{"readOnlyHint":true}`)
	}
	return p, `"` + name + `":{` + strings.Join(members, ",") + `}`
}

// some returns some of the patterns.
func some(r *rand.Rand, patterns ...string) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(string) bool { return r.IntN(3) > 0 })
}

// fits matches as patterns should.
func fits(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		p = strings.NewReplacer(`\*`, ".*", `\?`, ".", `\[`, "[", `\]`, "]").Replace(regexp.QuoteMeta(p))
		return regexp.MustCompile("^" + p + "$").MatchString(name)
	})
}

// admits reports whether the profile has what a token stands for.
func (p *lawProfile) admits(token string) bool {
	if strings.HasPrefix(token, "prof_") {
		return token == p.name
	}
	kind, rest, _ := strings.Cut(token, "_")
	server, number, _ := strings.Cut(rest, "_")
	if kind == "lent" {
		server = web.LentTools
	}
	if len(p.servers) > 0 && !fits(p.servers, server) {
		return false
	}
	name, lists := server+"__"+token, p.kinds["tools"]
	switch kind {
	case "srv":
		return true
	case "lent":
		name = token
		if p.readOnly {
			return false
		}
	case "prompt":
		lists = p.kinds["prompts"]
	case "res":
		name, lists = "res://"+token, p.kinds["resources"]
	case "tmpl":
		name, lists = "tmpl://"+token+"/{id}", p.kinds["resources"]
	}
	if kind == "tool" && p.readOnly && number != "0" {
		return false
	}
	return (len(lists[0]) == 0 || fits(lists[0], name)) && !fits(lists[1], name)
}

// claimed reports whether the profile needs no claims, or a principal has them.
func (p *lawProfile) claimed(principal string) bool {
	return len(p.groups) == 0 || slices.ContainsFunc(lawClaimed[principal], func(group string) bool { return fits(p.groups, group) })
}

// profile returns the profile that a caller should have; nil means none.
func (w *world) profile(principal, asked string) *lawProfile {
	for i := range w.profiles {
		p := &w.profiles[i]
		if (len(p.principals) == 0 || fits(p.principals, principal)) && p.claimed(principal) && (asked == "" || asked == p.name) {
			return p
		}
	}
	return nil
}

// newWorld makes a world.
func newWorld(t *testing.T, r *rand.Rand) *world {
	w := &world{lent: map[string]bool{}}
	var servers, profiles, tokens []string
	for i := range []int{1, 3, 3}[r.IntN(3)] {
		s := newLawServer(fmt.Sprint("s", i))
		w.servers = append(w.servers, s)
		sharing := []string{"shared", "identity", "session"}[r.IntN(3)]
		servers = append(servers, fmt.Sprintf(`"s%d":{"url":%q,"sharing":%q,"prefix":"s%d__"}`, i, s.Serve(t, nil)+"/mcp", sharing, i))
	}
	for _, name := range []string{"prof_a", "prof_b", "prof_c", "prof_d"} {
		p, text := newLawProfile(r, name)
		w.profiles, profiles = append(w.profiles, p), append(profiles, text)
	}
	for _, name := range lawPrincipals {
		tokens = append(tokens, fmt.Sprintf("%q:%q", name, lawSecret(name)))
	}
	w.config = fmt.Sprintf(`{"lending":true,"settle":"1m","mcpServers":{%s},`+"\n"+`"profiles":{%s},`+"\n"+`"tokens":{%s}}`, strings.Join(servers, ","), strings.Join(profiles, ",\n"), strings.Join(tokens, ","))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.config)
		}
	})
	cfg, err := config.Loader{}.Parse("mcpbridge.json", []byte(w.config))
	if err != nil {
		t.Fatalf("%v in\n%s", err, w.config)
	}
	pool := stack.NewPool()
	if w.stack, err = stack.New(cfg, stack.Options{Pool: pool}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.stack.Close()
		pool.Close()
	})
	w.front = newFrontWith(t, w.stack, mcpserver.Options{
		Access:    mcpserver.Access{Tokens: cfg.Tokens, Auth: auth.Any{lawIssuer{}}},
		Protected: w.serveModel(), Lend: pool.Lending().Join,
	})
	return w
}

// lawTool returns the definition of a tool; only the first of a server reads.
func lawTool(server string, n int) string {
	return fmt.Sprintf(`{"name":"tool_%s_%d","description":"does tool_%[1]s_%[2]d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":%t}}`, server, n, n == 0)
}

// lawServer is a server, and the streams on which clients of the modern era wait for its notifications.
type lawServer struct {
	*peer.Server
	streams map[*peer.Call]bool
}

// listen acknowledges a stream, which stays open until its client ends it.
func (s *lawServer) listen(c *peer.Call) {
	c.Say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(c.ID) +
		`},"notifications":` + string(wire.Lookup(c.Params.Raw, "notifications")) + `}}`)
	s.Update(func() { s.streams[c] = true })
	<-c.Ctx.Done()
	s.Update(func() { delete(s.streams, c) })
}

// tell sends a notification to all clients, whatever they watch.
func (s *lawServer) tell(method, members string) {
	s.Announce(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + members + `}}`)
	var streams []*peer.Call
	s.Read(func() { streams = slices.Collect(maps.Keys(s.streams)) })
	for _, c := range streams {
		c.Say(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + peer.Members(members, `"_meta":{"io.modelcontextprotocol/subscriptionId":`+string(c.ID)+`}`) + `}}`)
	}
}

// newLawServer returns a server that says tokens whenever it can.
func newLawServer(name string) *lawServer {
	s := &lawServer{peer.NewServer(""), map[*peer.Call]bool{}}
	s.Capabilities = `"prompts":{},"resources":{"subscribe":true},"completions":{},"logging":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`
	s.Tools = strings.Join([]string{lawTool(name, 0), lawTool(name, 1), lawTool(name, 2)}, ",")
	info := `"capabilities":{"tools":{"listChanged":true},` + s.Capabilities + `},"instructions":"ask srv_` + name + `_0",`
	s.Before = func(c *peer.Call) bool {
		switch c.Method {
		case wire.MethodInitialize:
			c.Reply(info + `"protocolVersion":"2025-11-25","serverInfo":{"name":"x","version":"1"}`)
		case wire.MethodDiscover:
			c.Reply(info + `"ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"}}`)
		default:
			return false
		}
		return true
	}
	items := func(member, format string) string {
		var all []string
		for i := range 3 {
			all = append(all, fmt.Sprintf(format, name, i))
		}
		return `"ttlMs":0,"cacheScope":"private","` + member + `":[` + strings.Join(all, ",") + `]`
	}
	s.Take = func(c *peer.Call) {
		of := lawToken().FindString(string(c.Params.Raw))
		switch c.Method {
		case wire.MethodPromptsList:
			c.Reply(items("prompts", `{"name":"prompt_%s_%d"}`))
		case wire.MethodResourcesList:
			c.Reply(items("resources", `{"uri":"res://res_%s_%d","name":"r"}`))
		case wire.MethodTemplatesList:
			c.Reply(items("resourceTemplates", `{"uriTemplate":"tmpl://tmpl_%s_%d/{id}","name":"t"}`))
		case wire.MethodPromptsGet:
			c.Reply(`"messages":[{"role":"user","content":{"type":"text","text":"` + of + `"}}]`)
		case wire.MethodResourcesRead:
			c.Reply(`"ttlMs":0,"cacheScope":"private","contents":[{"uri":"x:y","text":"` + of + `"}]`)
		case wire.MethodListen:
			s.listen(c)
		case wire.MethodComplete:
			c.Reply(`"completion":{"values":["` + of + `"]}`)
		case wire.MethodTasksGet, wire.MethodTasksCancel:
			id, _ := c.Params.Text(wire.TaskID)
			c.Reply(wireTask(id, "working", c.Modern))
		case wire.MethodToolsCall:
			c.Say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"in ` + of + `"}}`)
			if c.Params.Get(wire.Task) != nil {
				c.Reply(`"task":{` + wireTask("task-of-"+c.Argument("who"), "working", c.Modern) + `}`)
				return
			}
			if c.Argument("waits") != "" {
				<-c.Ctx.Done()
			}
			c.Reply(`"content":[{"type":"text","text":"` + of + `"}]`)
		default:
			c.Reply("")
		}
	}
	return s
}

package e2etest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// mirrored is a tool with arguments that are repeated in headers (SEP-2243).
const mirrored = `{"name":"mirrored","inputSchema":{"type":"object","properties":{` +
	`"text":{"type":"string","x-mcp-header":"Text"},` +
	`"n":{"type":"integer","x-mcp-header":"N"},` +
	`"on":{"type":"boolean","x-mcp-header":"on"},` +
	`"method":{"type":"string","x-mcp-header":"Method"},` +
	`"any":true,"deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deeper"}}},` +
	`"plain":{"type":"string"}}}}`

// prefixes are a bridge of one server and a bridge of two.
var prefixes = []struct {
	prefix  string
	members func(bridge.Source) []bridge.Member
}{
	{"", func(s bridge.Source) []bridge.Member { return []bridge.Member{{Name: "up", Source: s}} }},
	{"up__", func(s bridge.Source) []bridge.Member {
		return []bridge.Member{{Name: "other", Source: sourcetest.NewFake()}, {Name: "up", Source: s}}
	}},
}

// taskCarriers are the carriers on which tasks are tested.
var taskCarriers = upCarriers[:2]

// newToolServer returns a server with these tools that speaks an era, or dual.
func newToolServer(era, tools string) *peer.Server {
	s := peer.NewServer(strings.TrimPrefix(era, "dual"))
	s.Tools = tools
	return s
}

func upHTTP(t testing.TB, s *peer.Server) mcpclient.Config {
	return mcpclient.Config{URL: s.Serve(t, nil) + "/mcp", Transport: mcpclient.HTTP}
}

// postCall posts a tools/call of the modern era with headers besides the required ones.
func postCall(t *testing.T, url, tool, arguments string, headers http.Header) (status int, m wire.Message) {
	t.Helper()
	all := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool}}
	maps.Copy(all, headers)
	params := peer.Members(`"name":`+quoted(tool)+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`, arguments)
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := peer.Do(t.Context(), web, http.MethodPost, url+"/mcp", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`}}`), all)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = wire.Split(body); err != nil {
		t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
	}
	return resp.StatusCode, m
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// A client of the modern era that sends other values in Mcp-Param headers than in its arguments
// is refused with the error that the specification demands.
func TestParamHeadersChecked(t *testing.T) {
	param := func(name string, values ...string) http.Header { return http.Header{"Mcp-Param-" + name: values} }
	for _, c := range []struct {
		name, arguments string
		headers         http.Header
		ok              bool
	}{
		{"none of them", `"arguments":{"plain":"x"}`, nil, true},
		{"no arguments", ``, nil, true},
		{"the same", `"arguments":{"text":"us-west1","n":-7,"on":true,"deep":{"er":"d"}}`, http.Header{"Mcp-Param-Text": {"us-west1"}, "Mcp-Param-N": {"-7"}, "Mcp-Param-On": {"true"}, "Mcp-Param-Deeper": {"d"}}, true},
		{"a header that is no argument's", `"arguments":{"plain":"x"}`, param("Plain", "y"), true},
		{"white space inside", `"arguments":{"text":"a b"}`, param("Text", "a b"), true},
		{"an empty string", `"arguments":{"text":""}`, param("Text", ""), true},
		{"null", `"arguments":{"text":null}`, nil, true},
		{"escapes", `"arguments":{"t\u0065xt":"us\u002dwest"}`, param("Text", "us-west"), true},
		{"encoded: not ASCII", `"arguments":{"text":"Hello, 世界"}`, param("Text", "=?base64?SGVsbG8sIOS4lueVjA==?="), true},
		{"encoded: padded", `"arguments":{"text":" padded "}`, param("Text", "=?base64?IHBhZGRlZCA=?="), true},
		{"encoded: a new line", `"arguments":{"text":"line1\nline2"}`, param("Text", "=?base64?bGluZTEKbGluZTI=?="), true},
		{"encoded: what looks so", `"arguments":{"text":"=?base64?literal?="}`, param("Text", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="), true},
		{"encoded without need", `"arguments":{"text":"us-west1"}`, param("Text", "=?base64?dXMtd2VzdDE=?="), true},
		{"a number spelled otherwise", `"arguments":{"n":42}`, param("N", "42.0"), true},
		{"a number spelled otherwise there", `"arguments":{"n":4.20e1}`, param("N", "42"), true},

		{"missing", `"arguments":{"text":"us-west1"}`, nil, false},
		{"missing, deep", `"arguments":{"deep":{"er":"x"}}`, nil, false},
		{"missing, empty", `"arguments":{"text":""}`, nil, false},
		{"another value", `"arguments":{"text":"us-west1"}`, param("Text", "us-west2"), false},
		{"another case", `"arguments":{"text":"us-west1"}`, param("Text", "US-WEST1"), false},
		{"another value, encoded", `"arguments":{"text":"us-west1"}`, param("Text", "=?base64?dXMtd2VzdDI=?="), false},
		{"another number", `"arguments":{"n":42}`, param("N", "43"), false},
		{"a number as JSON has none", `"arguments":{"n":42}`, param("N", "0x2A"), false},
		{"a number that decoders round", `"arguments":{"n":9007199254740993}`, param("N", "9007199254740992"), false},
		{"no number", `"arguments":{"n":42}`, param("N", "x"), false},
		{"another truth", `"arguments":{"on":true}`, param("On", "false"), false},
		{"a truth spelled otherwise", `"arguments":{"on":true}`, param("On", "True"), false},
		{"another type", `"arguments":{"text":{"a":1}}`, param("Text", `{"a":1}`), false},
		{"not of the argument", `"arguments":{"plain":"x"}`, param("Text", "x"), false},
		{"of null", `"arguments":{"text":null}`, param("Text", "null"), false},
		{"not of a call without arguments", ``, param("Text", "x"), false},
		{"twice", `"arguments":{"text":"a"}`, param("Text", "a", "b"), false},
		{"twice the same", `"arguments":{"text":"a"}`, param("Text", "a", "a"), false},
		{"the argument twice", `"arguments":{"text":"b","text":"a"}`, param("Text", "a"), false},
		{"the argument twice, by an escape", `"arguments":{"t\u0065xt":"b","text":"a"}`, param("Text", "a"), false},
		{"the argument in a variant", `"Arguments":{"text":"a"},"arguments":{"text":"b"}`, param("Text", "a"), false},
		{"not encoded", `"arguments":{"text":"世界"}`, param("Text", "世界"), false},
		{"not Base64", `"arguments":{"text":"a"}`, param("Text", "=?base64?!?="), false},
		{"marks in other case", `"arguments":{"text":"us-west1"}`, param("Text", "=?BASE64?dXMtd2VzdDE=?="), false},
		{"the method's header is another one", `"arguments":{"method":"tools/call"}`, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) { checkParamHeaders(t, c.arguments, c.headers, c.ok) })
	}
}

func checkParamHeaders(t *testing.T, arguments string, headers http.Header, ok bool) {
	for _, p := range prefixes {
		up := newToolServer("legacy", mirrored)
		f := newFront(t, bridge.New(bridge.Options{Settle: patience}, p.members(dial(t, upHTTP(t, up)))...))
		status, m := postCall(t, f.web.URL, p.prefix+"mirrored", arguments, headers)
		code := string(wire.Lookup(m.Error, "code"))
		switch calls := up.Seen(wire.MethodToolsCall); {
		case ok && (status != http.StatusOK || m.Result == nil || len(calls) != 1):
			t.Errorf("%s: %d %s", p.prefix, status, m.Raw)
		case !ok && (status != http.StatusBadRequest || code != "-32020" && code != "-32600" || len(calls) > 0):
			t.Errorf("%s: it was not refused: %d %s, and %d calls", p.prefix, status, m.Raw, len(calls))
		}
	}
}

// These headers count only over HTTP in the modern era.
func TestParamHeadersElsewhere(t *testing.T) {
	up := newToolServer("legacy", mirrored)
	f := newFront(t, bridge.New(bridge.Options{}, bridge.Member{Name: "up", Source: dial(t, upHTTP(t, up))}))
	for _, down := range callerCarriers {
		for _, modern := range []bool{false, true} {
			if modern && down.name == "http" {
				continue
			}
			p := newCaller(t, f, down.dial, modern, `{}`)
			if got := p.tool("mirrored", `{"text":"x"}`); !strings.Contains(got, `"content":[]`) {
				t.Errorf("%s, modern=%v: %s", down.name, modern, got)
			}
			p.Close()
		}
	}
	for _, c := range up.Seen(wire.MethodToolsCall) {
		for name := range c.Header {
			if strings.HasPrefix(name, "Mcp-Param-") {
				t.Errorf("a server of the legacy era was sent %s", name)
			}
		}
	}
}

// The standard headers may not be ambiguous either.
func TestStandardHeadersOnce(t *testing.T) {
	up := newToolServer("legacy", `{"name":"größe","inputSchema":{"type":"object"}}`)
	f := newFront(t, bridge.New(bridge.Options{}, bridge.Member{Name: "up", Source: dial(t, upHTTP(t, up))}))
	for _, c := range []struct {
		name, values string // of Mcp-Name
		headers      http.Header
		ok           bool
	}{
		{"encoded", "", http.Header{"Mcp-Name": {"=?base64?Z3LDtsOfZQ==?="}}, true},
		{"not encoded", "", http.Header{"Mcp-Name": {"größe"}}, false},
		{"two names", "", http.Header{"Mcp-Name": {"=?base64?Z3LDtsOfZQ==?=", "x"}}, false},
		{"two methods", "", http.Header{"Mcp-Name": {"=?base64?Z3LDtsOfZQ==?="}, "Mcp-Method": {"tools/call", "tools/list"}}, false},
		{"two revisions", "", http.Header{"Mcp-Name": {"=?base64?Z3LDtsOfZQ==?="}, "Mcp-Protocol-Version": {"2026-07-28", "2025-11-25"}}, false},
	} {
		status, m := postCall(t, f.web.URL, "größe", `"arguments":{}`, c.headers)
		if ok := status == http.StatusOK; ok != c.ok || !ok && (status != http.StatusBadRequest || string(wire.Lookup(m.Error, "code")) != "-32020") {
			t.Errorf("%s: %d %s", c.name, status, m.Raw)
		}
	}
}

// paramHeaders returns the Mcp-Param headers of a request, sorted.
func paramHeaders(h http.Header) string {
	var all []string
	for name, values := range h {
		if short, ok := strings.CutPrefix(name, "Mcp-Param-"); ok {
			all = append(all, short+"="+strings.Join(values, "&"))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// The bridge repeats arguments in headers for a server of the modern era, whatever the era of the
// client, and names the tool as the server does.
func TestParamHeadersMade(t *testing.T) {
	for _, c := range []struct{ arguments, want string }{
		{`{"plain":"x"}`, ``},
		{`{"text":null,"deep":{}}`, ``},
		{`{"text":"us-west1","n":-7,"on":false,"method":"m","deep":{"er":"d"},"plain":"x"}`, `Deeper=d Method=m N=-7 On=false Text=us-west1`},
		{`{"text":"Hello, 世界"}`, `Text==?base64?SGVsbG8sIOS4lueVjA==?=`},
		{`{"text":" padded "}`, `Text==?base64?IHBhZGRlZCA=?=`},
		{`{"text":"line1\nline2"}`, `Text==?base64?bGluZTEKbGluZTI=?=`},
		{`{"text":"=?base64?literal?="}`, `Text==?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=`},
		{`{"text":""}`, `Text=`},
		{`{"text":"a\r\nMcp-Method: x"}`, `Text==?base64?YQ0KTWNwLU1ldGhvZDogeA==?=`},
	} {
		for _, p := range prefixes {
			for _, era := range []string{"modern", "dual"} {
				for _, modern := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s%s/modern=%v", c.arguments, p.prefix, era, modern), func(t *testing.T) {
						up := newToolServer(era, mirrored)
						cfg := upHTTP(t, up)
						if era == "dual" && !modern {
							cfg.Era = mcpclient.Modern // a server of both eras is spoken to in its caller's
						}
						f := newFront(t, bridge.New(bridge.Options{Settle: patience}, p.members(dial(t, cfg))...))
						peer := newCaller(t, f, overWS, modern, `{}`)
						peer.result(peer.request("tools/list", "", ""))
						peer.tool(p.prefix+"mirrored", c.arguments)
						call := up.Seen(wire.MethodToolsCall)[0]
						peer.same("headers", paramHeaders(call.Header), c.want)
						peer.same("name", call.Header.Get("Mcp-Name"), "mirrored")
						peer.same("arguments", string(call.Params.Get(wire.Arguments)), c.arguments)
					})
				}
			}
		}
	}
}

// The headers of a client of the modern era are made again for the server: the tool's name is the
// server's, and unknown headers do not pass.
func TestParamHeadersMadeAnew(t *testing.T) {
	up := newToolServer("modern", mirrored)
	f := newFront(t, bridge.New(bridge.Options{Settle: patience}, prefixes[1].members(dial(t, upHTTP(t, up)))...))
	status, m := postCall(t, f.web.URL, "up__mirrored", `"arguments":{"text":"a"}`, http.Header{"Mcp-Param-Text": {"=?base64?YQ==?="}, "Mcp-Param-Secret": {"s"}})
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, m.Raw)
	}
	call := up.Seen(wire.MethodToolsCall)[0]
	if got := paramHeaders(call.Header); got != "Text=a" || call.Header.Get("Mcp-Name") != "mirrored" {
		t.Errorf("%s, of %s", got, call.Header.Get("Mcp-Name"))
	}
}

// A hidden value that the bridge fills in is repeated as well.
func TestParamHeadersHidden(t *testing.T) {
	up := newToolServer("modern", mirrored)
	value := func(string) ([]byte, bool) { return []byte(`"a"`), true }
	guard := bridge.NewGuard(dial(t, upHTTP(t, up)), bridge.GuardOptions{Hidden: []string{"text"}, SharedValue: value})
	f := newFront(t, bridge.New(bridge.Options{Settle: patience}, prefixes[1].members(guard)...))
	status, m := postCall(t, f.web.URL, "up__mirrored", `"arguments":{"plain":"x"}`, nil)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, m.Raw)
	}
	call := up.Seen(wire.MethodToolsCall)[0]
	if got := paramHeaders(call.Header); got != "Text=a" || string(call.Params.Get(wire.Arguments)) != `{"plain":"x","text":"a"}` {
		t.Errorf("%s, of %s", got, call.Params.Raw)
	}
}

// Clients of the modern era must leave out a tool with an invalid annotation and should log it;
// elsewhere the annotation has no effect.
func TestParamHeadersInvalid(t *testing.T) {
	schemas := map[string]string{
		"empty":     `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		"null":      `{"properties":{"a":{"type":"string","x-mcp-header":null}}}`,
		"space":     `{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`,
		"colon":     `{"properties":{"a":{"type":"string","x-mcp-header":"a:b"}}}`,
		"newline":   `{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`,
		"not_ascii": `{"properties":{"a":{"type":"string","x-mcp-header":"é"}}}`,
		"number":    `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		"object":    `{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`,
		"array":     `{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`,
		"no_type":   `{"properties":{"a":{"x-mcp-header":"A"}}}`,
		"same":      `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
		"same_deep": `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"A"}}}}}`,
		"items":     `{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`,
		"one_of":    `{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
		"then":      `{"if":true,"then":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`,
		"ref":       `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`,
		"root":      `{"type":"object","x-mcp-header":"A"}`,
		"beside":    `{"properties":{"any":true,"a":{"type":"number","x-mcp-header":"A"}}}`,
	}
	tools := mirrored
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		tools += `,{"name":"` + name + `","inputSchema":` + schemas[name] + `}`
	}
	for _, up := range taskCarriers {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(up.name+"-"+era, func(t *testing.T) {
				var log lockedBuffer
				s := newToolServer(era, tools)
				cfg := up.config(t, s)
				cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
				p := newCaller(t, newFront(t, bridge.New(bridge.Options{}, bridge.Member{Name: "up", Source: dial(t, cfg)})), overWS, true, `{}`)
				list := p.result(p.request("tools/list", "", ""))
				out := up.name == "http" && era == "modern"
				for name := range schemas {
					if strings.Contains(list, `"name":"`+name+`"`) == out {
						t.Errorf("%s is listed: %v", name, out)
					}
					if strings.Contains(log.String(), "tool "+name+":") != out {
						t.Errorf("%s is named in the log: %v", name, !out)
					}
				}
				if !strings.Contains(list, `"name":"mirrored"`) {
					t.Errorf("the tool beside them is missing: %s", list)
				}
				if !out {
					return
				}
				m := p.response(p.request("tools/call", `"name":"number","arguments":{"a":1}`, ""))
				if code, _ := wire.Text(wire.Lookup(m.Error, "data", "code")); code != "not_found" {
					t.Errorf("a call: %s", m.Raw)
				}
			})
		}
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

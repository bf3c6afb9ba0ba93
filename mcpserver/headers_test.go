package mcpserver_test

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/mcpserver"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// modernRequest returns a request of the modern era with these members in its params.
func modernRequest(method, members string) string {
	if members != "" {
		members += ","
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + members + modernMeta + `}}`
}

// answer is the response to a POST.
type answer struct {
	status int
	body   string
	code   int
	data   struct {
		Supported []string
		Requested string
	}
}

func (h *host) post(body string, headers ...string) (a answer) {
	h.Helper()
	resp := h.request("POST", "/mcp", body, headers...)
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	a.status, a.body = resp.StatusCode, string(b)
	var m struct {
		Error struct {
			Code int
			Data json.RawMessage
		}
	}
	if json.Unmarshal(b, &m) == nil {
		a.code = m.Error.Code
		json.Unmarshal(m.Error.Data, &a.data)
	}
	return a
}

// The headers of a modern request must agree with its body.
func TestModernHeaders(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	call := modernRequest("tools/call", `"name":"echo","arguments":{"a":1}`)
	const version, method, name = "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"
	for _, c := range []struct {
		what         string
		body         string
		headers      []string
		status, code int
	}{
		{"all is well", call, []string{version, "2026-07-28", method, "tools/call", name, "echo"}, 200, 0},
		{"a name in base64", call, []string{version, "2026-07-28", method, "tools/call", name, "=?base64?ZWNobw==?="}, 200, 0},
		{"no version", call, []string{method, "tools/call", name, "echo"}, 400, -32020},
		{"another version", call, []string{version, "2025-11-25", method, "tools/call", name, "echo"}, 400, -32020},
		{"no method", call, []string{version, "2026-07-28", name, "echo"}, 400, -32020},
		{"another method", call, []string{version, "2026-07-28", method, "tools/list", name, "echo"}, 400, -32020},
		{"a method in other case", call, []string{version, "2026-07-28", method, "Tools/call", name, "echo"}, 400, -32020},
		{"no name", call, []string{version, "2026-07-28", method, "tools/call"}, 400, -32020},
		{"another name", call, []string{version, "2026-07-28", method, "tools/call", name, "fail"}, 400, -32020},
		{"a name in bad base64", call, []string{version, "2026-07-28", method, "tools/call", name, "=?base64?!!?="}, 400, -32020},
		{"a name that needs none", modernRequest("tools/list", ""), []string{version, "2026-07-28", method, "tools/list"}, 200, 0},
		{"an unknown version", strings.Replace(call, "2026-07-28", "2099-01-01", 1), []string{version, "2099-01-01", method, "tools/call", name, "echo"}, 400, -32022},
		{"no capabilities", strings.Replace(call, `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1), []string{version, "2026-07-28", method, "tools/call", name, "echo"}, 400, -32602},
		{"capabilities of another type", strings.Replace(call, `Capabilities":{}`, `Capabilities":[]`, 1), []string{version, "2026-07-28", method, "tools/call", name, "echo"}, 400, -32602},
		{"no _meta", strings.Replace(call, ","+modernMeta, "", 1), []string{version, "2026-07-28", method, "tools/call", name, "echo"}, 400, -32602},
		{"a version of another type", strings.Replace(call, `"2026-07-28"`, "7", 1), []string{version, "2026-07-28", method, "tools/call", name, "echo"}, 400, -32602},
		{"an unknown tool", strings.Replace(call, `"echo"`, `"nope"`, 1), []string{version, "2026-07-28", method, "tools/call", name, "nope"}, 400, -32602},
	} {
		t.Run(c.what, func(t *testing.T) {
			h.T = t
			a := h.post(c.body, c.headers...)
			if a.status != c.status || a.code != c.code {
				t.Errorf("HTTP %d: %s\nwant HTTP %d and code %d", a.status, a.body, c.status, c.code)
			}
			if a.code == -32022 && (a.data.Requested != "2099-01-01" || !slices.Contains(a.data.Supported, "2026-07-28")) {
				t.Errorf("the versions are not in %s", a.body)
			}
		})
	}
}

// Methods of other eras, and of no era, are not found.
func TestModernMethods(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	for _, method := range []string{
		"no/such", "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result",
		"sampling/createMessage", "elicitation/create", "roots/list", "notifications/cancelled",
	} {
		members, name := "", ""
		if strings.HasPrefix(method, "resources/") {
			members, name = `"uri":"file:///a"`, "file:///a"
		}
		a := h.post(modernRequest(method, members), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name)
		if a.status != 404 || a.code != -32601 {
			t.Errorf("%s: HTTP %d: %s\nwant HTTP 404 and code -32601", method, a.status, a.body)
		}
	}
}

// The modern era has neither GET streams nor sessions nor batches.
func TestModernHasOnlyPosts(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		if got := h.status(method, "/mcp", "", "Mcp-Protocol-Version", "2026-07-28"); got != 405 {
			t.Errorf("%s: HTTP %d, want 405", method, got)
		}
	}
	request := modernRequest("tools/list", "")
	for _, headers := range [][]string{{}, {"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}} {
		if a := h.post("["+request+"]", headers...); a.status != 400 {
			t.Errorf("a batch: HTTP %d: %s", a.status, a.body)
		}
	}
	p := h.stdio()
	p.send("[" + request + "]")
	p.fails(p.next(), -32600, "null")
	p.send(request)
	if got := p.next(); !strings.Contains(got, `"tools":[`) {
		t.Errorf("after a batch: %.200s", got)
	}
}

// On a connection there are no headers; the other rules hold.
func TestModernOnConnections(t *testing.T) {
	for _, c := range carriers {
		if c.name == "http" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			p := c.dial(newHost(t, mcpserver.Options{}))
			for _, try := range []struct {
				msg  string
				code int
			}{
				{strings.Replace(modernRequest("tools/list", ""), "2026-07-28", "2099-01-01", 1), -32022},
				{strings.Replace(modernRequest("tools/list", ""), `Capabilities":{}`, `Capabilities":1`, 1), -32602},
				{modernRequest("ping", ""), -32601},
				{modernRequest("initialize", ""), -32601},
				{modernRequest("tools/call", `"name":"nope"`), -32602},
				{modernRequest("tools/call", `"name":7`), -32602},
			} {
				p.send(try.msg)
				p.fails(p.next(), try.code, "1")
			}
		})
	}
}

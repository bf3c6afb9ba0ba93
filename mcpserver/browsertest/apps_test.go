package browsertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pageVar names the file with the page of an MCP Apps server, which has nameVar as its name.
const (
	pageVar = "BROWSERTEST_PAGE"
	nameVar = "BROWSERTEST_NAME"
)

// TestApps: the console shows the pages of two MCP Apps servers that have the same names for everything. Each is
// made with the SDK of MCP Apps, calls its own server, and reaches nothing else, whether the frame around it has an
// origin of its own or is loaded from another one than the console's.
func TestApps(t *testing.T) {
	script, err := os.ReadFile(bundle(t, "testdata/app.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	browser := startBrowser(t)
	servers, files := object{}, map[string]string{}
	for _, name := range []string{"one", "two"} {
		files[name] = filepath.Join(t.TempDir(), "page.html")
		servers[name] = object{"command": os.Args[0], "env": object{upstreamMode: "apps", pageVar: files[name], nameVar: name}, "trust": name == "one"}
	}
	asked := map[string][]string{"one": {"one__change"}, "two": {"two__refresh", "two__change"}} // what two says of its tools does not count
	for kind, host := range map[string]string{"opaque": "", "second origin": "localhost"} {
		t.Run(kind, func(t *testing.T) {
			listen, origin, console := "127.0.0.1:0", "null", object{}
			if host != "" {
				listen = freeAddress(t)
				origin = "http://" + host + listen[strings.Index(listen, ":"):]
				console["sandboxOrigin"] = origin
			}
			bridge := serve(t, build(t), object{"listen": listen, "mcpServers": servers, "tokens": object{"operator": "0123456789abcdef"}, "console": console})
			for name, other := range map[string]string{"one": "two", "two": "one"} {
				page := fmt.Sprintf("<!doctype html><title>%s</title><body><script>const bridge = %q, other = %q;</script><script type=\"module\">%s</script>",
					name, bridge.url, other+"__refresh", strings.ReplaceAll(string(script), "</script", `<\/script`))
				if err := os.WriteFile(files[name], []byte(page), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tab := browser.console(t, bridge)
			tab.see(t, `document.querySelector(".live.on")`)
			for _, name := range []string{"one", "two"} {
				tab.showApp(t, bridge, name, origin, asked[name]...)
			}
		})
	}
}

// freeAddress returns an address of loopback that nothing listens on.
func freeAddress(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// showApp calls the tool of a server that has a page, in a frame of an origin, allows the calls that it asks for, and
// closes the page again.
func (b tab) showApp(t *testing.T, bridge *running, name, origin string, asked ...string) {
	b.open(t, bridge, url.Values{"view": {"tools"}, "name": {name + "__show"}})
	b.do(t, `globalThis.from = new Set(), addEventListener("message", (event) => from.add(event.origin))`)
	b.see(t, `document.querySelector(".run button.primary")`)
	b.do(t, `document.querySelector(".run button.primary").click()`)
	const question = `document.querySelector(".app [role=alert]")`
	for _, tool := range asked {
		b.see(t, question+`?.textContent.includes("call `+tool+` with") && `+question+`.querySelector("button:enabled").textContent === "Allow"`)
		b.do(t, question+`.querySelector("button").click()`)
	}
	b.see(t, `document.querySelector(".app")?.textContent.includes("It says: done")`)
	b.see(t, `document.querySelector(".app iframe").height > 0`)
	b.see(t, fmt.Sprintf(`from.size === 1 && from.has(%q)`, origin))
	for _, want := range []string{"input {}", "result " + name + " shows", "fresh " + name + " refreshs", "change reached " + name + " changes",
		"model's refused: tool think is not for pages", "other's refused: " + name + " has no tool",
		"host refused", "frame refused", "storage refused", "cookie refused", "bridge refused", "open refused", "socket refused", "image refused", "script refused",
		"evaluation refused", "top refused", "popup refused"} {
		b.see(t, fmt.Sprintf(`document.querySelector(".app").textContent.includes(%q)`, want))
	}
	b.picture(t, "app-"+name)
	b.do(t, `document.querySelector(".app .label button").click()`)
	b.see(t, `!document.querySelector(".app iframe") && document.querySelector(".app").textContent.includes("It says: it ends")`)
}

// serveApps is an MCP Apps server.
func serveApps(in io.Reader, out io.Writer) {
	name := os.Getenv(nameVar)
	const uri = "ui://app/main.html"
	tool := func(name string, ui, annotations object) object {
		return object{"name": name, "description": "It " + name + "s.", "inputSchema": object{"type": "object"}, "_meta": object{"ui": ui}, "annotations": annotations}
	}
	reads := object{"readOnlyHint": true}
	messages, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion, Name, URI string }
		}
		if messages.Decode(&m) != nil {
			return
		}
		var result object
		switch m.Method {
		case "initialize":
			result = object{"protocolVersion": m.Params.ProtocolVersion, "capabilities": object{"tools": object{}, "resources": object{}}, "serverInfo": object{"name": name, "version": "1"}}
		case "tools/list":
			result = object{"tools": []object{
				tool("show", object{"resourceUri": uri}, reads),
				tool("refresh", object{"visibility": []string{"app"}}, reads),
				tool("think", object{"visibility": []string{"model"}}, reads),
				tool("change", object{}, object{}),
			}}
		case "tools/call":
			result = object{"content": []object{{"type": "text", "text": name + " " + m.Params.Name + "s"}}}
		case "resources/list":
			result = object{"resources": []object{{"uri": uri, "name": "main", "mimeType": "text/html;profile=mcp-app"}}}
		case "resources/read":
			page, err := os.ReadFile(os.Getenv(pageVar))
			if err != nil {
				panic(err)
			}
			result = object{"contents": []object{{"uri": m.Params.URI, "mimeType": "text/html;profile=mcp-app", "text": string(page)}}}
		}
		if m.ID != nil {
			answers.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
		}
	}
}

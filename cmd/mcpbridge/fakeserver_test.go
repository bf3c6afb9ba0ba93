package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// fakeServer is the command fakeserver of the scripts: an MCP server over stdio that can also
// behave as no library would.
func fakeServer() {
	f := fakeMCP{}
	flag.StringVar(&f.name, "name", "fake", "what the server calls itself")
	tools := flag.String("tools", "echo", "names of its tools, with commas between")
	flag.StringVar(&f.answer, "answer", "echo", "what calls are answered with: echo, env, pid, image, failure, refusal, nothing, or with what a model says (sample), asked with the arguments")
	flag.BoolVar(&f.mute, "mute", false, "never answer initialize")
	flag.BoolVar(&f.modern, "modern", false, "answer server/discover as a server of revision 2026-07-28")
	flag.StringVar(&f.fatal, "fatal", "", "exit with 1 when this method is called")
	once := flag.String("once", "", "crash only while there is no such file, and make it then")
	await := flag.String("await", "", "answer nothing before another server tells that it runs, in this named pipe")
	tell := flag.String("tell", "", "tell that this server runs, in this named pipe")
	flag.BoolVar(&f.roots, "roots", false, "ask the client for its roots before the tools are listed")
	flag.BoolVar(&f.library, "library", false, "have prompts and resources")
	flag.IntVar(&f.refuse, "refuse", 0, "answer requests for all but calls with an error of this code")
	readOnly := flag.Bool("read-only", false, "mark the tools as read-only")
	member := flag.String("member", "", "a member of each tool's definition, with a comma behind it")
	schema := flag.String("schema", `{"type":"object"}`, "the input schema of its tools")
	say := flag.String("say", "", "write this to standard error first")
	crash := flag.String("crash", "", "write this to standard error and exit with 1")
	flag.Parse()
	if *say != "" {
		fmt.Fprintln(os.Stderr, *say)
	}
	if *crash != "" && isFirst(*once) {
		fmt.Fprintln(os.Stderr, *crash)
		os.Exit(1)
	}
	s := peer.NewServer("")
	var definitions []string
	for name := range strings.SplitSeq(*tools, ",") {
		if name == "" {
			continue
		}
		annotations := ""
		if *readOnly {
			annotations = `"annotations":{"readOnlyHint":true},`
		}
		definitions = append(definitions, fmt.Sprintf(`{%s"description":%s,"inputSchema":%s,"name":%s}`, *member+annotations, wire.AppendString(nil, "Does "+strings.Map(printable, name)+"."), *schema, wire.AppendString(nil, name)))
	}
	s.Tools, s.Before, s.Take = strings.Join(definitions, ","), f.before, f.take
	open(*tell, os.O_WRONLY)
	open(*await, os.O_RDONLY)
	s.ServeLines(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
	// A program with the race detector takes a second to exit.
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
}

// printable drops a control character.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// open opens a named pipe, which waits for the other end; "" is none.
func open(pipe string, flag int) {
	if pipe == "" {
		return
	}
	f, err := os.OpenFile(pipe, flag, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	f.Close()
}

// isFirst reports whether there was no such file, and makes it. Without a name it is
// always the first time.
func isFirst(path string) bool {
	if path == "" {
		return true
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.Close()
	}
	return err == nil
}

type fakeMCP struct {
	name, answer string
	mute, modern bool
	roots        bool
	library      bool
	refuse       int
	fatal        string
}

// before answers the handshake.
func (f *fakeMCP) before(c *peer.Call) bool {
	info := object{"name": f.name, "version": "1.0"}
	switch {
	case c.Method == f.fatal && c.Kind() == wire.Request:
		fmt.Fprintln(os.Stderr, "cannot stand "+c.Method)
		os.Exit(1)
	case c.Method == wire.MethodDiscover && !f.modern:
		c.Fail(wire.MethodNotFound, "method not found", "")
	case c.Method == wire.MethodDiscover:
		reply(c, object{"supportedVersions": []string{"2026-07-28"}, "capabilities": object{"tools": object{}},
			"_meta": object{"io.modelcontextprotocol/serverInfo": info}})
	case c.Method == wire.MethodInitialize && !f.mute:
		capabilities := object{"tools": object{}}
		if f.library {
			capabilities["prompts"], capabilities["resources"] = object{}, object{}
		}
		reply(c, object{"protocolVersion": "2025-06-18", "capabilities": capabilities,
			"serverInfo": info, "instructions": "Instructions of " + f.name + "."})
	case c.Method == wire.MethodToolsList && f.roots:
		c.Ask(peer.Question{Method: wire.MethodRootsList, Params: "{}"})
		return false
	case c.Method != wire.MethodInitialize:
		return false
	}
	return true
}

// take answers calls, and other requests with an empty result.
func (f *fakeMCP) take(c *peer.Call) {
	switch {
	case f.library && lend(c):
	case f.answer == "nothing" && c.Method == wire.MethodToolsCall:
	case f.refuse != 0 && c.Method != wire.MethodToolsCall:
		c.Fail(f.refuse, "cannot answer "+c.Method, "")
	case c.Method != wire.MethodToolsCall:
		c.Reply("")
	case f.answer == "refusal":
		c.Fail(wire.InvalidParams, "no such table: "+c.Name(), "")
	case f.answer == "sample":
		f.sample(c)
	default:
		reply(c, f.call(c.Name(), c.Params.Get(wire.Arguments)))
	}
}

// sample answers with what a model says to the arguments.
func (f *fakeMCP) sample(c *peer.Call) {
	arguments := string(c.Params.Get(wire.Arguments))
	switch said := wire.Lookup(c.Params.Get(wire.InputResponses), "model"); {
	case said != nil:
		reply(c, object{"content": []object{text(string(said))}})
	case c.Modern:
		c.Reply(`"resultType":"input_required","inputRequests":{"model":{"method":"sampling/createMessage","params":` + arguments + `}}`)
	default:
		if answer := c.Ask(peer.Question{Method: wire.MethodCreateMessage, Params: arguments}); answer != nil {
			reply(c, object{"content": []object{text(answer[0])}})
		}
	}
}

type object = map[string]any

func reply(c *peer.Call, result object) {
	b, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	c.Reply(string(b[1 : len(b)-1]))
}

func text(s string) object { return object{"type": "text", "text": s} }

// call is the result of a tool.
func (f *fakeMCP) call(tool string, arguments []byte) object {
	switch f.answer {
	case "env":
		return object{"content": []object{text(strings.Join(os.Environ(), "\n"))}}
	case "pid":
		return object{"content": []object{text(fmt.Sprint(os.Getpid()))}}
	case "image": // "AAAA" are three bytes
		return object{"content": []object{text("a picture"), {"type": "image", "mimeType": "image/png", "data": "AAAA"}}}
	case "failure":
		return object{"content": []object{text(tool + " failed")}, "isError": true}
	}
	return object{"content": []object{text(f.name + " " + tool + " " + string(arguments))}}
}

// lend answers requests for prompts and resources.
func lend(c *peer.Call) bool {
	switch {
	case c.Method == wire.MethodPromptsList:
		reply(c, object{"prompts": []object{
			{"name": "review", "description": "Reviews code.\nWith care.", "arguments": []object{{"name": "language", "description": "of the code", "required": true}, {"name": "json", "description": "for " + flag.Lookup("name").Value.String()}}},
			{"name": "talk", "title": "A talk"}}})
	case c.Method == wire.MethodPromptsGet && c.Name() == "talk":
		reply(c, object{"messages": []object{{"role": "user", "content": text("Hello!")}, {"role": "assistant", "content": text("Good day.")}}})
	case c.Method == wire.MethodPromptsGet:
		reply(c, object{"messages": []object{{"role": "user", "content": text("Review " + string(c.Params.Get(wire.Arguments)))}}})
	case c.Method == wire.MethodResourcesList:
		reply(c, object{"resources": []object{{"uri": "notes://tea", "name": "tea", "description": "What tea there is."}, {"uri": "notes://dot", "name": "A dot"}}})
	case c.Method == wire.MethodTemplatesList:
		reply(c, object{"resourceTemplates": []object{{"uriTemplate": "notes://{name}", "name": "A note"}}})
	case c.Method == wire.MethodResourcesRead && c.URI() == "notes://dot":
		reply(c, object{"contents": []object{{"uri": c.URI(), "mimeType": "image/png", "blob": "AAEC/w=="}}})
	case c.Method == wire.MethodResourcesRead && c.URI() == "notes://tea":
		reply(c, object{"contents": []object{{"uri": c.URI(), "mimeType": "text/plain", "text": "green\n"}}})
	case c.Method == wire.MethodResourcesRead:
		c.Fail(-32002, "no such note", "")
	default:
		return false
	}
	return true
}

package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
)

// fakeServer is the command fakeserver of the scripts: an MCP server over stdio, written
// by hand so that it can also behave as no library would.
func fakeServer() {
	f := fakeMCP{out: json.NewEncoder(os.Stdout)}
	flag.StringVar(&f.name, "name", "fake", "what the server calls itself")
	tools := flag.String("tools", "echo", "names of its tools, with commas between")
	flag.StringVar(&f.answer, "answer", "echo", "what calls are answered with: echo, env, image, failure, refusal, nothing, or with what a model says (sample), asked with the arguments")
	flag.BoolVar(&f.mute, "mute", false, "never answer initialize")
	flag.BoolVar(&f.modern, "modern", false, "answer server/discover as a server of revision 2026-07-28")
	flag.StringVar(&f.fatal, "fatal", "", "exit with 1 when this method is called")
	once := flag.String("once", "", "crash only while there is no such file, and make it then")
	await := flag.String("await", "", "answer nothing before another one tells that it runs, in this named pipe")
	tell := flag.String("tell", "", "tell that this one runs, in this named pipe")
	flag.BoolVar(&f.readOnly, "read-only", false, "say that the tools only read")
	schema := flag.String("schema", `{"type":"object"}`, "the input schema of its tools")
	crash := flag.String("crash", "", "write this to standard error and exit with 1")
	flag.Parse()
	if *crash != "" && isFirst(*once) {
		fmt.Fprintln(os.Stderr, *crash)
		os.Exit(1)
	}
	if *tools != "" {
		f.tools = strings.Split(*tools, ",")
	}
	f.schema = json.RawMessage(*schema)
	open(*tell, os.O_WRONLY)
	open(*await, os.O_RDONLY)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f.take(lines.Bytes())
	}
	// A program with the race detector takes a second to exit.
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
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
	tools        []string
	schema       json.RawMessage
	mute, modern bool
	readOnly     bool
	fatal        string
	out          *json.Encoder
	sampling     json.RawMessage // the id of the call that waits for a model
}

type object = map[string]any

// take answers one message.
func (f *fakeMCP) take(line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name           string
			Arguments      json.RawMessage
			InputResponses map[string]json.RawMessage
			Meta           map[string]any `json:"_meta"`
		}
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal(line, &m); err != nil || m.ID == nil {
		return
	}
	if m.Method == "" { // what a model says
		f.out.Encode(object{"jsonrpc": "2.0", "id": f.sampling, "result": object{"content": []object{text(string(m.Result) + string(m.Error))}}})
		return
	}
	if m.Method == f.fatal {
		fmt.Fprintln(os.Stderr, "cannot stand "+m.Method)
		os.Exit(1)
	}
	var result any
	switch m.Method {
	case "server/discover":
		if !f.modern {
			f.out.Encode(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32601, "message": "method not found"}})
			return
		}
		result = object{"resultType": "complete", "supportedVersions": []string{"2026-07-28"}, "capabilities": object{"tools": object{}},
			"_meta": object{"io.modelcontextprotocol/serverInfo": object{"name": f.name, "version": "1.0"}}}
	case "initialize":
		if f.mute {
			return
		}
		result = object{"protocolVersion": "2025-06-18", "capabilities": object{"tools": object{}},
			"serverInfo": object{"name": f.name, "version": "1.0"}, "instructions": "Instructions of " + f.name + "."}
	case "tools/list":
		list := []object{}
		for _, name := range f.tools {
			tool := object{"name": name, "description": "Does " + name + ".", "inputSchema": f.schema}
			if f.readOnly {
				tool["annotations"] = object{"readOnlyHint": true}
			}
			list = append(list, tool)
		}
		result = object{"tools": list}
	case "tools/call":
		if f.answer == "nothing" {
			return
		}
		if f.answer == "refusal" {
			f.out.Encode(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32602, "message": "no such table: " + m.Params.Name}})
			return
		}
		modern := m.Params.Meta["io.modelcontextprotocol/protocolVersion"] != nil
		switch said := m.Params.InputResponses["model"]; {
		case f.answer != "sample":
			result = f.call(m.Params.Name, m.Params.Arguments)
		case said != nil:
			result = object{"resultType": "complete", "content": []object{text(string(said))}}
		case modern:
			result = object{"resultType": "input_required", "inputRequests": object{"model": object{"method": "sampling/createMessage", "params": m.Params.Arguments}}}
		default:
			f.sampling = m.ID
			f.out.Encode(object{"jsonrpc": "2.0", "id": "model", "method": "sampling/createMessage", "params": m.Params.Arguments})
			return
		}
	default:
		result = object{}
	}
	f.out.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

func text(s string) object { return object{"type": "text", "text": s} }

// call is the result of a tool.
func (f *fakeMCP) call(tool string, arguments json.RawMessage) object {
	switch f.answer {
	case "env":
		return object{"content": []object{text(strings.Join(os.Environ(), "\n"))}}
	case "image": // "AAAA" are three bytes
		return object{"content": []object{text("a picture"), {"type": "image", "mimeType": "image/png", "data": "AAAA"}}}
	case "failure":
		return object{"content": []object{text(tool + " failed")}, "isError": true}
	}
	return object{"content": []object{text(f.name + " " + tool + " " + string(arguments))}}
}

package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// offering is a session of a server with prompts, resources and completions.
type offering struct {
	bridge.Session
	silent bool              // it does not answer
	err    *toolformat.Error // of all lists
}

func (o offering) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	if o.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if o.err != nil {
		return nil, o.err
	}
	items := map[bridge.ListKind][]bridge.Item{
		bridge.Prompts: {
			{Key: "travel", Raw: []byte(`{"name":"travel","arguments":[{"name":"city"},{"name":"country"}]}`)},
			{Key: "tidy", Raw: []byte(`{"name":"tidy"}`)},
			{Key: "t\x1b[2J", Raw: []byte(`{"name":"t"}`)},
		},
		bridge.Resources: {{Key: "note://one", Raw: []byte(`{"uri":"note://one","name":"one"}`)}},
		bridge.Templates: {{Key: "town://{country}/map/{city}.svg"}, {Key: "any://{+city}"}, {Key: "odd://{?city}"}, {Key: "odd://{a}{city}"}, {Key: "odd://{"}},
	}
	return bridge.NewList(kind, items[kind]), nil
}

func (o offering) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodResourcesRead {
		return bridge.Result([]byte(`{"contents":[{"uri":"u","text":"read `+req.Target+`"}]}`), nil)
	}
	if o.silent || req.Method != wire.MethodComplete || string(wire.Lookup(req.Params.Raw, "argument", "name")) != `"city"` {
		return bridge.Failed(toolformat.Errorf(toolformat.Invalid, "no"))
	}
	if ref := string(wire.Lookup(req.Params.Raw, "ref")); strings.Contains(ref, "resource") {
		value := `"` + strings.Trim(string(wire.Lookup(req.Params.Raw, "argument", "value")), `"`) + "/a b" + strings.Trim(string(wire.Lookup(req.Params.Raw, "context", "arguments", "country")), `"`) + `"`
		return bridge.Result([]byte(`{"completion":{"values":[`+value+`,"other"]}}`), nil)
	}
	values := `"Rome","Roma\u202e","Rome New","Oslo"`
	if string(wire.Lookup(req.Params.Raw, "context", "arguments", "country")) == `"NO"` {
		values = `"Oslo"`
	}
	return bridge.Result([]byte(`{"completion":{"values":[`+values+`]}}`), nil)
}

func TestChatComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("notes/deep", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes/a.txt", "nonsense.md", ".hidden", "two words"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &chat{tools: offering{}}
	for line, want := range map[string]string{
		"/prompt ":                             "travel tidy",
		"/prompt tr":                           "travel",
		"/prompt travel ":                      "city= country=",
		"/prompt travel ci":                    "city=",
		"/prompt travel city=":                 "city=Rome city=Oslo", // what cannot be typed as a word is left out
		"/prompt travel city=R":                "city=Rome",
		"/prompt travel country=NO city=":      "city=Oslo",
		"/prompt travel city=Rome ":            "country=",
		"/prompt travel country=":              "",
		"/prompt nothing ":                     "",
		"what does @tow":                       "@town://",
		"what does @town://":                   "", // the server has no values for the country
		"what does @town://NO/map/O":           "@town://NO/map/O%2Fa%20bNO.svg",
		"what does @town://NO/map/O.svg":       "",
		"what does @any://O":                   "@any://O/a%20b",
		"what does @odd":                       "",
		"what does @no":                        "@note://one @nonsense.md @notes/",
		"what does @notes/":                    "@notes/a.txt @notes/deep/",
		"what does @.h":                        "@.hidden",
		"what does @./nons":                    "@./nonsense.md",
		"what does @" + t.TempDir() + "/none/": "",
		"what":                                 "",
		"/prom":                                "/prompt",
	} {
		if got := strings.Join(c.complete(line), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	all := c.complete("@")
	if !slices.Contains(all, "@nonsense.md") || slices.Contains(all, "@.hidden") || slices.Contains(all, "@two words") {
		t.Errorf("@: %q", all)
	}
}

// What @ names is read if it is of a template.
func TestChatTemplates(t *testing.T) {
	t.Chdir(t.TempDir())
	c := &chat{tools: offering{}}
	for name, want := range map[string]bool{
		"note://one": true, "one": true, "town://NO/map/Oslo.svg": true, "any://a/b": true,
		"town://NO/map/Oslo": false, "town://NO/map/Oslo.svg/x": false, "any://": false, "odd://x": false, "Oslo": false, "C:/x": false,
	} {
		parts, err := c.attachment(t.Context(), name)
		if err != nil || len(parts) == 1 != want || want && !strings.Contains(parts[0].Text, "read ") {
			t.Errorf("%s: %+v, %v", name, parts, err)
		}
	}
}

// A file is attached, too, where the only server has no list of resources. Another error of that list is told.
func TestChatFileWithoutResources(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &chat{tools: offering{err: toolformat.Errorf(toolformat.Unsupported, "method not found")}}
	if parts, err := c.attachment(t.Context(), "notes.txt"); err != nil || len(parts) != 1 {
		t.Errorf("%+v, %v", parts, err)
	}
	c = &chat{tools: offering{err: toolformat.Errorf(toolformat.Unavailable, "it is away")}}
	if _, err := c.attachment(t.Context(), "notes.txt"); err == nil {
		t.Error("no error")
	}
}

// A server that does not answer blocks a key for no longer than a moment.
func TestChatCompleteSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begun := &chat{tools: offering{silent: true}}, time.Now()
		if got := c.complete("/prompt t"); len(got) != 0 {
			t.Errorf("%q", got)
		}
		if took := time.Since(begun); took != completeTime {
			t.Errorf("it took %v", took)
		}
	})
}

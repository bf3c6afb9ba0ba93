package providers

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

func testSet() *ToolSet {
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"filter[id]":{"type":"string"}},"required":["a"]}`)
	return NewToolSet([]toolformat.Tool{
		{Name: "add", Description: "first", InputSchema: schema},
		{Name: "files.write", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "add", Description: "second"},
	})
}

func TestToolSet(t *testing.T) {
	s := testSet()
	if s.Len() != 3 || s.Find("add").Description != "first" || s.Find("sub") != nil || len(s.Tools()) != 3 {
		t.Errorf("%d tools, %+v", s.Len(), s.Find("add"))
	}
	for _, f := range toolformat.Formats() {
		if first := s.Encoded(f); s.Encoded(f) != first {
			t.Errorf("%s: encoded twice", f)
		}
		wire := s.WireName(f, "files.write")
		if own := s.OwnName(f, wire); own != "files.write" {
			t.Errorf("%s: %s is %s", f, wire, own)
		}
		if own := s.OwnName(f, "made up"); own != "made up" {
			t.Errorf("%s: a name that is not offered became %s", f, own)
		}
	}
	if got := s.WireName(toolformat.FormatAnthropic, "files.write"); got == "files.write" {
		t.Errorf("Anthropic is given the name %s", got)
	}
	if got, again := s.WireName(toolformat.FormatAnthropic, "gone tool"), s.WireName(toolformat.FormatAnthropic, "gone tool"); got != again || got == "gone tool" {
		t.Errorf("the name of a tool that is gone: %s, %s", got, again)
	}
}

func TestNoToolSet(t *testing.T) {
	var s *ToolSet
	if s.Len() != 0 || s.Tools() != nil || s.Find("x") != nil || len(s.Encoded(toolformat.FormatOllama).Tools) != 0 {
		t.Error("a nil set has tools")
	}
	if s.OwnName(toolformat.FormatOllama, "x") != "x" || s.WireName(toolformat.FormatOllama, "x") != "x" {
		t.Error("a nil set has names")
	}
	if _, err := s.Arguments(toolformat.FormatOllama, &Call{Name: "x"}); err == nil {
		t.Error("a nil set takes arguments")
	}
	if n := testing.AllocsPerRun(10, func() { s.OwnName(toolformat.FormatOllama, "x") }); n > 2 {
		t.Errorf("a nil set is encoded for each name: %v allocations", n)
	}
}

func TestArguments(t *testing.T) {
	s := testSet()
	spelled := `{"a":"5","filter[id]":"x"}`
	for _, c := range []struct{ args, want string }{
		{`{"a": 5}`, `{"a": 5}`},
		{`"{\"a\":5}"`, `{"a":5}`},
		{spelled, `{"a":5,"filter[id]":"x"}`},
	} {
		got, err := s.Arguments(toolformat.FormatOpenAI, &Call{Name: "add", Arguments: json.RawMessage(c.args)})
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", c.args, got, err)
		}
	}
	var check *toolformat.CheckError
	if _, err := s.Arguments(toolformat.FormatOpenAI, &Call{Name: "add", Arguments: json.RawMessage(`{}`)}); !errors.As(err, &check) {
		t.Errorf("what is required is missing: %v", err)
	}
	var e *toolformat.Error
	if _, err := s.Arguments(toolformat.FormatOpenAI, &Call{Name: "sub"}); !errors.As(err, &e) || e.Code != toolformat.NotFound {
		t.Errorf("no such tool: %v", err)
	}
}

func TestToolSetAtOnce(t *testing.T) {
	s := testSet()
	var wg sync.WaitGroup
	for range 4 {
		for _, f := range toolformat.Formats() {
			wg.Go(func() {
				if s.OwnName(f, s.WireName(f, "add")) != "add" {
					t.Errorf("%s: another name", f)
				}
			})
		}
	}
	wg.Wait()
}

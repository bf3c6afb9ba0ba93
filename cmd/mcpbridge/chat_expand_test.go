package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A long result is shown in pieces on a terminal, whole to a program.
func TestExpand(t *testing.T) {
	var rows []string
	for i := range 500 {
		rows = append(rows, fmt.Sprint("row ", i))
	}
	call := &providers.Call{ID: "1", Name: "list", Arguments: []byte("{}")}
	result := &providers.Result{ID: "1", Name: "list", Content: toolformat.TextResult(strings.Join(rows, "\n"), false)}
	var transcript providers.Transcript
	transcript.Messages = []providers.Message{
		providers.UserText("go"),
		{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartCall, Call: call}}},
		{Role: providers.RoleTool, Parts: []providers.Part{{Type: providers.PartResult, Result: result}}},
	}
	for _, terminal := range []bool{true, false} {
		var out bytes.Buffer
		show := newPlainConsole(streams{in: strings.NewReader(""), out: &out, err: &out}, false)
		if terminal {
			show.asks = &approver{}
		}
		c := &chat{console: show, conversation: providers.NewConversation(providers.Candidate{}).Load(&transcript)}
		var got []string
		for _, argument := range []string{"", "more", "more", "more"} {
			out.Reset()
			err := c.expand(t.Context(), argument)
			shown := strings.Split(strings.TrimSpace(out.String()), "\n")
			got = append(got, fmt.Sprint(len(shown), " ", shown[len(shown)-1], " ", err))
		}
		want := "201 … 301 more rows: /expand more <nil>|201 … 101 more rows: /expand more <nil>|101 row 499 <nil>|1  nothing more is left to show"
		if !terminal {
			want = "501 row 499 <nil>" + strings.Repeat("|1  nothing more is left to show", 3)
		}
		if all := strings.Join(got, "|"); all != want {
			t.Errorf("%s\nwant %s", all, want)
		}
	}
}

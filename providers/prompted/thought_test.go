package prompted

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// lone is a reply whose thinking was begun by the prompt.
const lone = "I could write " + addCall + "\nbut no.\n</think>\n\nHello.\n<tool_call>" + paris + "</tool_call>"

// A prompt may end with the beginning of the thinking, so that the reply has its end alone.
func TestLoneEnd(t *testing.T) {
	const thinks, says = "I could write \nbut no.\n", "\n\nHello.\n"
	parted := fmt.Sprintf("thinking %q\ntext %q\n", thinks, says)
	for _, c := range []struct {
		name, model, reply string
		stop               providers.Stop
		parts, events      string
	}{
		{"a model that is known for it", "deepseek-r1:8b", lone, providers.StopEnd,
			fmt.Sprintf("thinking %q\ntext %q\n", lone[:strings.Index(lone, "</think>")], says) + "call call_1_0 " + inParis,
			"thinking_delta " + lone[:strings.Index(lone, "</think>")] + "\ntext_delta " + says + "\narguments_delta call_1_0 " + inParis},
		{"another model", "m", lone, providers.StopEnd, parted + "call call_1_1 " + inParis,
			"text_delta I could write \nthinking_delta \nbut no.\n\ntext_delta " + says + "\narguments_delta call_1_1 " + inParis},
		{"no mark", "deepseek-r1:8b", "Hello.\n<tool_call>" + paris + "</tool_call>", providers.StopEnd,
			`text "Hello.\n"` + "\ncall call_1_0 " + inParis,
			"thinking_delta Hello.\n<tool_call>" + paris + "</tool_call>\ntext_delta Hello.\n\narguments_delta call_1_0 " + inParis},
		{"cut", "deepseek-r1:8b", "Well. " + addCall, providers.StopLength, fmt.Sprintf("thinking %q", "Well. "+addCall), "thinking_delta Well. " + addCall},
		{"both marks", "QwQ", " \n<think>hm</think>\nHello.", providers.StopEnd, "thinking \"hm\"\ntext \"\\nHello.\"", "thinking_delta hm\ntext_delta \nHello."},
		{"the other mark", "Qwen3-4B-Thinking-2507", "<seed:think>hm</seed:think>Hello.", providers.StopEnd, "thinking \"hm\"\ntext \"Hello.\"", "thinking_delta hm\ntext_delta Hello."},
		{"half a mark", "qwq", "<th", providers.StopEnd, "text \"<th\"", "thinking_delta <th\ntext_delta <th"},
		{"no thought", "m", "</think>\n\nHello.", providers.StopEnd, "text \"\\n\\nHello.\"", "text_delta \n\nHello."},
		{"Command-A", "m", "hm<|END_THINKING|>Hello.", providers.StopEnd, "thinking \"hm\"\ntext \"Hello.\"", "text_delta hmHello."},
		{"words about the mark", "m", "Write </think> behind it, or `</think>`.", providers.StopEnd, "text \"Write </think> behind it, or `</think>`.\"", "text_delta Write </think> behind it, or `</think>`."},
		{"a mark behind a call", "m", addCall + "\nSo: <think> begins one.\nIt ends.", providers.StopEnd, "call call_1_0 add {}\ntext \"\\nSo: <think> begins one.\\nIt ends.\"",
			"arguments_delta call_1_0 add {}\ntext_delta \nSo: <think> begins one.\nIt ends."},
		{"a second mark", "m", "<think>hm</think>So:\n</think>\n", providers.StopEnd, "thinking \"hm\"\ntext \"So:\\n</think>\\n\"", "thinking_delta hm\ntext_delta So:\n</think>\n"},
	} {
		for _, silent := range []bool{false, true} {
			req := request()
			req.Model = c.model
			turn, heard, err := ask(t, &behind{reply: c.reply, silent: silent, turn: providers.Turn{Stop: c.stop}}, req)
			if err != nil {
				t.Fatal(err)
			}
			want(t, c.name+": parts", parts(&turn.Message), c.parts)
			if !silent {
				want(t, c.name+": events", heard, c.events)
			}
		}
	}
}

// Where the thinking comes apart from the text, all text is the answer.
func TestThoughtApart(t *testing.T) {
	thinks := providers.Part{Type: providers.PartThinking, Text: "hm"}
	for _, silent := range []bool{false, true} {
		b := &behind{reply: "Hello.\n</think>\n", silent: silent, turn: providers.Turn{Stop: providers.StopEnd}}
		b.turn.Message.Parts = []providers.Part{thinks}
		if !silent {
			b.first = providers.Event{Type: providers.EventThinkingDelta, Text: "hm"}
		}
		req := request()
		req.Model = "deepseek-r1"
		turn, _, err := ask(t, b, req)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "parts", parts(&turn.Message), "thinking \"hm\"\ntext \"Hello.\\n</think>\\n\"")
	}
}

// The replies of a model show how its next ones begin.
func TestHabits(t *testing.T) {
	p := New(nil, Options{})
	for _, c := range []struct{ model, reply, first string }{
		{"m", "hm</think>Hello.", "text_delta"},
		{"m", "hm</think>Hello.", "thinking_delta"},
		{"m", "Hello.", "thinking_delta"},
		{"m", "Hello.", "text_delta"},
		{"qwq", "Hello.", "thinking_delta"},
		{"qwq", "Hello.", "text_delta"},
	} {
		p.inner = &behind{reply: c.reply, turn: providers.Turn{Stop: providers.StopEnd}}
		req := request()
		req.Model = c.model
		var first providers.EventType
		turn, err := p.Turn(t.Context(), req, func(ev providers.Event) {
			if first == "" {
				first = ev.Type
			}
		})
		if err != nil || turn.Message.Text() != "Hello." {
			t.Errorf("%s: %v, %v", c.reply, turn, err)
		}
		want(t, c.model+": "+c.reply, first, c.first)
	}
	for i := range 3 * maxHabits {
		p.habits.learn(fmt.Sprint(i), true)
	}
	if len(p.habits.all) > maxHabits {
		t.Errorf("%d models are remembered", len(p.habits.all))
	}
}

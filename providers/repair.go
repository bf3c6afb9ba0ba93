package providers

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// repair returns messages as a history that every provider takes: a message with calls is
// followed by one message with one result for each call, in call order, and results appear
// nowhere else. A call without a result is canceled, unless it waits in the last round.
// Results without a call and empty messages are removed. The argument is not changed.
func repair(messages []Message, waiting []string) []Message {
	good := make([]Message, 0, len(messages)+1)
	for i := 0; i < len(messages); {
		m := messages[i]
		i++
		if m.Role == RoleTool || m.empty() {
			continue
		}
		good = append(good, m)
		calls := m.Calls()
		if m.Role != RoleAssistant || len(calls) == 0 {
			continue
		}
		var results []*Result
		for ; i < len(messages) && messages[i].Role == RoleTool; i++ {
			results = append(results, messages[i].results()...)
		}
		open := waiting
		if i < len(messages) {
			open = nil // the conversation continued without them
		}
		if answers := pair(calls, results, open); len(answers.Parts) > 0 {
			good = append(good, answers)
		}
	}
	return good
}

// pair returns the message with the results of calls, with the names of the calls: not every
// API has names in results.
func pair(calls []*Call, results []*Result, waiting []string) Message {
	m := Message{Role: RoleTool, Parts: make([]Part, 0, len(calls))}
	byID := make(map[string][]*Result, len(results))
	for _, r := range results {
		byID[r.ID] = append(byID[r.ID], r)
	}
	for _, c := range calls {
		if same := byID[c.ID]; len(same) > 0 {
			m.Parts = append(m.Parts, resultPart(c, same[0].Content))
			byID[c.ID] = same[1:]
		} else if !slices.Contains(waiting, c.ID) {
			m.Parts = append(m.Parts, resultPart(c, failed(canceledText)))
		}
	}
	return m
}

// resultPart returns the part with the result of a call.
func resultPart(c *Call, r *toolformat.Result) Part {
	return Part{Type: PartResult, Result: &Result{ID: c.ID, Name: c.Name, Content: r}}
}

// results returns the results in a message, in order.
func (m *Message) results() []*Result {
	var all []*Result
	for i := range m.Parts {
		if r := m.Parts[i].Result; r != nil {
			all = append(all, r)
		}
	}
	return all
}

// empty reports whether a message has nothing to send.
func (m *Message) empty() bool {
	return len(m.Parts) == 0 && (m.Raw == nil || len(m.Raw.Items) == 0)
}

// textOnly returns what is kept of a turn whose calls do not run: its text. Calls would want
// results, and incomplete raw items would be refused.
func textOnly(m *Message) Message {
	text := Message{Role: RoleAssistant}
	for _, p := range m.Parts {
		if p.Type == PartText {
			text.AddText(PartText, p.Text)
		}
	}
	return text
}

// validate checks messages that were read from JSON.
func validate(messages []Message) error {
	for i := range messages {
		m := &messages[i]
		if m.Role != RoleUser && m.Role != RoleAssistant && m.Role != RoleTool {
			return fmt.Errorf("messages/%d: unknown role %.40q: expected user, assistant or tool", i, m.Role)
		}
		for j := range m.Parts {
			if err := m.Parts[j].validate(m.Role); err != nil {
				return fmt.Errorf("messages/%d/parts/%d: %w", i, j, err)
			}
		}
	}
	return nil
}

func (p *Part) validate(role Role) error {
	switch p.Type {
	case PartText, PartThinking, PartImage, PartFile:
		if p.Call != nil || p.Result != nil {
			return fmt.Errorf("a part of type %s must not have a call or a result", p.Type)
		}
	case PartCall:
		if p.Call == nil || p.Result != nil || role != RoleAssistant {
			return fmt.Errorf("expected a call, in a message of the assistant")
		}
	case PartResult:
		if p.Result == nil || p.Call != nil || role != RoleTool {
			return fmt.Errorf("expected a result, in a message of the role tool")
		}
	default:
		return fmt.Errorf("unknown type %.40q: expected text, thinking, tool_call, tool_result, image or file", p.Type)
	}
	return nil
}

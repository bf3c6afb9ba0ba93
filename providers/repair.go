package providers

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// repair makes of messages a history that every provider takes: behind a message with
// calls stands one message with one result a call, in call order, and nowhere else are
// results. A call without a result is cancelled, but for those that wait in the last
// round; a result without a call and a message without content are left out.
// The messages themselves are not changed.
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
			open = nil // it was gone on without them
		}
		if answers := pair(calls, results, open); len(answers.Parts) > 0 {
			good = append(good, answers)
		}
	}
	return good
}

// pair gives each call its result, by the call's name: not every API says it.
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
			m.Parts = append(m.Parts, resultPart(c, failed(wordCanceled)))
		}
	}
	return m
}

// resultPart is a call's result in a message.
func resultPart(c *Call, r *toolformat.Result) Part {
	return Part{Type: PartResult, Result: &Result{ID: c.ID, Name: c.Name, Content: r}}
}

// results are the results of a message, in their order.
func (m *Message) results() []*Result {
	var all []*Result
	for i := range m.Parts {
		if r := m.Parts[i].Result; r != nil {
			all = append(all, r)
		}
	}
	return all
}

// empty reports whether nothing of a message could be sent.
func (m *Message) empty() bool {
	return len(m.Parts) == 0 && (m.Raw == nil || len(m.Raw.Items) == 0)
}

// spoken is what is left of a turn that must not go on: its text. Its calls are never
// answered, and raw items that are not whole would be refused.
func spoken(m *Message) Message {
	said := Message{Role: RoleAssistant}
	for _, p := range m.Parts {
		if p.Type == PartText && p.Text != "" {
			said.Parts = append(said.Parts, Part{Type: PartText, Text: p.Text})
		}
	}
	return said
}

// validate says what in messages that were read is none of ours.
func validate(messages []Message) error {
	for i := range messages {
		m := &messages[i]
		if m.Role != RoleUser && m.Role != RoleAssistant && m.Role != RoleTool {
			return fmt.Errorf("messages/%d: role %.40q is unknown: expected user, assistant or tool", i, m.Role)
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
			return fmt.Errorf("a part of type %s has a call or a result", p.Type)
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
		return fmt.Errorf("type %.40q is unknown: expected text, thinking, tool_call, tool_result, image or file", p.Type)
	}
	return nil
}

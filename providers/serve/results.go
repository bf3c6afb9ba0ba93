package serve

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// hasRun reports whether a message has calls that have run here: their results are in it, too.
func hasRun(m *providers.Message) bool {
	return m.Role == providers.RoleAssistant && slices.ContainsFunc(m.Parts, func(p providers.Part) bool { return p.Result != nil })
}

// withoutRuns returns the parts of a message but for the calls that have run here.
func withoutRuns(parts []providers.Part) (others []providers.Part) {
	ran := map[string]bool{}
	for _, p := range parts {
		if p.Result != nil {
			ran[p.Result.ID] = true
		}
	}
	for _, p := range parts {
		if p.Result == nil && (p.Call == nil || !ran[p.Call.ID]) {
			others = append(others, p)
		}
	}
	return others
}

// unfold makes of each message with calls that have run here those that it was made of. What its provider has signed
// goes back as that has sent it, without them.
func unfold(messages []providers.Message) []providers.Message {
	all := make([]providers.Message, 0, len(messages))
	for _, m := range messages {
		switch {
		case !hasRun(&m):
			all = append(all, m)
		case m.Raw != nil:
			m.Parts = withoutRuns(m.Parts)
			all = append(all, m)
		default:
			var own []providers.Message
			for _, p := range m.Parts {
				role := providers.RoleAssistant
				if p.Result != nil {
					role = providers.RoleTool
				}
				own = endpoint.AddPart(own, role, p)
			}
			all = append(all, own...)
		}
	}
	return all
}

// arrange returns messages with the results of calls right behind their calls, where providers expect them. A result
// without a call is an error, as is a second one.
func arrange(messages []providers.Message) ([]providers.Message, error) {
	var others []providers.Message // all but those with results
	var results [][]providers.Part // of the calls of each of others
	open := map[string][]int{}     // the indexes in others of calls without a result, by the id of the call
	for _, m := range unfold(messages) {
		if m.Role != providers.RoleTool {
			for _, c := range m.Calls() {
				open[c.ID] = append(open[c.ID], len(others))
			}
			others, results = append(others, m), append(results, nil)
			continue
		}
		for _, p := range m.Parts {
			id := p.Result.ID
			last := len(open[id]) - 1
			if last < 0 {
				return nil, fmt.Errorf("the result of a call %.100q: expected one for each call of the messages before it, by the call's id", id)
			}
			at := open[id][last]
			open[id], results[at] = open[id][:last], append(results[at], p)
		}
	}
	arranged := make([]providers.Message, 0, len(messages))
	for i, m := range others {
		arranged = append(arranged, m)
		if results[i] != nil {
			arranged = append(arranged, providers.Message{Role: providers.RoleTool, Parts: results[i]})
		}
	}
	return arranged, nil
}

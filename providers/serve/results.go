package serve

import (
	"fmt"

	"github.com/mcpbridge/mcpbridge/providers"
)

// arrange returns messages with the results of calls right behind their calls, where providers expect them. A result
// without a call is an error, as is a second one.
func arrange(messages []providers.Message) ([]providers.Message, error) {
	var others []providers.Message // all but those with results
	var results [][]providers.Part // of the calls of each of others
	open := map[string][]int{}     // the indexes in others of calls without a result, by the id of the call
	for _, m := range messages {
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

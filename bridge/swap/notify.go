package swap

import (
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// notifier decides which notifications reach the caller: those of the current generation. While a
// session moves, both generations may be sessions of one server, which notifies each of them. Those of
// the second are held until it is the current one, and passed on then unless the first has had the same:
// nothing is lost, and only what arrives in that very moment may come twice.
type notifier struct {
	mu   sync.Mutex  // guards the fields below
	from *generation // the current one
	to   *generation // the second one; nil when the session is not moving
	had  map[notification]int
	held []notification
}

type notification struct{ method, params string }

// maxHeld bounds the notifications of each generation that are remembered during a move. More of the
// second pass at once.
const maxHeld = 1000

// set makes a generation the first one of a session.
func (n *notifier) set(g *generation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.from = g
}

// begin begins a move to a generation.
func (n *notifier) begin(to *generation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to, n.had, n.held = to, map[notification]int{}, nil
}

// end makes the second generation the current one, and passes on what was held and what has changed with
// the move. pass is called with n.mu held, so that what follows comes later.
func (n *notifier) end(changed []string, pass func(method string, params []byte)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	told := map[string]bool{}
	for _, method := range changed {
		n.held = append(n.held, notification{method: method})
	}
	for _, note := range n.held {
		lists := isListChange(note.method)
		switch {
		case lists && told[note.method]:
		case !lists && n.had[note] > 0:
			n.had[note]--
		default:
			told[note.method] = true
			pass(note.method, []byte(note.params))
		}
	}
	n.from, n.to, n.had, n.held = n.to, nil, nil, nil
}

// admits reports whether a notification of a generation passes at once.
func (n *notifier) admits(g *generation, method string, params []byte) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case g == n.from || n.from == nil:
		if n.to != nil && len(n.had) < maxHeld {
			n.had[notification{method, string(params)}]++
		}
		return true
	case g != n.to:
		return false
	case len(n.held) == maxHeld:
		return true
	}
	n.held = append(n.held, notification{method, string(params)})
	return false
}

// pass passes a notification to the caller.
func (s *session) pass(method string, params []byte) {
	if s.caller.Notify != nil {
		if len(params) == 0 {
			params = nil
		}
		s.caller.Notify(method, params)
	}
}

// notify passes on a notification of a generation if it is one of the current one.
func (s *session) notify(g *generation, method string, params []byte) {
	if s.notifier.admits(g, method, params) {
		s.pass(method, params)
	}
}

func isListChange(method string) bool {
	for kind := range bridge.ListKinds {
		if kind.Changed() == method {
			return true
		}
	}
	return false
}

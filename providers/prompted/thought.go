package prompted

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/providers"
)

// openThoughts are parts of the names of models whose prompt ends with the beginning of their thinking, so
// that a reply has its end alone. See plainName.
var openThoughts = []string{"deepseek-r1", "deepseek-v4", "qwq", "-thinking-", "-think-", "qwen3-5", "qwen3-6", "minimax-m2", "nemotron-3"}

// loneEnds are the ends of thinking that prompts begin. openThoughts write the first.
var loneEnds = []string{"</think>", "<|END_THINKING|>"}

// habits are the models that have done otherwise than openThoughts says: it depends on the server and on
// settings, too, whether a prompt begins the thinking.
type habits struct {
	mu  sync.Mutex
	all map[string]bool
}

// maxHabits bounds the models that are remembered.
const maxHabits = 1000

// begins reports whether replies of a model are expected to begin within thinking.
func (h *habits) begins(model string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if begins, ok := h.all[model]; ok {
		return begins
	}
	plain := plainName(model)
	return slices.ContainsFunc(openThoughts, func(part string) bool { return strings.Contains(plain, part) })
}

// learn remembers how a reply of a model began.
func (h *habits) learn(model string, begins bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil || len(h.all) >= maxHabits {
		h.all = map[string]bool{}
	}
	h.all[model] = begins
}

// expectThought makes the text begin within thinking, up to the first of loneEnds.
func (s *scanner) expectThought() { s.mode, s.thought, s.expected = inThought, loneEnds[0], true }

// hasThought says that the thinking comes apart from the text.
func (s *scanner) hasThought() {
	if s.expected && s.emitting == "" {
		s.mode = inText
	}
	s.expected, s.thinks = false, true
}

// isUnclosed reports whether all text so far is thinking, only because that was expected.
func (s *scanner) isUnclosed() bool { return s.expected && s.mode == inThought }

// loneEnd returns the length of the end of a thought at the start of w that the text did not begin, or 0.
// partly reports that w may begin with one. In words about the mark it follows a space.
func (s *scanner) loneEnd(w []byte) (n int, partly bool) {
	if s.thinks || s.place.last == ' ' {
		return 0, false
	}
	end, partly := prefixOf(w, loneEnds)
	return len(end), partly
}

// scanThought emits thinking, in which there are no calls. It reports false if more text is
// needed.
func (s *scanner) scanThought(final bool) bool {
	if s.expected && s.emitting == "" { // the model may begin it all the same
		i := prefixLen(s.held, whiteSpace)
		in, partly := openerOf(s.held[i:], thoughts)
		switch {
		case in != nil:
			s.discard(i + len(in.open))
			s.thought, s.expected, s.thinks = in.ends[0], false, true
			return true
		case partly && !final:
			return false
		}
	}
	n, end := bytes.Index(s.held, []byte(s.thought)), len(s.thought)
	if n < 0 {
		n, end = len(s.held), 0
		if !final {
			for n = max(0, n-len(s.thought)+1); !strings.HasPrefix(s.thought, string(s.held[n:])); n++ {
			}
		}
	}
	s.emitText(providers.PartThinking, n)
	if end > 0 {
		s.leaveThought(end)
	}
	return end > 0
}

// endThought drops the end of thinking, of n bytes, that the text did not begin.
func (s *scanner) endThought(n int) {
	s.out(piece{kind: providers.PartThinking, ends: true})
	s.leaveThought(n)
	s.called, s.emitting = false, providers.PartThinking
}

func (s *scanner) leaveThought(end int) {
	s.discard(end)
	s.mode, s.place, s.thinks = inText, place{}, true
}

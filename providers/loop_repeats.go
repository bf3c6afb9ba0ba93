package providers

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// repeats counts calls of the same tool with the same arguments and the same result. Any new
// call or result resets all counts.
type repeats struct {
	seen  map[string]tally
	epoch int // the number of new calls and results so far
}

// A tally is how often something was seen in an epoch.
type tally struct{ epoch, times int }

// count counts the calls of a round, equal ones once: the model saw no result in between. It
// adds a note for the model to a call that had the same result in limit rounds, and reports
// whether one had it again after that.
func (r *repeats) count(calls []*roundCall, limit int) (repeating bool) {
	counted := make(map[string]bool, len(calls))
	for _, c := range calls {
		if c.overLimit || c.earlier || c.result == nil {
			continue
		}
		key := identity(c)
		if counted[key] {
			continue
		}
		counted[key] = true
		t, known := r.seen[key]
		if !known {
			r.epoch++
		}
		if t.epoch != r.epoch {
			t = tally{epoch: r.epoch}
		}
		t.times++
		r.seen[key] = t
		switch {
		case t.times > limit:
			repeating = true
		case t.times == limit:
			c.addNote(fmt.Sprintf("[this call had this same result %d times: repeating it is useless; do something else or answer]", limit))
		}
	}
	return repeating
}

// identity returns a key for a call and its result, independent of the order of arguments.
func identity(c *roundCall) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", c.call.Name)
	h.Write(canonical(c.call.Arguments))
	h.Write([]byte{'\n'})
	h.Write(c.result.JSON)
	return string(h.Sum(nil))
}

// canonical returns JSON with the keys of its objects in order; numbers stay as written.
func canonical(raw json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}

package providers

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// repeats counts calls that bring nothing new: of the same tool, with the same arguments
// and the same result. Anything new begins all counts again.
type repeats struct {
	seen map[string]tally
	news int // how often something was new
}

// A tally is how often something was seen since something else was new.
type tally struct{ since, times int }

// count counts the calls of a round, those that are alike once, since the model has seen
// no result in between. It tells the model of those that have had their result in so many
// rounds; true: one had it once more after that.
func (r *repeats) count(jobs []*job, most int) (stuck bool) {
	counted := make(map[string]bool, len(jobs))
	for _, j := range jobs {
		if j.refused || j.old || j.result == nil {
			continue
		}
		key := identity(j)
		if counted[key] {
			continue
		}
		counted[key] = true
		t, known := r.seen[key]
		if !known {
			r.news++
		}
		if t.since != r.news {
			t = tally{since: r.news}
		}
		t.times++
		r.seen[key] = t
		switch {
		case t.times > most:
			stuck = true
		case t.times == most:
			j.say(fmt.Sprintf("[this call has had this same result %d times: making it again brings nothing; do something else or answer]", most))
		}
	}
	return stuck
}

// identity is a call with its result, whatever order its arguments stand in.
func identity(j *job) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", j.call.Name)
	h.Write(canonical(j.call.Arguments))
	h.Write([]byte{'\n'})
	h.Write(j.result.JSON)
	return string(h.Sum(nil))
}

// canonical is JSON with the keys of its objects in order; numbers stay as written.
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

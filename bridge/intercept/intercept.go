package intercept

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// An Interceptor is asked about calls of tools.
type Interceptor struct {
	Name    string   // in errors and records
	Servers []string // patterns of the config's names of servers, of bridge.Match; none mean any
	Tools   []string // patterns of tools as the caller sees them; none mean any

	Before, After bool  // of calls
	Asked         Asker // a Program or a URL

	Timeout time.Duration // of an answer, with the wait for its turn; default 5 s
	Most    int           // events that are asked about at once, others wait; default 8
	Allow   bool          // a failure lets the call pass; else it denies

	turns *bridge.Limiter
}

// An Asker answers events. It may be used from many goroutines.
type Asker interface {
	// Ask returns an Answer as JSON, or nothing. It returns when ctx ends. A *Denial denies; another error is a failure.
	Ask(ctx context.Context, event []byte) (answer []byte, err error)
}

// A Denial is why something is denied, for the model.
type Denial string

func (d Denial) Error() string { return string(d) }

// An Event is what an Asker is asked about, as a line of JSON.
type Event struct {
	When      string          `json:"when"` // "before" or "after"
	Principal string          `json:"principal,omitempty"`
	Client    string          `json:"client,omitempty"`    // by its own account
	Model     string          `json:"model,omitempty"`     // that makes the call, as "provider/model"
	Server    string          `json:"server,omitempty"`    // "" for a task, of which it is not known
	Tool      string          `json:"tool,omitempty"`      // as the caller sees it
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object, without hidden values
	Result    json.RawMessage `json:"result,omitempty"`    // MCP's, after a call
	Error     json.RawMessage `json:"error,omitempty"`     // of the server, in place of a result
}

// An Answer says what becomes of a call. The zero Answer lets it pass.
type Answer struct {
	Decision  string          `json:"decision"`  // "allow", "deny" or ""
	Reason    string          `json:"reason"`    // of a denial, for the model
	Arguments json.RawMessage `json:"arguments"` // in place of those of the event, before a call
	Result    json.RawMessage `json:"result"`    // in place of that of the event, after a call; MCP's
}

// maxBytes bounds events and answers.
const maxBytes = 1 << 20

// maxReason bounds the reason of a denial, in bytes.
const maxReason = 1000

// check returns what is wrong with an interceptor, and sets its defaults.
func (i *Interceptor) check() error {
	for _, pattern := range append(append([]string{}, i.Servers...), i.Tools...) {
		if _, err := bridge.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is not a pattern: %w", pattern, err)
		}
	}
	if i.Asked == nil || !i.Before && !i.After {
		return errors.New("it asks nobody, or never")
	}
	i.Timeout, i.Most = cmp.Or(i.Timeout, 5*time.Second), cmp.Or(i.Most, 8)
	i.turns = bridge.NewLimiter("interceptor "+i.Name+" is", i.Most, maxWaiting)
	return nil
}

// maxWaiting bounds the events that wait for their turn.
const maxWaiting = 1000

// about reports whether the interceptor is asked about a tool, which is nil if it is not known.
func (i *Interceptor) about(it *bridge.Item) bool {
	return it == nil || match.Any(i.Servers, match.Server(it)) && match.Any(i.Tools, it.Key)
}

// ask asks about an event. The error is a Denial, or says why there is no Answer.
func (i *Interceptor) ask(outer context.Context, who bridge.Principal, e *Event) (Answer, error) {
	event, err := json.Marshal(e)
	if err != nil {
		return Answer{}, err
	}
	if len(event) > maxBytes {
		return Answer{}, fmt.Errorf("the call has %d bytes, and is told up to %d", len(event), maxBytes)
	}
	ctx, cancel := context.WithTimeout(outer, i.Timeout)
	defer cancel()
	if fault := i.turns.Enter(ctx, who, i.Timeout); fault != nil {
		return Answer{}, fault
	}
	defer i.turns.Leave(who)
	raw, err := i.Asked.Ask(ctx, event)
	if ctx.Err() != nil {
		return Answer{}, cmp.Or(outer.Err(), fmt.Errorf("no answer within %s", i.Timeout))
	}
	if err != nil {
		return Answer{}, err
	}
	return read(raw, e)
}

// read reads an answer.
func read(raw []byte, e *Event) (a Answer, err error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return a, nil
	}
	if err := wire.Valid(raw); err != nil { // it also drops line breaks, by which carriers frame messages
		return a, fmt.Errorf("the answer: %w", err)
	}
	if repeats(raw) {
		return a, errors.New("the answer has a key twice, which readers understand differently")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields() // which may have been meant to deny
	if err := d.Decode(&a); err != nil {
		return a, fmt.Errorf("the answer is not understood: %w", err)
	}
	for _, member := range []*json.RawMessage{&a.Arguments, &a.Result} { // as encoders write what is not set
		if string(*member) == "null" {
			*member = nil
		}
	}
	switch {
	case a.Decision == "deny":
		return a, Denial(a.Reason)
	case a.Decision != "" && a.Decision != "allow":
		return a, fmt.Errorf("the answer has the decision %.40q: expected allow or deny", a.Decision)
	case a.Arguments != nil && (e.When != before || a.Arguments[0] != '{'):
		return a, errors.New("the answer has arguments that are not an object, or after the call")
	case a.Result != nil && (e.When != after || e.Result == nil || a.Result[0] != '{'):
		return a, errors.New("the answer has a result that is not an object, or without one")
	case a.Result != nil:
		return a, checkResult(e.Result, a.Result)
	}
	return a, nil
}

// repeats reports whether an answer has a key twice, itself or in its arguments; a result may have what a server sends.
func repeats(answer []byte) bool {
	seen := map[string]bool{}
	for key, value := range wire.Members(answer) {
		name := strings.ToLower(strings.ToUpper(key)) // encoding/json does not mind letter case
		if seen[name] || name == "arguments" && match.Repeats(value) {
			return true
		}
		seen[name] = true
	}
	return false
}

const before, after = "before", "after"

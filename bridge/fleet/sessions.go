package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	// sessionTime is for how long it is known who goes on with a session: longer than anybody may.
	sessionTime = 25 * time.Hour
	// aliveTime is for how long a run is awaited that is asked whether it is there.
	aliveTime = 300 * time.Millisecond
	// inquiryTime is how long it may take to find out whether a run has ended.
	inquiryTime = time.Second
	// bound begins the value of a session with which no other run may go on than the one that the rest names: it has
	// ended, or its state is in that process.
	bound = "bound "
)

// Adopt returns the run that goes on with a session, whose id was sealed by a run that has ended: "" for this
// one, if no other has asked before. Of a session that this run has, sealer is itself. A session of which NATS knows nothing yet takes room
// there only if may allows it. An error is a *toolformat.Error: NotFound if nobody may go on with it, or may has not allowed
// it, Unavailable if that cannot be told now, or that run has not ended.
func (n *Node) Adopt(ctx context.Context, id, sealer string, may func() bool) (owner string, err error) {
	key, self := sessionKey(id), n.self().String()
	for {
		known, err := n.entry(ctx, key)
		if err != nil {
			return "", err
		}
		owner, isBound := strings.CutPrefix(string(known.Value), bound)
		switch {
		case owner == self && isBound:
			return "", toolformat.Errorf(toolformat.NotFound, "the session has ended")
		case owner == self:
			return "", nil
		case owner != "" || sealer != self:
			has, failure := parseRun(cmp.Or(owner, sealer))
			if failure != nil {
				return "", failure
			}
			switch fate, err := n.inquire(ctx, has); {
			case err != nil:
				return "", err
			case fate.ended && isBound:
				return "", toolformat.Errorf(toolformat.NotFound, "the session has ended with node %s", has)
			case !fate.ended && owner == "":
				return "", toolformat.Errorf(toolformat.Unavailable, "node %s cannot be reached", has)
			case !fate.ended:
				n.remember(key, owner)
				return owner, nil
			}
		}
		if known.Revision == 0 && !may() {
			return "", toolformat.Errorf(toolformat.NotFound, "too many sessions of this principal have moved here")
		}
		if again, err := n.claim(ctx, key, self, known); !again {
			return "", err
		}
	}
}

// Owner returns the run that has gone on with a session of this one: "" if none has. An error is a *toolformat.Error:
// Unavailable if that cannot be told now.
func (n *Node) Owner(ctx context.Context, id string) (owner string, err error) {
	if n.unbroken() {
		return "", nil
	}
	key := sessionKey(id)
	known, err := n.entry(ctx, key)
	if err != nil {
		return "", err
	}
	if owner, _ = strings.CutPrefix(string(known.Value), bound); owner == "" || owner == n.self().String() {
		return "", nil
	}
	n.remember(key, owner)
	return owner, nil
}

// Bind makes sure that no other run goes on with a session of this one. An error is a *toolformat.Error.
func (n *Node) Bind(ctx context.Context, id string) error {
	key, self := sessionKey(id), n.self().String()
	for {
		known, err := n.entry(ctx, key)
		if err != nil {
			return err
		}
		switch owner, isBound := strings.CutPrefix(string(known.Value), bound); {
		case owner != "" && owner != self:
			return toolformat.Errorf(toolformat.Unavailable, "another node has gone on with the session: begin another one")
		case isBound:
			return nil
		}
		if again, err := n.claim(ctx, key, bound+self, known); !again {
			return err
		}
	}
}

// entry returns what NATS knows of a session: an empty Entry if that is nothing.
func (n *Node) entry(ctx context.Context, key string) (engine.Entry, error) {
	known, err := n.sessions.Get(ctx, key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return known, unavailable(err)
	}
	return known, nil
}

// maxMoved bounds the sessions of which it is known that they have moved. All are forgotten then, and found
// out again.
const maxMoved = 10_000

// remember keeps the run that goes on with a session, so that its next request needs no question.
func (n *Node) remember(key, owner string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.moved) >= maxMoved {
		clear(n.moved)
	}
	n.moved[key] = owner
}

// owner returns the run that goes on with a session which another one has sealed, as far as it is known.
func (n *Node) owner(id, sealer string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.moved) > 0 {
		if moved, ok := n.moved[sessionKey(id)]; ok {
			return moved
		}
	}
	return sealer
}

// claim sets the value of a key that is still as it is known. again is true if it is not any more.
func (n *Node) claim(ctx context.Context, key, value string, known engine.Entry) (again bool, err error) {
	if known.Revision == 0 {
		_, err = n.sessions.Create(ctx, key, []byte(value), 0)
	} else {
		_, err = n.sessions.Update(ctx, key, []byte(value), known.Revision, 0)
	}
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, engine.ErrExists), errors.Is(err, engine.ErrConflict):
		return true, nil
	}
	return false, unavailable(err)
}

// A fate is what NATS knows of a run.
type fate struct {
	ended   bool   // or it was cut off for so long that it does not answer for its sessions any more
	address string // "" if it is not known
}

// An inquiry is a question about the fate of a run, for all who want to know it at the same time.
type inquiry struct {
	done chan struct{} // closed when the fields below are set
	fate fate
	err  error
}

// inquire returns the fate of a run. An error is as that of Adopt.
func (n *Node) inquire(ctx context.Context, of run) (fate, error) {
	if address, promised := n.promised(of.String()); promised {
		return fate{address: address}, nil
	}
	n.mu.Lock()
	q := n.inquiries[of]
	first := q == nil
	if first {
		q = &inquiry{done: make(chan struct{})}
		n.inquiries[of] = q
	}
	n.mu.Unlock()
	if first {
		bounded, cancel := context.WithTimeout(n.ctx, inquiryTime)
		q.fate, q.err = n.fate(bounded, of)
		cancel()
		n.mu.Lock()
		delete(n.inquiries, of)
		n.mu.Unlock()
		close(q.done)
	}
	select {
	case <-q.done:
		return q.fate, q.err
	case <-ctx.Done():
		return fate{}, unavailable(ctx.Err())
	}
}

func unavailable(err error) error {
	failure := toolformat.Errorf(toolformat.Unavailable, "the state of the cluster cannot be reached: try again").Because(err)
	failure.After = time.Second
	return failure
}

// sessionKey returns the key of what is known of a session: its id is a secret.
func sessionKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

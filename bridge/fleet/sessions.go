package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	// sessionTime is for how long it is known who goes on with a session: longer than anybody may.
	sessionTime = 25 * time.Hour
	// aliveTime is for how long a run is awaited that is asked whether it is there.
	aliveTime = 300 * time.Millisecond
	// bound is said of a session with which no other run may go on: it has ended, or its state is in one process.
	bound = "bound"
)

// Adopt returns the run that goes on with a session, whose id was sealed by a run that has ended: "" for this
// one, if no other has asked before. Of a session that this run has, sealer is itself. An error is a *toolformat.Error: NotFound if nobody may go on with it,
// Unavailable if that cannot be told now, or that run has not ended.
func (n *Node) Adopt(ctx context.Context, id, sealer string) (owner string, err error) {
	key := sessionKey(id)
	for {
		known, err := n.sessions.Get(ctx, key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return "", unavailable(err)
		}
		owner = ""
		switch value := string(known.Value); value {
		case "":
		case bound:
			return "", toolformat.Errorf(toolformat.NotFound, "the session has ended with node %s", sealer)
		case n.self().String():
			return "", nil
		default:
			owner = value
		}
		if own := n.self().String(); owner == "" && sealer == own {
			if err = n.claim(ctx, key, own, known); err == nil {
				return "", nil
			}
			if !errors.Is(err, engine.ErrExists) && !errors.Is(err, engine.ErrConflict) {
				return "", unavailable(err)
			}
			continue
		}
		before, failure := parseRun(cmp.Or(owner, sealer))
		if failure != nil {
			return "", failure
		}
		switch ended, err := n.ended(ctx, before); {
		case err != nil:
			return "", err
		case !ended && owner != "":
			n.remember(key, owner)
			return owner, nil
		case !ended:
			return "", toolformat.Errorf(toolformat.Unavailable, "node %s cannot be reached", sealer)
		}
		if err = n.claim(ctx, key, n.self().String(), known); err == nil {
			return "", nil
		}
		if !errors.Is(err, engine.ErrExists) && !errors.Is(err, engine.ErrConflict) {
			return "", unavailable(err)
		}
	}
}

// Bind makes sure that no other run goes on with a session of this one. An error is a *toolformat.Error.
func (n *Node) Bind(ctx context.Context, id string) error {
	key := sessionKey(id)
	for {
		known, err := n.sessions.Get(ctx, key)
		switch value := string(known.Value); {
		case err != nil && !errors.Is(err, engine.ErrNotFound):
			return unavailable(err)
		case value == bound:
			return nil
		case value != "" && value != n.self().String():
			return toolformat.Errorf(toolformat.Unavailable, "another node has gone on with the session: begin another one")
		}
		err = n.claim(ctx, key, bound, known)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, engine.ErrExists) && !errors.Is(err, engine.ErrConflict):
			return unavailable(err)
		}
	}
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

// claim sets the value of a key that is still as it is known.
func (n *Node) claim(ctx context.Context, key, value string, known engine.Entry) (err error) {
	if known.Revision == 0 {
		_, err = n.sessions.Create(ctx, key, []byte(value), 0)
	} else {
		_, err = n.sessions.Update(ctx, key, []byte(value), known.Revision, 0)
	}
	return err
}

// ended reports whether a run of a node has ended, or was cut off for so long that it does not answer for its
// sessions any more. An error is as that of Adopt.
func (n *Node) ended(ctx context.Context, r run) (bool, error) {
	n.mu.Lock()
	dead, promised := n.dead[r], time.Now().Before(n.promises[r.String()].until)
	n.mu.Unlock()
	if dead || promised {
		return dead, nil
	}
	return n.gone(ctx, r)
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

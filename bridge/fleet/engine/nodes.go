package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Node is a node of the cluster as it announced itself.
type Node struct {
	ID      string          `json:"id"`
	Epoch   uint64          `json:"epoch"`             // greater with each start of the node
	Address string          `json:"address,omitempty"` // where the other nodes reach it
	Version string          `json:"version,omitempty"`
	Extra   json.RawMessage `json:"extra,omitempty"`
}

// Epoch returns the number of this start of the node: milliseconds since 1970, or one more than that of the start
// before if the clock was set back. It can grow once, when NATS is reached for the first time; Up is
// false until then.
func (e *Engine) Epoch() uint64 { return e.epoch.Load() }

// Announce lists this node among those of the cluster from now on, or changes how it is listed. The engine
// sets ID and Epoch. It does not wait for NATS; the error is that Extra is not JSON or is too large.
func (e *Engine) Announce(n Node) error {
	if value, err := json.Marshal(n); err != nil {
		return fmt.Errorf("announce node %s: %w", e.options.Node, err)
	} else if len(value) > MaxSize/2 {
		return fmt.Errorf("announce node %s: %w", e.options.Node, ErrTooLarge)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.self = &n
	signal(e.kick)
	return nil
}

// Nodes returns the nodes of the cluster by id, as this node last heard of them. A node that was killed is
// listed for up to six seconds more. The caller must not change the slice.
func (e *Engine) Nodes() []Node { return e.nodes.load() }

// OnNodes calls f with what Nodes returns, and then whenever that changes, until stop.
func (e *Engine) OnNodes(f func([]Node)) (stop func()) { return follow(e, &e.nodes, f) }

// Alive asks whether that start of a node has a connection to NATS. If not, the node has ended or is cut
// off from NATS, or from the rest of it. An error, ErrUnavailable, means that it cannot be said: this node has no
// connection itself, or the other has one and does not answer.
func (e *Engine) Alive(ctx context.Context, node string, epoch uint64) (bool, error) {
	what := "ask node " + node
	bounded, cancel, err := e.bound(ctx)
	if err != nil {
		return false, failure(ctx, what, err)
	}
	defer cancel()
	for err = context.DeadlineExceeded; errors.Is(err, context.DeadlineExceeded) && bounded.Err() == nil; {
		try, cancel := context.WithTimeout(bounded, pingTimeout) // a question to a connection that breaks just then is lost
		_, err = e.conn.RequestWithContext(try, e.ping(node, epoch), nil)
		cancel()
	}
	if errors.Is(err, nats.ErrNoResponders) {
		if e.Up() {
			return false, nil
		}
		err = ErrUnavailable // NATS may be split, and this the smaller part
	}
	return err == nil, failure(ctx, what, err)
}

// pingTimeout is after how long a node that did not answer is asked again.
const pingTimeout = 500 * time.Millisecond

func (e *Engine) ping(node string, epoch uint64) string {
	return fmt.Sprintf("%sping.%s.%d", e.prefix, token(node), epoch)
}

// keep holds this node's place in the cluster, and finds out whether NATS answers.
func (e *Engine) keep() {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		err := e.beat()
		if up := err == nil; up != e.Up() {
			e.up.store(up)
		}
		if err != nil && e.conn.IsConnected() {
			e.complain("NATS does not do what the cluster needs", err)
		}
		select {
		case <-e.kick:
		case <-ticker.C:
		case <-e.ctx.Done():
			return
		}
	}
}

// beat announces this node once more.
func (e *Engine) beat() error {
	if e.superseded.Load() {
		return errSuperseded
	}
	ctx, cancel := context.WithTimeout(e.ctx, beatInterval)
	defer cancel()
	if !e.registered.Load() {
		if err := e.register(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	self := e.self
	e.mu.Unlock()
	if self == nil {
		_, err := e.presence.last(ctx, e.options.Node)
		return only(err, ErrNotFound)
	}
	n := *self
	n.ID, n.Epoch = e.options.Node, e.Epoch()
	value, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return e.present(ctx, value)
}

// only returns err unless it is except.
func only(err, except error) error {
	if errors.Is(err, except) {
		return nil
	}
	return err
}

// Superseded reports whether this node has left the cluster for good, as a process with its id was started later.
func (e *Engine) Superseded() bool { return e.superseded.Load() }

var errSuperseded = errors.New("another process with the same node id was started later: give each node an id of its own")

// present writes this node's entry, unless a later process with the same id has one.
func (e *Engine) present(ctx context.Context, value []byte) error {
	revision, err := e.replace(ctx, value)
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrExists) {
		var is Entry
		switch is, err = e.presence.Get(ctx, e.options.Node); {
		case errors.Is(err, ErrNotFound):
			e.revision = 0
		case err != nil:
			return err
		default:
			var other Node
			if json.Unmarshal(is.Value, &other) == nil && other.Epoch > e.Epoch() {
				e.superseded.Store(true)
				e.log.Error("this node leaves the cluster", "node", e.options.Node, "error", errSuperseded)
				return errSuperseded
			}
			e.revision = is.Revision
		}
		revision, err = e.replace(ctx, value)
	}
	if err == nil {
		e.revision = revision
	}
	return err
}

func (e *Engine) replace(ctx context.Context, value []byte) (uint64, error) {
	if e.revision == 0 {
		return e.presence.Create(ctx, e.options.Node, value, 0)
	}
	return e.presence.Update(ctx, e.options.Node, value, e.revision, 0)
}

// register finds this node's epoch and answers those who ask for it.
func (e *Engine) register(ctx context.Context) error {
	epochs := e.Bucket("epoch", 0)
	last, err := epochs.Get(ctx, e.options.Node)
	switch {
	case errors.Is(err, ErrNotFound):
		_, err = epochs.Create(ctx, e.options.Node, e.appendEpoch(), 0)
	case err == nil:
		before, _ := strconv.ParseUint(string(last.Value), 10, 64)
		e.epoch.Store(max(e.Epoch(), before+1))
		_, err = epochs.Update(ctx, e.options.Node, e.appendEpoch(), last.Revision, 0)
	}
	if err != nil {
		return err
	}
	pings, err := e.conn.Subscribe(e.ping(e.options.Node, e.Epoch()), func(m *nats.Msg) {
		if err := m.Respond(nil); err != nil {
			e.log.Debug("a question whether this node is alive was not answered", "error", err)
		}
	})
	if err == nil {
		err = e.conn.FlushWithContext(ctx)
	}
	if err != nil {
		if pings != nil {
			err = errors.Join(err, pings.Unsubscribe())
		}
		return err
	}
	e.pings = pings
	e.registered.Store(true)
	return nil
}

func (e *Engine) appendEpoch() []byte { return strconv.AppendUint(nil, e.Epoch(), 10) }

// leave takes this node from the list.
func (e *Engine) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), farewellTimeout)
	defer cancel()
	var err error
	if e.pings != nil {
		err = e.pings.Unsubscribe()
	}
	if e.revision != 0 {
		err = errors.Join(err, e.presence.Delete(ctx, e.options.Node, e.revision))
	}
	if err != nil {
		e.log.Debug("the cluster was not told that this node leaves", "error", err)
	}
}

// farewellTimeout is how long Close waits for each of what it tells the cluster.
const farewellTimeout = time.Second

// watchNodes keeps the list of nodes.
func (e *Engine) watchNodes() {
	all := map[string]Node{}
	e.presence.Watch(e.ctx, ">", func(entry Entry) {
		var n Node
		if entry.Deleted || json.Unmarshal(entry.Value, &n) != nil {
			delete(all, entry.Key)
		} else if was, known := all[entry.Key]; known && same(was, n) {
			return
		} else {
			all[entry.Key] = n
		}
		e.nodes.store(slices.SortedFunc(maps.Values(all), func(a, b Node) int { return cmp.Compare(a.ID, b.ID) }))
	})
}

func same(a, b Node) bool {
	return a.ID == b.ID && a.Epoch == b.Epoch && a.Address == b.Address && a.Version == b.Version && slices.Equal(a.Extra, b.Extra)
}

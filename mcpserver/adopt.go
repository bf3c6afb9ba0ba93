package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	adoptable    = 24 * time.Hour // since a session began: what Nodes.Bind says is known for longer
	maxBeginning = 2 << 10        // bytes of a client's introduction in an id, which is a header
	bindTime     = time.Second
)

// beginning is what the id of a session says of its initialize: with it another node can go on with it.
type beginning struct {
	At           int64           `json:"at"` // Unix s
	Revision     string          `json:"revision"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Info         json.RawMessage `json:"info,omitempty"`
}

// sealID makes the id of a session one that every node understands. initialize is its first message; nil
// means that no other node can go on with the session.
func (s *session) sealID(initialize *wire.Message) {
	o := s.server.opts()
	if o.Nodes == nil {
		return
	}
	sum := s.sender.digest()
	sealed := sum[:]
	term, left := o.Nodes.Term()
	if initialize != nil && left > 0 && o.Adoptable && s.sender.hidden == "" {
		params := initialize.Params.Raw
		asked, _ := wire.Text(wire.Lookup(params, "protocolVersion"))
		b := beginning{time.Now().Unix(), wire.Negotiate(asked), wire.Lookup(params, "capabilities"), clientInfo(wire.Lookup(params, "clientInfo"))}
		if len(b.Capabilities)+len(b.Info) <= maxBeginning {
			raw, _ := json.Marshal(b) // cannot fail: the message is valid
			sealed = append(sealed, raw...)
			s.goOn(term)
			s.movable.Store(true)
		}
	}
	s.id = o.Nodes.Seal(sealedSession, sealed)
}

// adopt goes on with a session of a node that has ended, in a term of this one. Requests that come meanwhile wait for it.
func (s *Server) adopt(ctx context.Context, id string, sender identity, raw []byte, term context.Context) error {
	done, first := s.sessions.beginAdopting(id)
	if !first {
		select {
		case <-done:
			if !s.sessions.has(id) {
				return unavailable("another request has failed to go on with the session")
			}
			return nil
		case <-ctx.Done():
			return unavailable("canceled")
		}
	}
	defer s.sessions.endAdopting(id)
	if s.sessions.has(id) {
		return nil
	}
	adopted := s.newHTTPSession(sender)
	adopted.goOn(term)
	adopted.movable.Store(true)
	adopted.staying = true // NATS knows of it
	if err := adopted.reopen(ctx, id, raw); err != nil {
		return err
	}
	if err := s.sessions.add(adopted); err != nil {
		adopted.end(errEnded)
		return unavailable("%v", err)
	}
	s.opts().Log.Info("went on with a session of a node that has ended", "principal", sender.principal.Name)
	for _, method := range []string{wire.NotificationToolsChanged, wire.NotificationPromptsChanged, wire.NotificationResourcesChanged} {
		adopted.back.Notify(method, nil)
	}
	return nil
}

// reopen makes a new session one of another node, which that has begun: it ends if it cannot. An error is
// a *toolformat.Error.
func (s *session) reopen(ctx context.Context, id string, introduction []byte) error {
	var b beginning
	if err := json.Unmarshal(introduction, &b); err != nil || time.Since(time.Unix(b.At, 0)) > adoptable {
		s.end(errEnded)
		return toolformat.Errorf(toolformat.NotFound, "the session has ended with its node")
	}
	s.id = id
	// Its client may still name what the other node has numbered: streams, and questions.
	number := time.Now().UnixMicro()
	s.journal.before, s.journal.last, s.questions.last = number, number, number
	source, failure := s.open(ctx, b.Revision, b.Capabilities, b.Info)
	if failure != nil {
		s.end(errEnded)
		return failure
	}
	s.opened.Store(&opened{revision: b.Revision, source: source})
	return nil
}

// beginAdopting reports whether the caller is the first to go on with a session, and is to call endAdopting.
// Others wait until done is closed.
func (r *registry) beginAdopting(id string) (done chan struct{}, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done = r.adopting[id]; done == nil {
		done, first = make(chan struct{}), true
		if r.adopting == nil {
			r.adopting = map[string]chan struct{}{}
		}
		r.adopting[id] = done
	}
	return done, first
}

func (r *registry) endAdopting(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.adopting[id])
	delete(r.adopting, id)
}

// goOn makes the session one of this node in a term.
func (s *session) goOn(term context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term = term
}

// isOf reports whether the session is one of this node in a term.
func (s *session) isOf(term context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term == term
}

// owned returns a context that ends when another node may go on with the session, or with ctx.
func (s *session) owned(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	term := s.term
	s.mu.Unlock()
	if term == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(term, func() {
		if s.movable.Load() {
			cancel()
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// bind keeps other nodes from going on with the session, which is about to have something that they do not
// know: subscriptions, a level of its log, tasks, tools that its client lends.
func (s *session) bind(ctx context.Context) *toolformat.Error {
	switch {
	case !s.movable.Load():
		return nil
	case !s.mayStay(maxStaying):
		return unavailable("too many sessions of this principal begin what only one node has: at most %d in an hour at each node", maxStaying)
	}
	ctx, cancel := context.WithTimeout(ctx, bindTime)
	defer cancel()
	if err := s.server.opts().Nodes.Bind(ctx, s.id); err != nil {
		return toolformat.AsError(err)
	}
	s.movable.Store(false)
	return nil
}

// mayStay is that of the session's account, which counts it once.
func (s *session) mayStay(most int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.staying = s.staying || s.account.mayStay(most)
	return s.staying
}

// bindEnding is bind for a session that is about to end. It leaves half of maxStaying to others: without, only the principal
// itself could go on with the session at another node, once this one has ended.
func (s *session) bindEnding(ctx context.Context) *toolformat.Error {
	if !s.movable.Load() || !s.mayStay(maxStaying/2) {
		return nil
	}
	return s.bind(ctx)
}

// binds reports whether a request is to make something that only this node knows.
func binds(m *wire.Message) bool {
	switch m.Method {
	case wire.MethodSetLevel, wire.MethodSubscribe, methodLend:
		return true
	case wire.MethodToolsCall:
		return m.Params.Get(wire.Task) != nil
	}
	return false
}

package mcpserver

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The id of a session that can move says all that its calls need, but for sources that every node has. So a
// node that gets many of them answers them itself, as long as the node that owns the session lets it: the
// session is a guest there. Whatever is not a call goes to the owner.

const (
	guestAfter = 3                // calls of a session are forwarded before this node asks to answer them
	guestTime  = 10 * time.Second // bounds how long an owner's answer holds, even if the owner cannot be reached
	guestIdle  = 5 * time.Minute  // how long a guest is kept without a call
)

// guest is a session of another node of which this one gets calls. registry.mu guards its fields.
type guest struct {
	run          string // the run of a node that sealed the id
	sender       identity
	introduction []byte

	calls   int // forwarded since the owner was asked
	counted time.Time
	asking  bool
	allowed bool      // the owner's last answer: calls may be answered here
	until   time.Time // when that answer ends to hold: not after the session is surely the owner's
	renew   time.Time // when to ask again
	level   string    // the log level of the session
	session *session  // what answers the calls; nil until they have been allowed
}

// unused returns how long ago the guest had a call.
func (g *guest) unused() time.Duration {
	unused := time.Since(g.counted)
	if g.session != nil {
		unused = min(unused, g.session.unused())
	}
	return unused
}

// guestsCall reports whether a guest can answer a request: a call that creates no task, has no key by which the
// owner's ledger knows it, and whose answer may be a stream, as questions of a guest have no other.
func guestsCall(r *http.Request, m *wire.Message) bool {
	a, p := accepts(r), &m.Params
	return m.Kind() == wire.Request && m.Method == wire.MethodToolsCall && p.Get(wire.Task) == nil && !isModern(m) &&
		r.Header[headerKey] == nil && p.Get(wire.IdempotencyKey) == nil && p.Get(wire.MetaIdempotencyKey) == nil &&
		a.json && a.events
}

// guest returns the session of another node of which this one may answer a call; nil means that the owner has to.
func (s *Server) guest(id string, sender identity) *session {
	r := &s.sessions
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.guests[id]
	if g == nil || !g.allowed || !sender.continues(g.sender) || !s.opts().Adoptable {
		return nil
	}
	now := time.Now()
	if now.After(g.until) || now.Round(0).After(g.until.Round(0)) {
		return nil
	}
	if now.After(g.renew) {
		s.askOwner(id, g)
	}
	g.session.token.Store(&sender.token)
	return g.session
}

// guestAnyway is guest for what belongs to a call, whether another call may be answered or not.
func (s *Server) guestAnyway(id string, sender identity) *session {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	if g := s.sessions.guests[id]; g != nil && sender.continues(g.sender) {
		return g.session
	}
	return nil
}

// countForGuest counts a call that is forwarded to the owner of a session, and asks that to let this node
// answer them if there are many.
func (s *Server) countForGuest(id, run string, sender identity, introduction []byte) {
	r := &s.sessions
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.guests[id]
	if g == nil {
		if r.closed || len(r.guests) >= s.opts().Sessions {
			return
		}
		g = &guest{run: run, sender: sender, introduction: introduction}
		r.guests[id] = g
	}
	g.counted = time.Now()
	if g.calls++; g.calls >= guestAfter && g.counted.After(g.until) {
		s.askOwner(id, g)
	}
}

// askOwner asks the owner whether this node may answer the calls of its session. registry.mu is held.
func (s *Server) askOwner(id string, g *guest) {
	if g.asking {
		return
	}
	g.asking = s.start(func() {
		asked, holds := time.Now(), guestTime
		said, err := s.mayAnswer(id, g)
		if err == nil {
			holds = time.Duration(said.Holds) * time.Millisecond
		}
		s.sessions.mu.Lock()
		defer s.sessions.mu.Unlock()
		g.asking, g.allowed, g.calls = false, err == nil, 0
		g.until, g.renew = asked.Add(holds), asked.Add(holds/2)
		if err == nil {
			g.level = said.Level
		}
	})
}

// mayAnswer asks the owner whether this node may answer the session's calls, and returns its answer; an error means no.
// The guest has a session then, with the level of the log that the owner has said. Only mayAnswer sets these two, one
// call at a time.
func (s *Server) mayAnswer(id string, g *guest) (said peerNote, err error) {
	ctx, done := context.WithTimeout(s.ctx, adoptTime)
	defer done()
	digest := g.sender.digest()
	if said, err = s.tell(ctx, g.run, peerNote{Session: id, Sender: digest[:], Guest: s.run()}); err != nil {
		return said, err
	}
	host := g.session
	if host == nil {
		if host, err = s.host(ctx, id, g); err != nil {
			return said, err
		}
	}
	if said.Level != g.level {
		if err := sendParam(ctx, host.opened.Load().source, wire.MethodSetLevel, "level", said.Level); err != nil {
			return said, err
		}
	}
	return said, nil
}

// host makes the session of a guest.
func (s *Server) host(ctx context.Context, id string, g *guest) (*session, error) {
	host, mark := s.newHTTPSession(g.sender), s.opts().Nodes.Seal(sealedMark, nil)+"/"
	host.journal.mark, host.questions.mark, host.back = mark, mark, new(guestBack)
	if err := host.reopen(ctx, id, g.introduction); err != nil {
		return nil, err
	}
	s.sessions.mu.Lock()
	kept := s.sessions.guests[id] == g
	if kept {
		g.session = host
	}
	s.sessions.mu.Unlock()
	if !kept {
		host.end(errEnded)
		return nil, errEnded
	}
	return host, nil
}

// guestBack takes what belongs to no call of a guest: the owner sends that, or its own like.
type guestBack struct{ tools knownTools }

// Notify implements bridge.Back.
func (b *guestBack) Notify(method string, _ []byte) { b.tools.notified(method) }

// Ask implements bridge.Back.
func (*guestBack) Ask(context.Context, string, []byte) ([]byte, *toolformat.Error) {
	return nil, unavailable("the client can be asked on the node that owns its session")
}

// dropGuests removes guests, and returns their sessions, which the caller ends.
func (r *registry) dropGuests(gone func(id string, g *guest) bool) (ended []*session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, g := range r.guests {
		if !gone(id, g) {
			continue
		}
		delete(r.guests, id)
		if g.session != nil {
			ended = append(ended, g.session)
		}
	}
	return ended
}

// run returns the name of this run of this node.
func (s *Server) run() string { return s.opts().Nodes.Addr().String() }

// answerGuest answers a call as a guest's, and reports whether it could: the owner may know a tool that this node does
// not. That is found out before the call begins, so that rates, policy and audit count it at one of them.
func (s *Server) answerGuest(w http.ResponseWriter, r *http.Request, host *session, m *wire.Message) (answered bool) {
	name, _ := m.Params.Text(wire.Name)
	if _, ok := host.back.(*guestBack).tools.find(r.Context(), host.opened.Load().source, name); !ok {
		return false
	}
	x := s.beginExchange(&exchange{session: host, account: host.account, id: m.ID}, w, r, accepts(r))
	resp, ok := host.respond(host.ctx, m, x)
	x.end(&resp, ok)
	return true
}

// belongsHere answers a message that belongs to a call of a guest, or lets the node answer it that has the call.
// It reports false if the message belongs to no such call.
func (f *forwarding) belongsHere(sender identity, m *wire.Message) (answered bool) {
	s := f.server
	mark, named := "", ""
	switch {
	case m == nil && f.r.Method == http.MethodGet:
		mark, named = cutMark(f.r.Header.Get(mcp.HeaderLastEventID))
	case m == nil:
		return false
	case m.Kind() == wire.Response:
		text, _ := wire.Text(m.ID)
		mark, named = cutMark(text)
	case m.Kind() == wire.Notification && m.Method == wire.NotificationCancelled:
		host := s.guestAnyway(f.key, sender)
		if host == nil || !host.cancelRequest(string(m.Params.Get(wire.RequestID)), errCancelled) {
			return false
		}
		f.w.WriteHeader(http.StatusAccepted)
		return true
	}
	if mark == "" {
		return false
	}
	if _, _, own := f.open(sender); !own {
		return false
	}
	if run := s.openMark(mark); run != "" && !forwarded(f.r.Context()) {
		direct := *f
		direct.key = "" // whoever goes on with the session
		if direct.to(run) {
			return true
		}
		if toolformat.AsError(direct.lost).Code != toolformat.NotFound {
			return direct.fail(direct.lost)
		}
	}
	host := s.guestAnyway(f.key, sender)
	switch {
	case m == nil && host != nil:
		s.serveStream(f.w, f.r, host, named)
	case m == nil:
		refuseResume(f.w)
	default:
		if host != nil {
			host.accept(m)
		}
		f.w.WriteHeader(http.StatusAccepted)
	}
	return true
}

// openMark returns the run of another node that has made a mark, "" if none has: clients may write there what they like.
func (s *Server) openMark(mark string) (run string) {
	_, run, _ = s.opts().Nodes.Open(sealedMark, strings.TrimSuffix(mark, "/"))
	return run
}

// cutMark divides the id of an event or a question into the mark of the node that has it, and the rest. The
// mark is "" where its node is that which owns the session.
func cutMark(id string) (mark, rest string) {
	end := strings.LastIndexByte(id, '/') + 1
	return id[:end], id[end:]
}

// letAnswer lets another run answer the calls of a session of this node, for as long as the session is surely here.
// A session whose client lends tools, or may answer a question in a batch, is called here only.
func (s *Server) letAnswer(note *peerNote) (answer peerNote, status int) {
	s.sessions.mu.Lock()
	own := s.sessions.sessions[note.Session]
	s.sessions.mu.Unlock()
	if own == nil {
		return answer, http.StatusNotFound
	}
	digest := own.sender.digest()
	term, left := s.opts().Nodes.Term()
	own.mu.Lock()
	defer own.mu.Unlock()
	switch {
	case !own.movable.Load():
		left = guestTime
	case left <= 0 || term != own.term:
		return answer, http.StatusServiceUnavailable
	}
	switch {
	case !bytes.Equal(digest[:], note.Sender) || own.ended != nil:
		return answer, http.StatusNotFound
	case own.lender != nil, wire.HasBatches(own.revision()), !s.opts().Adoptable:
		return answer, http.StatusConflict
	}
	if own.hosts == nil {
		own.hosts = map[string]bool{}
	}
	own.hosts[note.Guest] = true
	own.touch()
	return peerNote{Level: own.level, Holds: min(left, guestTime).Milliseconds()}, http.StatusOK
}

// hosted reports whether other nodes may answer calls of the session.
func (s *session) hosted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hosts) > 0
}

// tellHosts tells the nodes that may answer calls of the session, or have one that is not answered yet, and waits
// until they know it or cannot be reached.
func (s *session) tellHosts(ctx context.Context, note peerNote) {
	s.mu.Lock()
	runs := slices.Collect(maps.Keys(s.hosts))
	s.mu.Unlock()
	if len(runs) == 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, bindTime)
	defer done()
	note.Session = s.id
	var told sync.WaitGroup
	for _, run := range runs {
		told.Go(func() {
			if _, err := s.server.tell(ctx, run, note); err != nil && toolformat.AsError(err).Code == toolformat.NotFound {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.hosts, run) // it has ended
			}
		})
	}
	told.Wait()
}

// setLevel carries out logging/setLevel, also for what other nodes answer.
func (s *session) setLevel(ctx context.Context, o *opened, req *bridge.Request) bridge.Reply {
	reply := o.source.Do(ctx, req)
	if reply.Err == nil {
		level, _ := wire.Text(wire.Lookup(req.Params.Raw, "level"))
		s.mu.Lock()
		s.level = level
		s.mu.Unlock()
		s.tellHosts(ctx, peerNote{Changed: true})
	}
	return reply
}

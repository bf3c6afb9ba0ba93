package observe

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Stream is the calls of the callers of a source, as they end. The zero value is ready.
type Stream struct {
	readers atomic.Pointer[[]*Reader] // nil means none; replaced, not changed
	numbers atomic.Int64              // of Calls

	mu   sync.Mutex // guards what follows, and the changes of readers
	last int64      // number of a caller
	open map[string]*openCaller
}

// openCaller is a caller with open sessions: several while another source takes the place of the one below.
type openCaller struct {
	*Caller
	of       *bridge.Caller
	sessions int
}

// Wrap returns a source in front of another one that makes a Call of each request of its callers. It
// belongs around all other wrappers: a Call is what the caller has sent and was told. profile returns the
// name of the profile that a caller has there; nil means that there are none.
func (s *Stream) Wrap(source bridge.Source, profile func(*bridge.Caller) string) bridge.Source {
	return bridge.Wrap(source, func(below bridge.Session, caller *bridge.Caller) (bridge.Session, error) {
		own := &session{
			Session: below, stream: s, caller: s.addCaller(caller), id: caller.ID,
			askable: string(bridge.Offers(caller.Capabilities)) != "{}",
		}
		if profile != nil {
			own.profile = profile(caller)
		}
		return own, nil
	})
}

// addCaller adds a session of a caller, of which there is one for each ID.
func (s *Stream) addCaller(c *bridge.Caller) *Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.open[c.ID]
	if own == nil {
		s.last++
		own = &openCaller{Caller: newCaller(s.last, c), of: c}
		if s.open == nil {
			s.open = map[string]*openCaller{}
		}
		s.open[c.ID] = own
	}
	own.sessions++
	return own.Caller
}

func (s *Stream) removeSession(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.open[id]
	if own.sessions--; own.sessions == 0 {
		delete(s.open, id)
	}
}

// Callers returns the callers that have a session now, oldest first.
func (s *Stream) Callers() []*Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Caller, 0, len(s.open))
	for _, own := range s.open {
		all = append(all, own.Caller)
	}
	slices.SortFunc(all, func(a, b *Caller) int { return int(a.Session - b.Session) })
	return all
}

// Of returns the caller of an open session by its number; nil if there is none.
func (s *Stream) Of(session int64) *bridge.Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.open {
		if own.Session == session {
			return own.of
		}
	}
	return nil
}

// session makes a Call of each request.
type session struct {
	bridge.Session
	stream  *Stream
	caller  *Caller
	id      string // of the caller
	profile string // of the caller
	askable bool   // the caller may be asked something during a call
	closed  atomic.Bool
}

func (s *session) Do(ctx context.Context, req *bridge.Request) (reply bridge.Reply) {
	if s.stream.readers.Load() == nil || !isCall(req.Method) {
		return s.Session.Do(ctx, req)
	}
	c := call{session: s, req: req, begun: time.Now()}
	if req.Take != nil || req.Back != nil && (s.askable || req.Params != nil && req.Params.Get(wire.MetaProgressToken) != nil) {
		c.way = newWay(req, c.begun)
		req = &c.way.Request
	}
	defer c.end(&reply) // after a panic, too
	return s.Session.Do(ctx, req)
}

func (s *session) Close() error {
	if !s.closed.Swap(true) {
		s.stream.removeSession(s.id)
	}
	return s.Session.Close()
}

// isCall reports whether a request is a call. What only tells the source of its caller, or the caller of
// its source, is not.
func isCall(method string) bool {
	switch method {
	case wire.MethodToolsCall:
		return true
	case wire.MethodDiscover, wire.MethodSetLevel,
		wire.MethodToolsList, wire.MethodPromptsList, wire.MethodResourcesList, wire.MethodTemplatesList:
		return false
	}
	return !strings.HasPrefix(method, "notifications/")
}

// call is a request under way.
type call struct {
	session *session
	req     *bridge.Request // as it came
	way     *way            // nil if nothing is noted on the way
	begun   time.Time
}

// end gives the Call to those who read now, and keeps nothing of the reply.
func (c *call) end(reply *bridge.Reply) {
	readers := c.session.stream.readers.Load() // since it has begun others may have come in their place
	if readers == nil {
		return
	}
	made := c.made(reply)
	c.give(*readers, &made, reply)
}

// Withheld gives the readers a call that a caller's front has refused: it has not come to the source. reply says why,
// is Withheld, and has the Member that it would have gone to.
func (s *Stream) Withheld(caller *bridge.Caller, profile string, req *bridge.Request, reply *bridge.Reply) {
	if s.readers.Load() == nil {
		return
	}
	c := call{session: &session{stream: s, caller: s.addCaller(caller), profile: profile}, req: req, begun: time.Now()}
	defer s.removeSession(caller.ID)
	c.end(reply)
}

// made returns the Call, without what some readers want.
func (c *call) made(reply *bridge.Reply) Call {
	made := Call{
		Number: c.session.stream.numbers.Add(1),
		Time:   c.begun, Took: time.Since(c.begun), Caller: c.session.caller, Profile: c.session.profile, Model: cut(c.req.Model, maxName),
		Method: cut(c.req.Method, maxName), Target: subject(c.req), Server: reply.Member, Out: len(reply.Result),
		Queued: reply.Queued, Sent: reply.Sent, Received: reply.Received, Decision: reply.Decision, withheld: reply.Withheld,
	}
	made.Outcome, made.Reason = outcomeOf(reply)
	if reply.Err != nil {
		made.Out = len(reply.Err.Raw)
	}
	if c.req.Params != nil {
		made.In = len(c.req.Params.Raw)
	}
	if c.way != nil {
		made.Out = max(made.Out, c.way.taken)
		made.Asked, made.First = c.way.times()
	}
	return made
}

// give gives the Call to readers, with what they want of its request and reply.
func (c *call) give(readers []*Reader, made *Call, reply *bridge.Reply) {
	for _, r := range readers {
		if r.opts.Arguments && made.Arguments == nil {
			made.Arguments = argumentsOf(c.req)
		}
		if r.opts.Results && made.Result == nil && len(reply.Result) <= maxResult {
			made.Result = slices.Clone(reply.Result)
		}
		r.add(made)
	}
}

// argumentsOf returns a copy of the arguments of a request on one line, unless they are too long.
func argumentsOf(req *bridge.Request) []byte {
	if req.Params == nil || len(req.Params.Get(wire.Arguments)) > maxArguments {
		return nil
	}
	arguments := slices.Clone(req.Params.Get(wire.Arguments))
	for i, c := range arguments {
		if c == '\n' || c == '\r' { // between tokens
			arguments[i] = ' '
		}
	}
	return arguments
}

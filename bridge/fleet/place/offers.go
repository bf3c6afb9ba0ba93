package place

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
)

// A Way is [Places.Link] for one server, and for all principals.
type Way func() (dial func(context.Context) (net.Conn, error), over <-chan struct{}, err error)

// An offer is a server that a node offers to the others while it has a way to it, such as one that is lent there.
// Places.mu guards by and changed.
type offer struct {
	own     Way
	end     context.CancelFunc // of announcing that
	by      run                // the latest node that has found a way; zero if that is not there, or this one
	changed chan struct{}      // closed, and replaced, when by changes, or own
	relay   *relay             // nil before Join
	again   chan struct{}      // has room for one: the others are to be told again, if this node has a way
}

// run is a run of a node.
type run struct {
	Node  string
	Epoch uint64
}

// retryTime is after how long a node tries again to tell the others.
const retryTime = time.Second

// SetOffers says which servers the nodes offer to each other, with the way that this node has to each at times. What
// has the same name is the same.
func (s *Places) SetOffers(offers map[string]Way) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		offers = nil
	}
	for name, o := range s.offers {
		if offers[name] == nil {
			o.end()
			delete(s.offers, name)
		}
	}
	for name, own := range offers {
		if s.offers[name] == nil {
			o := &offer{own: own, end: func() {}, changed: make(chan struct{}), again: make(chan struct{}, 1)}
			s.offers[name] = o
			s.announce(name, o)
		}
	}
}

// Elsewhere is Link for a server that another node offers.
func (s *Places) Elsewhere(name, principal string) (dial func(context.Context) (net.Conn, error), over <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offers[name]
	switch {
	case o == nil:
		return nil, nil, errors.New("the config does not have it any more")
	case o.by == run{}:
		return nil, o.changed, errors.New("no other node offers it now")
	}
	return s.dial(o.by, name, principal), o.changed, nil
}

// Offerer returns the node that offers a server to this one, "" if none does or this one has a way of its own.
func (s *Places) Offerer(name string) (node string) {
	s.mu.Lock()
	o, by := s.offers[name], ""
	if o != nil {
		by = o.by.Node
	}
	s.mu.Unlock()
	if by == "" {
		return ""
	}
	if _, _, err := o.own(); err == nil {
		return ""
	}
	return by
}

// joinOffers is Join for offers. Places.mu is held, as by the functions below.
func (s *Places) joinOffers() {
	s.book = s.node.Book("offers", 0)
	s.book.Watch(s.ctx, func(name string, value []byte, _ uint64) {
		var by run
		json.Unmarshal(value, &by) // nil means nobody
		s.mu.Lock()
		defer s.mu.Unlock()
		s.offered[name] = by
		s.find(name)
	})
	context.AfterFunc(s.ctx, s.engine.OnNodes(func([]engine.Node) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name := range s.offers {
			s.find(name)
		}
	}))
	for name, o := range s.offers {
		s.announce(name, o)
	}
}

// find finds out which other node offers a server. If none does, this one may: NATS has lost who does, or that was
// another one, which has ended or offers it no more.
func (s *Places) find(name string) {
	o, by := s.offers[name], s.offered[name]
	own := by == run{s.name, s.engine.Epoch()}
	if by.Node == s.name || !slices.ContainsFunc(s.engine.Nodes(), func(n engine.Node) bool { return by == run{n.ID, n.Epoch} }) {
		by = run{}
	}
	if o == nil {
		return
	}
	if o.by != by {
		o.by = by
		o.change()
	}
	if !own && by == (run{}) {
		select {
		case o.again <- struct{}{}:
		default:
		}
	}
}

func (o *offer) change() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// announce tells the other nodes while this one has a way to a server, until the offer ends.
func (s *Places) announce(name string, o *offer) {
	if s.engine == nil {
		return
	}
	s.find(name)
	var ctx context.Context
	ctx, o.end = context.WithCancel(s.ctx)
	o.relay = newRelay(ctx, o.own)
	s.work.Go(o.relay.serve)
	s.work.Go(func() {
		told := uint64(0)
		defer func() {
			last, cancel := context.WithTimeout(context.Background(), retryTime)
			defer cancel()
			s.tell(last, name, false, &told)
		}()
		for ctx.Err() == nil {
			_, over, err := o.own()
			s.mu.Lock()
			o.change() // who has called own before that, and may have got another answer, calls it again
			s.mu.Unlock()
			for again := true; again; {
				var retry <-chan time.Time
				if !s.tell(ctx, name, err == nil, &told) {
					retry = time.After(retryTime)
				}
				select {
				case <-over:
					again = false
				case <-retry:
				case <-o.again:
				case <-ctx.Done():
					return
				}
			}
		}
	})
}

// tell writes into the book whether this node offers a server, and reports whether that succeeded. told is the
// revision of the entry that this node has written, which tell updates; 0 means that it has written none.
func (s *Places) tell(ctx context.Context, name string, offers bool, told *uint64) bool {
	var value []byte
	known := *told
	switch {
	case offers:
		value, _ = json.Marshal(run{s.name, s.engine.Epoch()}) // cannot fail
		known = 0                                              // also in place of another's
	case known == 0:
		return true
	}
	next, _, err := s.book.Change(ctx, name, value, known, 0)
	if err == nil {
		*told = next
	}
	return err == nil
}

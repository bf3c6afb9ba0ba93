package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A node has its sessions while it renews a claim on NATS, and counts on that for less time than the others do. The claim
// names the nodes that may end it once it is old, which are those that the node knew. A node that does not reach NATS
// asks exactly those: who reaches it renews the claim for the node, and where nobody does all promise to end nothing for
// a while. So a node of which it has never heard goes on with nothing of it.

const (
	holdPath    = "/peer/hold"
	sealedHold  = "hold" // purpose of what a node asks with
	heldTime    = 4 * time.Second
	keptTime    = 6 * time.Second         // before others end a claim, and for which they promise
	lostTime    = 30 * time.Second        // after which those that may not end it say that its sessions are lost
	beatBefore  = 2500 * time.Millisecond // the end of heldTime: time for two attempts that wait for as long as they may
	beatTick    = 100 * time.Millisecond
	beatTime    = 500 * time.Millisecond // for NATS to answer
	askTime     = 700 * time.Millisecond // for the other nodes
	askEvery    = 500 * time.Millisecond
	saidTold    = "told"     // the answer of a node that has renewed the claim
	saidPromise = "promised" // of one that does not reach NATS either
	saidEnded   = "ended"    // instead of the answer of one where another run listens
)

// claim is what NATS keeps of a run.
type claim struct {
	Ended bool              `json:"ended,omitempty"`
	Nodes map[string]string `json:"nodes,omitempty"` // that may end it, and itself: the addresses of runs
}

const endedClaim = `{"ended":true}`

// tenure is for how long a node surely has its sessions.
type tenure struct {
	self func() run // of the node

	mu       sync.Mutex // guards what follows
	of       run
	term     context.Context // ends with the term; nil before the first
	endTerm  context.CancelFunc
	terms    int // that have begun
	until    time.Time
	revision uint64            // of the claim
	kept     time.Time         // when NATS last answered that it has that
	nodes    map[string]string // of the claim, and of another one that NATS may have
	complete bool              // the node itself is among them
}

// promise is what a node knows of one that has asked it.
type promise struct {
	address string
	until   time.Time
}

// Term returns for how long no other node goes on with the sessions of this one, at least: not at all unless left is
// positive. The context ends when another may: then each session is to be asked for with Adopt.
func (t *tenure) Term() (term context.Context, left time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.complete && t.of == t.self() {
		left = t.left()
	}
	return t.term, left
}

// unbroken reports whether the first term lasts: no other node can have gone on with a session of this one.
func (t *tenure) unbroken() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.terms == 1 && t.lasts(t.self())
}

// expire ends the context of a term that has ended.
func (t *tenure) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term != nil && !t.lasts(t.self()) {
		t.endTerm()
	}
}

// left is by both clocks: one may stand still while the system is suspended, the other may be set. t.mu is held.
func (t *tenure) left() time.Duration {
	now := time.Now()
	return min(t.until.Sub(now), t.until.Round(0).Sub(now.Round(0)))
}

// lasts reports whether the term of a run has not ended. t.mu is held.
func (t *tenure) lasts(of run) bool { return t.of == of && t.left() > 0 }

// prolong says that others go on with nothing of this node until keptTime after start. It begins no term: when one has
// ended, only NATS knows whether others have.
func (t *tenure) prolong(of run, start time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lasts(of) {
		t.until = start.Add(heldTime)
	}
}

// ends reports whether the term of a run lasts, and is to be prolonged by the other nodes.
func (t *tenure) ends(of run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lasts(of) && t.left() <= beatBefore
}

// due reports whether the claim is to be renewed, so that it lasts or names other nodes.
func (t *tenure) due(nodes map[string]string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left() <= beatBefore || !maps.Equal(t.nodes, nodes)
}

// calm returns how long it is to be looked neither at the claim nor at the end of the term, unless the nodes change.
func (t *tenure) calm(nodes map[string]string) time.Duration {
	if t.due(nodes) {
		return beatTick
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(beatTick, t.left()-beatBefore)
}

// know sets the nodes of the claim of a run. t.mu is held.
func (t *tenure) know(of run, nodes map[string]string) {
	t.nodes = nodes
	_, t.complete = nodes[of.String()]
}

// known returns the nodes that this one knows.
func (n *Node) known() map[string]string {
	all := map[string]string{}
	for _, node := range n.opts.Engine.Nodes() {
		all[Run(node)] = node.Address
	}
	return all
}

// beat renews the claim, and begins a term unless one lasts. It is called by one goroutine at a time.
func (n *Node) beat(ctx context.Context) error {
	t, self, start, nodes := &n.tenure, n.self(), time.Now(), n.known()
	t.mu.Lock()
	last, either := t.revision, maps.Clone(nodes) // as it may be unknown which claim NATS has
	maps.Copy(either, t.nodes)
	if _, is := nodes[self.String()]; !is { // the list is being filled again
		nodes = either
	}
	t.know(self, either)
	t.mu.Unlock()
	value, err := json.Marshal(claim{Nodes: nodes})
	if err != nil {
		return err
	}
	revision, err := n.held.Update(ctx, self.String(), value, last, 0)
	if errors.Is(err, engine.ErrConflict) {
		known, failure := n.held.Get(ctx, self.String())
		switch err = failure; {
		case err == nil: // another node has written it
			if parseClaim(known).Ended {
				t.end()
			}
			revision, err = n.held.Update(ctx, self.String(), value, known.Revision, 0)
		case errors.Is(err, engine.ErrNotFound): // NATS has lost it, and who goes on with what
			t.end()
			revision, err = n.held.Create(ctx, self.String(), value, 0)
		}
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.know(self, nodes)
	t.revision, t.kept = revision, time.Now()
	if !t.lasts(self) {
		if t.term != nil {
			t.endTerm()
		}
		t.term, t.endTerm = context.WithCancel(context.Background())
		t.terms++
	}
	t.of, t.until = self, start.Add(heldTime)
	return nil
}

// end says that others may go on with the sessions of this node.
func (t *tenure) end() {
	t.mu.Lock()
	t.until = time.Time{}
	t.mu.Unlock()
	t.expire()
}

func parseClaim(e engine.Entry) (c claim) {
	json.Unmarshal(e.Value, &c) // anything else leaves c empty, which no node may end
	return c
}

// hold keeps the node's sessions.
func (n *Node) hold() {
	changed := make(chan struct{}, 1)
	defer n.opts.Engine.OnNodes(func([]engine.Node) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	var asked time.Time
	for {
		look := time.NewTimer(n.tenure.calm(n.known()))
		select {
		case <-look.C:
		case <-changed:
		case <-n.ctx.Done():
		}
		if look.Stop(); n.ctx.Err() != nil {
			return
		}
		n.tenure.expire()
		if !n.tenure.due(n.known()) {
			continue
		}
		ctx, cancel := context.WithTimeout(n.ctx, beatTime)
		err := n.beat(ctx)
		cancel()
		self, start := n.self(), time.Now()
		if err == nil || start.Sub(asked) < askEvery || !n.tenure.ends(self) {
			continue
		}
		if asked = start; n.askAll(self) {
			n.tenure.prolong(self, start)
		}
	}
}

// askAll asks the nodes that may end the claim, and reports whether one has renewed it, or all have promised but those
// that have surely ended.
func (n *Node) askAll(self run) bool {
	n.tenure.mu.Lock()
	nodes := n.tenure.nodes
	n.tenure.mu.Unlock()
	ctx, cancel := context.WithTimeout(n.ctx, askTime)
	defer cancel()
	var mu sync.Mutex // guards what follows
	told, silent := false, false
	var asking sync.WaitGroup
	for name, address := range nodes {
		if name == self.String() {
			continue
		}
		asking.Go(func() {
			said := n.ask(ctx, name, address, nodes[self.String()])
			mu.Lock()
			defer mu.Unlock()
			switch said {
			case saidTold:
				told = true
			case "":
				silent = true
			}
		})
	}
	asking.Wait()
	return told || !silent
}

// ask asks a node, and returns its answer: "" for none. own is the address of this one.
func (n *Node) ask(ctx context.Context, name, address, own string) (said string) {
	to, failure := parseRun(name)
	if failure != nil {
		return ""
	}
	p, failure := n.peerAt(to, address)
	if failure != nil {
		return ""
	}
	x, err := p.take(ctx, "")
	switch {
	case errors.Is(err, errOtherRun):
		return saidEnded
	case err != nil:
		return ""
	}
	defer x.Close()
	defer context.AfterFunc(ctx, func() { x.Close() })()
	body := []byte(n.Seal(sealedHold, []byte(own)))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node"+holdPath, bytes.NewReader(body))
	if err != nil {
		return ""
	}
	resp, err := x.roundTrip(r)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(io.LimitReader(resp.Body, 100)); err == nil && resp.StatusCode == http.StatusOK {
		said = string(answer)
	}
	return said
}

// serveHold answers a node that asks.
func (n *Node) serveHold(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<10))
	address, by, ok := n.Open(sealedHold, string(body))
	if err != nil || !ok || by == "" {
		http.NotFound(w, r)
		return
	}
	now := time.Now()
	n.mu.Lock()
	for name, p := range n.promises {
		if now.After(p.until) {
			delete(n.promises, name)
		}
	}
	n.promises[by] = promise{string(address), now.Add(keptTime)}
	n.mu.Unlock()
	answer := saidPromise
	if n.opts.Engine.Up() {
		ctx, cancel := context.WithTimeout(r.Context(), askTime/2) // as the node waits for it
		defer cancel()
		switch err := n.renew(ctx, by); {
		case err == nil:
			answer = saidTold
		case !errors.Is(err, engine.ErrUnavailable):
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
	}
	io.WriteString(w, answer)
}

// promised reports whether this node is to go on with no session of a run for now, and the run's address.
func (n *Node) promised(name string) (address string, is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.promises[name]
	return p.address, time.Now().Before(p.until)
}

// renew renews the claim of another run.
func (n *Node) renew(ctx context.Context, name string) error {
	known, err := n.held.Get(ctx, name)
	if err == nil && parseClaim(known).Ended {
		err = errors.New("its sessions have been given to other nodes")
	}
	if err == nil {
		_, err = n.held.Update(ctx, name, known.Value, known.Revision, 0)
	}
	return err
}

// fate finds out whether a run has its sessions no more, and ends its claim if that is old. An error is a
// *toolformat.Error: NotFound if nobody goes on with them, unless the run does at its address, and Unavailable if that
// cannot be told.
func (n *Node) fate(ctx context.Context, r run) (fate, error) {
	known, err := n.held.Get(ctx, r.String())
	if errors.Is(err, engine.ErrNotFound) {
		if time.Since(time.UnixMilli(int64(r.epoch))) < lostTime { // it may be about to claim them
			return fate{}, unavailable(err)
		}
		return fate{}, toolformat.Errorf(toolformat.NotFound, "nothing is known of node %s", r)
	}
	if err != nil {
		return fate{}, unavailable(err)
	}
	claimed := parseClaim(known)
	runs, ended := fate{address: claimed.Nodes[r.String()]}, fate{ended: true}
	if claimed.Ended || n.replaced(ctx, r, runs.address) {
		return ended, nil
	}
	old, err := n.age(ctx, known)
	_, may := claimed.Nodes[n.self().String()]
	_, promised := n.promised(r.String())
	switch {
	case err != nil:
		return fate{}, unavailable(err)
	case old < keptTime, !may && old < lostTime, may && promised:
		return runs, nil
	case !may:
		return runs, toolformat.Errorf(toolformat.NotFound, "node %s has ended, and this one is too new to go on with its sessions", r)
	}
	// The run's term has ended, as its claim is old and this node's last promise is over. A promise to it from now on
	// begins none, so it does not matter when NATS carries this out.
	_, err = n.held.Update(ctx, r.String(), []byte(endedClaim), known.Revision, 0)
	switch {
	case errors.Is(err, engine.ErrConflict):
		return runs, nil
	case err != nil:
		return fate{}, unavailable(err)
	}
	return ended, nil
}

// age returns for how long a claim has not been renewed, at least, by the clock of NATS: that of this node's own claim.
func (n *Node) age(ctx context.Context, known engine.Entry) (time.Duration, error) {
	own, err := n.held.Get(ctx, n.self().String())
	if err != nil {
		return 0, err
	}
	n.tenure.mu.Lock()
	defer n.tenure.mu.Unlock()
	now := own.Written
	if own.Revision == n.tenure.revision {
		now = now.Add(time.Since(n.tenure.kept))
	}
	return now.Sub(known.Written), nil
}

// replaced reports whether another run listens at the address of one that has lost its connection to NATS: its process
// has ended. Where nobody does, a firewall may refuse what is sent to one that goes on. What it finds is kept on NATS for
// the other nodes.
func (n *Node) replaced(ctx context.Context, r run, address string) bool {
	bounded, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	if alive, err := n.opts.Engine.Alive(bounded, r.node, r.epoch); err != nil || alive || address == "" {
		return false
	}
	c, _, err := n.dial(bounded, address, r, subprotocol)
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, errOtherRun) {
		return false
	}
	n.held.Put(ctx, r.String(), []byte(endedClaim), 0)
	return true
}

package fleet

import (
	"cmp"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Node is this process as one of the nodes of a cluster, and the listener whose connections are streams of
// other nodes' links, or direct: what they forward is HTTP. Its methods may be called at once.
type Node struct {
	opts     Options
	sessions *engine.Bucket // what is known of sessions, by hashes of their ids
	streams  chan net.Conn
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	stop     func()         // ends forget
	held     *engine.Bucket // the claims of runs
	tenure

	mu    sync.Mutex        // guards the fields below; may be taken with that of a peer held
	peers map[string]*peer  // by the names of their runs
	moved map[string]string // by sessionKey
	// promises are those to go on with no session of a run.
	promises  map[string]promise
	inquiries map[run]*inquiry      // under way
	links     map[*mux.Mux]struct{} // accepted

	// strangers end the handshakes at /peer whose other ends have not proved that they are nodes, the oldest first.
	strangers []*context.CancelFunc

	closed bool
	work   sync.WaitGroup
}

// Options configure a Node.
type Options struct {
	Keys   *Keys
	Engine *engine.Engine // with the name and the runs of the nodes
	Name   string         // of this node, as the Engine has it
	Log    *slog.Logger   // nil means no log
}

// New returns a node, which is to be closed before its Engine is. Other nodes reach it at the address that the
// Engine announces: the URL of ServeHTTP without /peer, such as http://10.0.0.3:7332.
func New(opts Options) *Node {
	n := &Node{
		opts: opts, sessions: opts.Engine.Bucket("sessions", sessionTime), streams: make(chan net.Conn),
		peers: map[string]*peer{}, moved: map[string]string{}, promises: map[string]promise{},
		inquiries: map[run]*inquiry{}, links: map[*mux.Mux]struct{}{},
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	n.stop = opts.Engine.OnNodes(n.forget)
	n.tenure.self = n.self
	n.held = opts.Engine.Bucket("claims", sessionTime)
	n.start(n.hold)
	return n
}

// maxStrangers bounds the handshakes at /peer, which cost what nobody has been let in for. One more ends the oldest:
// a node needs only a moment for its own, whatever others do.
const maxStrangers = 64

// meet begins the handshake of a stranger. known ends it.
func (n *Node) meet(ctx context.Context) (_ context.Context, known func()) {
	ctx, cancel := context.WithCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.strangers) >= maxStrangers {
		(*n.strangers[0])()
		n.strangers = n.strangers[1:]
	}
	n.strangers = append(n.strangers, &cancel)
	return ctx, func() {
		cancel()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.strangers = slices.DeleteFunc(n.strangers, func(other *context.CancelFunc) bool { return other == &cancel })
	}
}

// run is a run of a node: each start of it is another one.
type run struct {
	node  string
	epoch uint64
}

func (r run) String() string { return r.node + "." + strconv.FormatUint(r.epoch, 36) }

// Run returns the name of a run of a node, as it was announced.
func Run(n engine.Node) string { return run{n.ID, n.Epoch}.String() }

// parseRun reads what String has written.
func parseRun(text string) (run, *toolformat.Error) {
	dot := strings.LastIndexByte(text, '.')
	epoch, err := strconv.ParseUint(text[dot+1:], 36, 64)
	if err != nil || dot < 0 {
		return run{}, toolformat.Errorf(toolformat.NotFound, "no node %.80q", text)
	}
	return run{text[:dot], epoch}, nil
}

// self is this run of this node.
func (n *Node) self() run { return run{n.opts.Name, n.opts.Engine.Epoch()} }

// Seal returns text that any node of the cluster opens, and nobody else: data, and that it is of this run of
// this node. It is good for one purpose.
func (n *Node) Seal(purpose string, data []byte) string {
	self := n.self()
	plain := make([]byte, 0, len(self.node)+len(data)+2*binary.MaxVarintLen64)
	plain = binary.AppendUvarint(plain, self.epoch)
	plain = binary.AppendUvarint(plain, uint64(len(self.node)))
	return n.opts.Keys.seal(purpose, append(append(plain, self.node...), data...))
}

// Open returns what Seal has sealed for a purpose, and the run that did, "" for this one, or the run that is known to
// have gone on with a session of this one; ok is false for any other text.
func (n *Node) Open(purpose, sealed string) (data []byte, by string, ok bool) {
	plain, _, err := n.opts.Keys.open(purpose, sealed)
	if err != nil {
		return nil, "", false
	}
	epoch, size := binary.Uvarint(plain)
	length, more := binary.Uvarint(plain[max(size, 0):])
	if rest := plain[max(size, 0)+max(more, 0):]; size > 0 && more > 0 && length <= uint64(len(rest)) {
		sealer := run{string(rest[:length]), epoch}
		if sealer != n.self() {
			return rest[length:], sealer.String(), true
		}
		return rest[length:], n.owner(sealed, ""), true // of a session that another one has gone on with
	}
	return nil, "", false
}

// ServeHTTP accepts the link of another node, at /peer.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == holdPath {
		n.serveHold(w, r)
		return
	}
	if r.Header.Get(runHeader) != n.self().String() {
		n.refuse(w, r)
		return
	}
	ctx, known := n.meet(context.WithoutCancel(r.Context()))
	c, isDirect, err := n.opts.Keys.accept(ctx, w, r)
	known()
	if err != nil {
		n.opts.Log.Warn("refused a link of another node", "address", r.RemoteAddr, "error", err)
		return
	}
	if isDirect {
		n.handOver(direct{c})
		return
	}
	link := mux.New(c, false, peerTerms())
	defer link.Close()
	if !n.add(link) {
		return
	}
	defer n.work.Done()
	for {
		stream, err := link.Accept()
		if err != nil {
			break
		}
		n.handOver(stream)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.links, link)
}

// handOver makes a connection one that the listener has accepted, unless that is closed.
func (n *Node) handOver(c net.Conn) {
	select {
	case n.streams <- c:
	case <-n.ctx.Done():
		c.Close()
	}
}

// add counts an accepted link, and reports false if the node is closed.
func (n *Node) add(link *mux.Mux) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.links[link] = struct{}{}
		n.work.Add(1)
	}
	return !n.closed
}

// start runs f in a goroutine that Close waits for, and reports false when the node is closed.
func (n *Node) start(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.work.Go(f)
	}
	return !n.closed
}

// Accept implements net.Listener.
func (n *Node) Accept() (net.Conn, error) {
	select {
	case s := <-n.streams:
		return s, nil
	case <-n.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener: its text is the name of this run.
func (n *Node) Addr() net.Addr { return &net.UnixAddr{Name: n.self().String(), Net: "peer"} }

// Close ends all links, and waits for what they have started.
func (n *Node) Close() error {
	n.mu.Lock()
	n.closed = true
	for link := range n.links {
		link.Close()
	}
	peers := n.peers
	n.peers = nil
	n.mu.Unlock()
	for _, p := range peers {
		p.close()
	}
	n.stop()
	n.cancel()
	n.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), beatTime)
	defer cancel()
	n.tenure.end()
	n.held.Put(ctx, n.self().String(), []byte(endedClaim), 0) // else the others wait
	return nil
}

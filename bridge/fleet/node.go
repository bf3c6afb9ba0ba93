package fleet

import (
	"cmp"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/xtaci/smux"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Node is this process as one of the nodes of a cluster, and the listener whose connections are streams of
// other nodes' links: what they forward is HTTP. Its methods may be called at once.
type Node struct {
	opts    Options
	self    string // this run
	streams chan net.Conn
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	mu     sync.Mutex // guards the fields below; may be taken with that of a peer held
	peers  map[string]*peer
	links  map[*smux.Session]struct{} // accepted
	closed bool
	work   sync.WaitGroup
}

// Options configure a Node.
type Options struct {
	Keys  *Keys
	Name  string // of this node, unique in the cluster
	Epoch uint64 // of this run of the node: larger than those before

	// Find returns the URL of a run of a node, such as http://10.0.0.3:7332. An error that is NotFound
	// means that the run has ended, and Unavailable that this cannot be told. It is called for each
	// request that is forwarded, and must not wait.
	Find func(name string, epoch uint64) (url string, err *toolformat.Error)

	Log *slog.Logger // nil means no log
}

// New returns a node, which is to be closed.
func New(opts Options) *Node {
	n := &Node{
		opts: opts, self: runName(opts.Name, opts.Epoch), streams: make(chan net.Conn),
		peers: map[string]*peer{}, links: map[*smux.Session]struct{}{},
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	return n
}

// runName names a run of a node.
func runName(node string, epoch uint64) string { return node + "." + strconv.FormatUint(epoch, 36) }

// Seal returns text that any node of the cluster opens, and nobody else: data, and that it is of this run of
// this node. It is good for one purpose.
func (n *Node) Seal(purpose string, data []byte) string {
	plain := make([]byte, 0, len(n.opts.Name)+len(data)+2*binary.MaxVarintLen64)
	plain = binary.AppendUvarint(plain, n.opts.Epoch)
	plain = binary.AppendUvarint(plain, uint64(len(n.opts.Name)))
	return n.opts.Keys.seal(purpose, append(append(plain, n.opts.Name...), data...))
}

// Open returns what Seal has sealed for a purpose, and the run that did, "" for this one; ok is false for
// any other text.
func (n *Node) Open(purpose, sealed string) (data []byte, run string, ok bool) {
	plain, err := n.opts.Keys.open(purpose, sealed)
	if err != nil {
		return nil, "", false
	}
	epoch, size := binary.Uvarint(plain)
	length, more := binary.Uvarint(plain[max(size, 0):])
	if rest := plain[max(size, 0)+max(more, 0):]; size > 0 && more > 0 && length <= uint64(len(rest)) {
		name := string(rest[:length])
		if name != n.opts.Name || epoch != n.opts.Epoch {
			run = runName(name, epoch)
		}
		return rest[length:], run, true
	}
	return nil, "", false
}

// ServeHTTP accepts the link of another node, at /peer.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	link, err := n.opts.Keys.accept(w, r)
	if err != nil {
		n.opts.Log.Warn("refused a link of another node", "address", r.RemoteAddr, "error", err)
		return
	}
	defer link.Close()
	if !n.add(link) {
		return
	}
	defer n.work.Done()
	for {
		stream, err := link.AcceptStream()
		if err != nil {
			break
		}
		select {
		case n.streams <- deadlines{stream}:
		case <-n.ctx.Done():
			stream.Close()
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.links, link)
}

// add counts an accepted link, and reports false if the node is closed.
func (n *Node) add(link *smux.Session) bool {
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

// Addr implements net.Listener.
func (n *Node) Addr() net.Addr { return &net.UnixAddr{Name: n.self, Net: "peer"} }

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
	n.cancel()
	n.work.Wait()
	return nil
}

package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	relinkMin = time.Second      // before another attempt, doubled with each that fails
	relinkMax = 30 * time.Second // bounds that
	maxReason = 4 << 10          // bytes of what a hub says
)

// LenderOptions configure a Lender.
type LenderOptions struct {
	Hub   *url.URL               // ws or wss
	Name  string                 // of the server in the hub's config; "" means the only one that the token's holder may lend
	Token func() (string, error) // returns the bearer token of the hub, for each link
	TLS   *tls.Config            // nil means that of the system

	// Report is called, in the Lender's own goroutine, when the server is lent, with its name there, and
	// when that ends or another reason keeps it from being lent.
	Report func(name string, reason error)
}

// A Lender lends what is served on its connections to a bridge elsewhere: it is a listener whose
// connections are streams of a link that it opens to a [Hub], again whenever that is lost. Its methods may
// be called at once.
type Lender struct {
	opts    LenderOptions
	streams chan net.Conn
	ended   chan struct{} // closed when no link is opened any more
	failure error         // for Accept, set before that

	closing context.Context // ends with Close
	close   context.CancelFunc
	ending  context.Context // ends with End
	end     context.CancelFunc
	work    sync.WaitGroup
}

// A RefusedError is why a hub does not take what is lent, which another attempt would not change.
type RefusedError struct {
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// NewLender begins to open a link. End is to be called.
func NewLender(opts LenderOptions) *Lender {
	l := &Lender{opts: opts, streams: make(chan net.Conn), ended: make(chan struct{})}
	l.closing, l.close = context.WithCancel(context.Background())
	l.ending, l.end = context.WithCancel(context.Background())
	l.work.Go(l.run)
	return l
}

// Accept implements net.Listener. The error is a *RefusedError if the hub refused the first link, or if
// another lender has replaced this one, which are the reasons for which no other link is opened.
func (l *Lender) Accept() (net.Conn, error) {
	select {
	case s := <-l.streams:
		return s, nil
	case <-l.closing.Done():
		return nil, net.ErrClosed
	case <-l.ended:
		return nil, l.failure
	}
}

// Addr implements net.Listener.
func (l *Lender) Addr() net.Addr { return &net.UnixAddr{Name: l.opts.Hub.Host, Net: "lent"} }

// Close implements net.Listener: it accepts nothing any more. What is under way on the link goes on until
// End.
func (l *Lender) Close() error {
	l.close()
	return nil
}

// End ends the link, and waits for that.
func (l *Lender) End() {
	l.close()
	l.end()
	l.work.Wait()
}

// run keeps a link open.
func (l *Lender) run() {
	defer close(l.ended)
	lent, said := false, ""
	for failures := 0; ; failures++ {
		link, name, err := l.dial()
		if err == nil {
			lent, failures, said = true, 0, ""
			l.opts.Report(name, nil)
			err = l.serve(link)
		}
		if l.closing.Err() != nil {
			return
		}
		kind := "unreachable" // whatever the error of the network
		switch refused := (*RefusedError)(nil); {
		case err == errReplaced:
			l.failure = &RefusedError{err.Error()}
			return
		case !errors.As(err, &refused):
		case !lent:
			l.failure = refused
			return
		default:
			kind = refused.Reason
		}
		if said != kind {
			said = kind
			l.opts.Report("", err)
		}
		delay := min(relinkMax, relinkMin<<min(failures, 10))
		select {
		case <-time.After(delay/2 + rand.N(delay/2)):
		case <-l.closing.Done():
			return
		}
	}
}

// dial opens a link, and returns the name of the server in the hub's config.
func (l *Lender) dial() (*lentLink, string, error) {
	token, err := l.opts.Token()
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(l.closing, handshakeTime)
	defer cancel()
	at := l.opts.Hub.JoinPath(LendPath)
	at.RawQuery = url.Values{nameKey: {l.opts.Name}}.Encode()
	dialing, stop := dialUntil(ctx)
	defer stop() // before cancel
	dialer := websocket.Dialer{
		NetDialContext: dialing, Proxy: http.ProxyFromEnvironment, TLSClientConfig: l.opts.TLS,
		Subprotocols: []string{lendProtocol}, HandshakeTimeout: handshakeTime,
	}
	ws, answer, err := dialer.DialContext(ctx, at.String(), http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		if answer == nil {
			return nil, "", err
		}
		return nil, "", refusal(answer)
	}
	if ws.Subprotocol() != lendProtocol {
		ws.Close()
		return nil, "", &RefusedError{"it takes no servers that are lent in the way of this version"}
	}
	return &lentLink{mux.New(newConn(ws), false, lendTerms()), ws}, answer.Header.Get(lentAs), nil
}

// refusal returns the error for an answer that is not a link.
func refusal(answer *http.Response) error {
	defer answer.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(answer.Body, maxReason))
	text := strings.TrimSpace(string(raw))
	if message, ok := wire.Text(wire.Lookup(raw, "error", "message")); ok {
		text = message
	}
	text = fmt.Sprintf("HTTP %s: %s", answer.Status, cmp.Or(text, "no reason"))
	if code := answer.StatusCode; code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout {
		return errors.New(text)
	}
	return &RefusedError{text}
}

// errReplaced is the error of a link that another one has replaced.
var errReplaced = errors.New("another mcpbridge lend has taken the place of this one")

// serve gives the streams of a link to Accept until it ends, and returns why it has.
func (l *Lender) serve(link *lentLink) error {
	defer context.AfterFunc(l.ending, func() { link.end(websocket.CloseNormalClosure, "the lender has ended") })()
	defer link.Close()
	for {
		stream, err := link.Accept()
		if err != nil {
			return ended(err)
		}
		select {
		case l.streams <- stream:
		case <-l.closing.Done():
			stream.Close()
		}
	}
}

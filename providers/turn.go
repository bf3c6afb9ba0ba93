package providers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// An Exchange is one turn as an API expects it: the request, and the decoder of the response.
type Exchange struct {
	Path string // of the API, such as /v1/messages
	Body []byte // a JSON object, after Client.MergeBody

	// Messages are the value of the last member of the body: an array without its end, in pieces that are
	// sent one after the other. Member is the name of that member; "" means that Body is all there is.
	Member   string
	Messages [][]byte

	Notes   []string // for the caller, such as about a file that the API does not take
	Decoder Decoder
}

// body returns the whole body. Messages that the caller has put into Client.Body or Settings.Body take
// the place of others.
func (x *Exchange) body() net.Buffers {
	if x.Member == "" || bytes.Contains(x.Body, []byte(`"`+x.Member+`"`)) && wire.Lookup(x.Body, x.Member) != nil {
		return net.Buffers{x.Body}
	}
	before := x.Body[:len(x.Body)-1]
	member := append(wire.AppendString([]byte(","), x.Member), ':')
	if len(before) == 1 { // it is the only member
		member = member[1:]
	}
	return append(append(net.Buffers{before, member}, x.Messages...), []byte("]}"))
}

// A Decoder makes a turn of one response.
type Decoder interface {
	// Read reads a response to the end of its turn and emits text, thinking and arguments
	// as they arrive. An error means that the turn is incomplete: an *APIError (Unreadable,
	// or the provider's error within a stream), or io.ErrUnexpectedEOF if the response ended
	// before its turn.
	Read(resp *Response, emit func(Event)) error

	// Turn returns the turn as far as it was read. It is called once, after Read.
	Turn() *Turn
}

// Turn sends the request of an exchange and decodes the response. It is the whole of a
// Provider's Turn after its encoder.
func (c *Client) Turn(ctx context.Context, x Exchange, emit func(Event)) (*Turn, error) {
	emit = emitter(emit)
	for _, note := range x.Notes {
		emit(Event{Type: EventNote, Text: note})
	}
	resp, err := c.post(ctx, x.Path, x.body(), emit)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	err = x.Decoder.Read(resp, emit)
	turn := x.Decoder.Turn()
	if err != nil {
		turn.Stop, turn.Message.Raw = StopCut, nil // half a message must not be sent back
		return turn, resp.brokeOff(ctx, err)
	}
	return turn, nil
}

// The bounds of a response. The longest today have 128,000 tokens in events of up to 400
// bytes each, which is less than half of defaultMaxBody.
const (
	defaultMaxEvent = 64 << 20
	defaultMaxBody  = 128 << 20
)

// A Response is a provider's answer with a 2xx status. It must be closed.
type Response struct {
	Header  http.Header
	Done    bool // Events ended at "[DONE]"
	body    io.ReadCloser
	client  *Client
	request *http.Request
	cancel  context.CancelCauseFunc
	timer   *time.Timer
}

// errSilent is the cause when Patience has passed.
var errSilent = errors.New("the provider was silent for too long")

// A boundedBody fails after a silence, and when it is too long.
type boundedBody struct {
	io.ReadCloser
	ctx      context.Context
	timer    *time.Timer
	patience time.Duration
	most     int64
	seen     int64 // bytes read so far
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.patience)
	}
	if b.seen += int64(n); b.seen > b.most {
		e := &APIError{Status: http.StatusOK, Message: fmt.Sprintf("the response is longer than %d bytes", b.most)}
		return max(0, n-int(b.seen-b.most)), e
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

// Read reads the body as it arrives, within the bounds of the Client: for framings other
// than Events and Lines.
func (r *Response) Read(p []byte) (int, error) { return r.body.Read(p) }

// readWhole calls whole with the body if that is not a stream: if its type is
// application/json. whole may be nil if the body is always a stream.
func (r *Response) readWhole(whole func(body []byte) error) (read bool, err error) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if whole == nil || !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return false, nil
	}
	body, err := io.ReadAll(r.body)
	if err == nil {
		err = whole(body)
	}
	return true, err
}

// Events reads server-sent events and calls read with the type and the data of each; data is
// only valid until read returns. It ends at the end of the body, at "[DONE]", or with the
// error of read. A body that is not streamed, as servers that imitate a vendor's may answer,
// is given to whole instead.
func (r *Response) Events(read func(kind string, data []byte) error, whole func(body []byte) error) error {
	if read, err := r.readWhole(whole); read {
		return err
	}
	events := wire.NewEventReader(r.body, cmp.Or(r.client.MaxEvent, defaultMaxEvent))
	for {
		ev, err := events.Next()
		if err != nil {
			return atEnd(err)
		}
		if ev.Data == nil {
			continue
		}
		data := ev.Data.B
		if r.Done = string(bytes.TrimSpace(data)) == "[DONE]"; r.Done {
			ev.Data.Free()
			return nil
		}
		err = read(ev.Type, data)
		ev.Data.Free()
		if err != nil {
			return err
		}
	}
}

// Lines is Events for lines of JSON, each of which read is called with.
func (r *Response) Lines(read, whole func(data []byte) error) error {
	if read, err := r.readWhole(whole); read {
		return err
	}
	lines := wire.NewLineReader(r.body, cmp.Or(r.client.MaxEvent, defaultMaxEvent))
	for {
		line, err := lines.Read()
		if err != nil {
			return atEnd(err)
		}
		if len(bytes.TrimSpace(line.B)) > 0 {
			err = read(line.B)
		}
		line.Free()
		if err != nil {
			return err
		}
	}
}

// atEnd returns the error of a stream; nil at its end.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Close ends the response, which need not be read to its end.
func (r *Response) Close() error {
	r.timer.Stop()
	r.cancel(nil)
	if r.body == nil { // the request failed
		return nil
	}
	return r.body.Close()
}

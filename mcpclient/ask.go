package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// questionCapability has the requests of servers to clients, and the client capabilities that they need.
var questionCapability = map[string]string{
	wire.MethodCreateMessage: "sampling", wire.MethodElicit: "elicitation", wire.MethodRootsList: "roots",
}

// maxQuestions bounds the questions of a connection that wait for an answer, with the answers that are being sent, and
// maxQuestionBytes the bytes of the questions.
const maxQuestions, maxQuestionBytes = 64, 8 << 20

// question is one of the server that waits for an answer.
type question struct {
	cancel   context.CancelFunc
	size     int  // bytes
	outlives bool // the loss of the connection, like the call on whose own stream it came
}

// requested takes a request of the server, which was received on the stream of the call from, if
// any. It owns buf, the message's memory.
func (c *conn) requested(m *wire.Message, buf *wire.Buffer, from *call) {
	capability := questionCapability[m.Method]
	c.link.noteAsk(capability)
	switch {
	case m.Method == wire.MethodPing:
		c.respond(wire.AppendResult(nil, m.ID, []byte("{}")))
	case capability == "" && c.link.vendor:
		c.forward(m, buf, from)
		return
	case capability == "" || wire.Lookup(c.offered, capability) == nil:
		c.cfg.throttle.Log(slog.LevelInfo, "refused a request of the server: no such capability was offered to it", "method", m.Method)
		c.respond(wire.AppendError(nil, m.ID, wire.MethodNotFound, "method not found: "+m.Method, nil))
	default:
		c.forward(m, buf, from)
		return
	}
	buf.Free()
}

// noteAsk notes that the server has made a request for which a client needs a capability, if any.
func (l *link) noteAsk(capability string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if capability != "" && !slices.Contains(l.asks, capability) {
		l.asks = append(l.asks, capability)
	}
}

// forward puts a question to the caller and sends the answer to the server. Meanwhile the time of
// calls stands still. The question ends with the call that it belongs to, or after the maximum of
// a call.
func (c *conn) forward(m *wire.Message, buf *wire.Buffer, from *call) {
	id := string(m.ID)
	ask, life := c.route(m.Method, from)
	ctx, cancel := context.WithTimeout(life, c.cfg.MaxTimeout)
	if !c.addQuestion(id, question{cancel, len(buf.B), from != nil}) {
		cancel()
		c.cfg.throttle.Log(slog.LevelWarn, "refused a request of the server: too many, or too large ones, wait for an answer", "method", m.Method, "bytes", len(buf.B))
		c.respond(wire.AppendError(nil, m.ID, wire.InternalError, fmt.Sprintf("too many requests are waiting for an answer: at most %d, of %d bytes", maxQuestions, maxQuestionBytes), nil))
		buf.Free()
		return
	}
	method, params := m.Method, m.Params.Raw
	c.startLate(func() {
		defer cancel()
		result, err := c.cfg.callAsker(ctx, ask, method, params)
		wanted := c.beginAnswer(id) // else canceled by the server
		answer := wire.AppendResult(nil, []byte(id), result)
		if err != nil {
			answer = appendAskError([]byte(id), err)
		}
		buf.Free() // which counts no longer, and the server may take long to accept the answer
		if wanted {
			c.answer(answer)
		}
	})
}

// beginAnswer ends a question whose answer is sent next; false means that the id is unknown.
func (c *conn) beginAnswer(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.removeQuestion(id)
	if known {
		c.answers++
	}
	return known
}

// answer sends an answer: not in the background, where it could be dropped. It ends what beginAnswer has begun.
func (c *conn) answer(msg []byte) {
	if err := c.sendLate(msg); err != nil && c.alive() {
		c.cfg.throttle.Log(slog.LevelWarn, "the answer to a request of the server could not be sent", "reason", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers--
}

// route decides which caller answers a question: that of the call on whose stream it came, else
// that of the newest call. The context is that of the call that the question certainly belongs
// to, if there is one: that of the stream, or the only one. A server may ask for roots at any time.
func (c *conn) route(method string, from *call) (asker, context.Context) {
	asked, cause := from, from // the call whose caller is asked, and the one that certainly asks
	if from == nil || from.back == nil {
		if newest, only := c.newestCall(); newest != nil {
			asked = newest
			if only {
				cause = newest
			}
		}
	}
	ask, life := c.link.ask, context.Background()
	switch {
	case method == wire.MethodCreateMessage && !c.clientSamples:
		ask = c.cfg.sample
	case asked != nil && asked.back != nil:
		ask = asked.back.Ask
	}
	if cause != nil && method != wire.MethodRootsList {
		life = cause.life()
	}
	return ask, life
}

// appendAskError makes the response for a question without an answer.
func appendAskError(id []byte, e *toolformat.Error) []byte {
	if e.Raw != nil {
		return wire.AppendErrorObject(nil, id, e.Raw)
	}
	code := wire.InternalError
	if errors.Is(e, context.Canceled) || e.Code == toolformat.Canceled {
		code = -32000
	}
	return wire.AppendError(nil, id, code, e.Message, nil)
}

// addQuestion adds a question, and holds the calls' time if it is the first; false means that
// there are too many, that they are too large, or that its id is in use.
func (c *conn) addQuestion(id string, q question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.questions[id]
	if c.closing || c.lost && !q.outlives || known || len(c.questions)+c.answers >= maxQuestions || c.asked+q.size > maxQuestionBytes {
		return false
	}
	c.questions[id] = q
	c.asked += q.size
	if len(c.questions) == 1 {
		for _, k := range c.calls {
			k.timer.Hold()
		}
	}
	return true
}

// endQuestion removes and cancels a question; false means that the id is unknown.
func (c *conn) endQuestion(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeQuestion(id)
}

// removeQuestion is endQuestion with c.mu held.
func (c *conn) removeQuestion(id string) bool {
	q, known := c.questions[id]
	if !known {
		return false
	}
	q.cancel()
	c.asked -= q.size
	delete(c.questions, id)
	if len(c.questions) == 0 {
		for _, k := range c.calls {
			k.timer.Release()
		}
	}
	return true
}

// maxRounds bounds a server that never has all the input it wants.
const maxRounds = 20

// provideInput asks a caller of the legacy era for the input that a server of the modern one
// requires, and repeats the request with it until the result is complete. A caller of the modern
// era is asked only for input that goes with what Sampling answers.
func (c *conn) provideInput(ctx context.Context, req *bridge.Request, owner *session, reply bridge.Reply) (bridge.Reply, *loss) {
	for range maxRounds {
		required := string(wire.Lookup(reply.Result, "resultType")) == `"input_required"`
		if reply.Err != nil || !required || owner.caller.Modern && !c.samples(owner, reply.Result) {
			return reply, nil
		}
		responses, err := c.inputResponses(ctx, req, owner, wire.Lookup(reply.Result, "inputRequests"))
		if err != nil {
			reply.Free()
			return bridge.Failed(err), nil
		}
		again := *req
		again.Edits = append(append([]wire.Edit(nil), req.Edits...), wire.Edit{Key: wire.InputResponses, Value: responses})
		if state := wire.Lookup(reply.Result, "requestState"); state != nil {
			again.Edits = append(again.Edits, wire.Edit{Key: wire.RequestState, Value: bytes.Clone(state)})
		}
		reply.Free()
		sent, received := reply.Sent, reply.Received
		var lost *loss
		if reply, lost = c.do(ctx, &again, owner); lost != nil {
			return reply, lost
		}
		reply.Sent, reply.Received = reply.Sent+sent, reply.Received+received
	}
	reply.Free()
	return bridge.Failed(c.cfg.errorf(toolformat.Unavailable, "%s still requires input after %d rounds", subject(req), maxRounds)), nil
}

// samples reports whether a result requires input that only Sampling can provide.
func (c *conn) samples(owner *session, result []byte) bool {
	if c.cfg.Sampling == nil || wire.Lookup(owner.caller.Capabilities, "sampling") != nil {
		return false
	}
	for _, q := range wire.Members(wire.Lookup(result, "inputRequests")) {
		if method, _ := wire.Text(wire.Lookup(q, "method")); method == wire.MethodCreateMessage {
			return true
		}
	}
	return false
}

// inputRequest is one of a result's inputRequests.
type inputRequest struct {
	key, method string
	params      []byte
	ask         asker
}

// inputRequests decides who answers each of a result's inputRequests. The error says why one
// cannot be answered.
func (c *conn) inputRequests(req *bridge.Request, owner *session, raw []byte) (all []inputRequest, err *toolformat.Error) {
	ask := asker(owner.caller.Ask)
	if req.Back != nil {
		ask = req.Back.Ask
	}
	for key, q := range wire.Members(raw) {
		method, _ := wire.Text(wire.Lookup(q, "method"))
		in := inputRequest{key, method, wire.Lookup(q, "params"), ask}
		capability := questionCapability[method]
		switch {
		case capability != "" && ask != nil && wire.Lookup(owner.caller.Capabilities, capability) != nil:
		case method == wire.MethodCreateMessage && c.cfg.Sampling != nil:
			in.ask = c.cfg.sample
		default:
			return nil, toolformat.Errorf(toolformat.Unavailable, "%s wants %.80s, which the client cannot do", c.cfg.Name, method)
		}
		all = append(all, in)
	}
	if len(all) > maxQuestions {
		return nil, toolformat.Errorf(toolformat.Unavailable, "%s asks %d questions at once, more than %d", c.cfg.Name, len(all), maxQuestions)
	}
	return all, nil
}

// inputResponses asks for all input at once, within the maximum of a call. The first failure
// cancels the other questions.
func (c *conn) inputResponses(ctx context.Context, req *bridge.Request, owner *session, raw []byte) ([]byte, *toolformat.Error) {
	all, err := c.inputRequests(req, owner, raw)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.cfg.MaxTimeout, errTimeout)
	defer cancel()
	var mu sync.Mutex // guards responses and failed
	responses, failed := []byte("{}"), (*toolformat.Error)(nil)
	var wg sync.WaitGroup
	for _, in := range all {
		wg.Go(func() {
			result, err := c.cfg.callAsker(limited, in.ask, in.method, in.params)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				responses = wire.SetMember(responses, in.key, result)
			case failed == nil:
				failed = err
				cancel()
			}
		})
	}
	wg.Wait()
	if failed != nil && context.Cause(limited) == errTimeout {
		failed = c.cfg.errorf(toolformat.Timeout, tookLonger, subject(req), c.cfg.MaxTimeout, "maxTimeout")
	}
	return responses, failed
}

// nothing are the capabilities of callers that cannot be asked.
const nothing = "{}"

// relays are the capabilities of a link whose callers differ: pages of MCP Apps reach those that show them,
// and their tools have to do without as well.
const relays = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

// offered returns the capabilities that initialize states: on a link of several callers those by
// which the server could ask are left out.
func (k *linkKey) offered() []byte {
	if k.own {
		return []byte(k.capabilities)
	}
	return addCapabilities([]byte(nothing), []byte(k.capabilities), "extensions")
}

// addCapabilities adds those of a client's capabilities that have these names, such as extensions, to
// offered.
func addCapabilities(offered, capabilities []byte, names ...string) []byte {
	for _, name := range names {
		if v := wire.Lookup(capabilities, name); v != nil {
			offered = wire.SetMember(offered, name, v)
		}
	}
	return offered
}

// offer adds sampling to capabilities that lack it, if Sampling can answer instead of a client.
func (cfg *Config) offer(capabilities []byte) []byte {
	if cfg.Sampling == nil || wire.Lookup(capabilities, "sampling") != nil {
		return capabilities
	}
	if capabilities == nil {
		capabilities = []byte(nothing)
	}
	return wire.SetMember(capabilities, "sampling", []byte(`{"tools":{}}`))
}

// asker puts a question of the server to the party that answers it.
type asker func(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error)

// callAsker puts a question to the asker.
func (cfg *Config) callAsker(ctx context.Context, ask asker, method string, params []byte) (_ []byte, err *toolformat.Error) {
	defer cfg.recovered(&err)
	return ask(ctx, method, params)
}

// sample is the asker that Sampling answers.
func (cfg *Config) sample(ctx context.Context, _ string, params []byte) ([]byte, *toolformat.Error) {
	return cfg.Sampling(ctx, params)
}

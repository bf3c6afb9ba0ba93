package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// page is a connection of a page.
type page struct {
	chat   *Chat
	conn   *websocket.Conn
	caller bridge.Caller
	wake   chan struct{} // holds a token when there may be events to send

	writing sync.Mutex // held by a write

	mu   sync.Mutex // guards what follows
	talk *talk      // nil before one is opened
	sent int64      // the number of the last event of it that was sent
}

// pingTime is how often a page is pinged; after three times without an answer it has gone.
const pingTime = 30 * time.Second

// closeTime is how long a page may take for what is written to it last.
const closeTime = time.Second

// errSlow is why a page is closed that does not read.
var errSlow = errors.New("the page does not read what it is sent: connect again")

// serve serves the connection until it ends, or its request does.
func (p *page) serve(request context.Context) {
	ctx, cancel := context.WithCancelCause(request)
	defer context.AfterFunc(p.chat.ctx, func() { cancel(context.Cause(p.chat.ctx)) })()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closeTime, func() { p.conn.Close() }) })() // ends a write that is under way
	var writer sync.WaitGroup
	writer.Go(func() { p.sayClose(request, p.write(ctx)) })
	p.conn.SetReadLimit(p.chat.opts.Load().MaxBytes)
	alive := func(string) error { return p.conn.SetReadDeadline(time.Now().Add(3 * pingTime)) }
	p.conn.SetPongHandler(alive)
	p.conn.SetPingHandler(func(text string) error { // its deadline replaces that of other writes
		p.conn.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(endpoint.WriteTimeout))
		return nil
	})
	for alive(""); ; alive("") {
		if err := p.receive(ctx); err != nil {
			cancel(err)
			break
		}
	}
	writer.Wait()
	if t := p.current(); t != nil {
		t.leave(p)
	}
}

// receive reads a message and carries it out, until when its bytes count. An error ends the connection.
func (p *page) receive(ctx context.Context) error {
	kind, r, err := p.conn.NextReader()
	switch {
	case err != nil:
		return err
	case kind != websocket.TextMessage:
		return errors.New("only text messages are expected")
	}
	held := &visit{admission: p.chat.pages, principal: p.caller.Principal.Name}
	defer held.leave()
	text, err := io.ReadAll(held.counted(r))
	if err != nil {
		return err
	}
	m, err := readChatMessage(text)
	if err == nil {
		err = p.take(ctx, m)
	}
	if err != nil {
		p.send(encodeChat(newRefused(m, err)))
	}
	return nil
}

// take carries out a message. The error is sent to the page.
func (p *page) take(ctx context.Context, m *chatMessage) error {
	switch m.Type {
	case chatOpen:
		return p.open(m)
	case chatList:
		all, err := p.chat.list(ctx, &p.caller)
		if err == nil {
			p.send(encodeChat(conversations{"conversations", all}))
		}
		return err
	}
	t := p.current()
	if t == nil {
		return toolformat.Errorf(toolformat.Invalid, `%q before "open"`, m.Type)
	}
	switch m.Type {
	case chatPrompt:
		return t.prompt(p, m.ID, m.Text)
	case chatDecide:
		decision, _ := m.decision() // readChatMessage has checked it
		return t.decide(p, m.Call, decision)
	default:
		t.cancelPrompt()
		return nil
	}
}

// open opens a conversation, and leaves the one before.
func (p *page) open(m *chatMessage) error {
	t, err := p.chat.open(m.Conversation, m.Model, p)
	if err != nil {
		return err
	}
	before := p.current()
	p.mu.Lock()
	answer := t.state(m.After, m.Conversation != "")
	p.talk, p.sent = t, answer.After
	p.send(encodeChat(answer)) // before the events that follow
	p.mu.Unlock()
	if before != nil && before != t {
		before.leave(p)
	}
	p.notify()
	return nil
}

// current returns the conversation that the page shows, or nil.
func (p *page) current() *talk {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.talk
}

// notify tells the page that there may be events.
func (p *page) notify() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// write sends events and pings until ctx ends, and returns why.
func (p *page) write(ctx context.Context) error {
	ping := time.NewTicker(pingTime)
	defer ping.Stop()
	for {
		select {
		case <-p.wake:
			if err := p.sendEvents(); err != nil {
				return err
			}
		case <-ping.C:
			p.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(endpoint.WriteTimeout))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sendEvents sends the events that have not been sent.
func (p *page) sendEvents() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.talk == nil {
		return nil
	}
	for {
		next, ok := p.talk.next(p.sent)
		if !ok {
			return p.slow()
		}
		if len(next) == 0 {
			return nil
		}
		for _, event := range next {
			if err := p.send(event); err != nil {
				return err
			}
			p.sent++
		}
	}
}

// send sends a message. An error ends the connection.
func (p *page) send(text []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(endpoint.WriteTimeout))
	err := p.conn.WriteMessage(websocket.TextMessage, text)
	if late, ok := err.(net.Error); ok && late.Timeout() {
		err = p.slow()
	}
	if err != nil {
		p.conn.Close()
	}
	return err
}

// slow logs that the page does not read, and returns errSlow.
func (p *page) slow() error {
	p.chat.opts.Load().Log.Warn("ended a connection of /chat", "reason", errSlow, "principal", p.caller.Principal.Name)
	return errSlow
}

// sayClose tells the page why the connection ends, and closes it.
func (p *page) sayClose(request context.Context, err error) {
	defer p.conn.Close()
	code := websocket.CloseNormalClosure
	switch {
	case errors.Is(err, errEnding), errors.Is(err, http.ErrServerClosed):
		code = websocket.CloseGoingAway
	case errors.Is(err, errSlow), errors.Is(err, errCrowded):
		code = websocket.CloseTryAgainLater
	case errors.Is(err, websocket.ErrReadLimit):
		code = websocket.CloseMessageTooBig
	case errors.Is(err, context.Cause(request)):
		code = websocket.ClosePolicyViolation // the credentials are not accepted any more
	}
	text := err.Error()
	p.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text[:min(len(text), 120)]), time.Now().Add(closeTime))
}

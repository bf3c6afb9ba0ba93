package soaktest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// peer is a small MCP client of our own, which does one thing at a time.
type peer struct {
	carrier
	last int
}

// carrier moves messages. receive returns the next one; end hangs up and says what was
// wrong with the other end.
type carrier interface {
	send(ctx context.Context, message []byte) error
	receive() ([]byte, error)
	end() error
}

// dial connects over stdio to a command, or over ws, sse or http to the bridge at a URL,
// and does the handshake.
func dial(ctx context.Context, kind string, target []string) (*peer, error) {
	var c carrier
	var err error
	switch kind {
	case "stdio":
		c, err = dialStdio(ctx, target)
	case "ws":
		c, err = dialWS(ctx, target[0])
	case "sse":
		c, err = dialSSE(ctx, target[0])
	case "http":
		c = &httpCarrier{url: target[0] + "/mcp", client: &http.Client{Transport: &http.Transport{}}}
	default:
		err = errors.New("no such carrier: " + kind)
	}
	if err != nil {
		return nil, err
	}
	p := &peer{carrier: c}
	if err := p.handshake(ctx); err != nil {
		p.end()
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return p, nil
}

func (p *peer) handshake(ctx context.Context) error {
	_, err := p.request(ctx, "initialize", object{
		"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "soak", "version": "1"},
	})
	if err != nil {
		return err
	}
	return p.send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
}

// begin sends a request.
func (p *peer) begin(ctx context.Context, method string, params any) error {
	p.last++
	message, err := json.Marshal(object{"jsonrpc": "2.0", "id": p.last, "method": method, "params": params})
	if err != nil {
		return err
	}
	return p.send(ctx, message)
}

// request sends a request and returns the result of its response; what else comes is
// skipped.
func (p *peer) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if err := p.begin(ctx, method, params); err != nil {
		return nil, err
	}
	for {
		raw, err := p.receive()
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		switch err := json.Unmarshal(raw, &m); {
		case err != nil:
			return nil, err
		case m.ID == nil || *m.ID != p.last:
		case m.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		default:
			return m.Result, nil
		}
	}
}

type toolResult struct{ Content []struct{ Text string } }

func (p *peer) tool(ctx context.Context, name string) (*toolResult, error) {
	raw, err := p.request(ctx, "tools/call", object{"name": name, "arguments": object{}})
	if err != nil {
		return nil, err
	}
	var r toolResult
	return &r, json.Unmarshal(raw, &r)
}

// stdioCarrier is a process that is spoken to in lines.
type stdioCarrier struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func dialStdio(ctx context.Context, command []string) (carrier, error) {
	c := &stdioCarrier{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	c.cmd.Env = append(os.Environ(), childMode+"=") // we may be a child ourselves
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReader(out)
	return c, c.cmd.Start()
}

func (c *stdioCarrier) send(_ context.Context, message []byte) error {
	_, err := c.in.Write(append(message, '\n'))
	return err
}

func (c *stdioCarrier) receive() ([]byte, error) { return c.out.ReadBytes('\n') }

func (c *stdioCarrier) end() error {
	c.in.Close()
	return c.cmd.Wait()
}

type wsCarrier struct{ conn *websocket.Conn }

func dialWS(ctx context.Context, url string) (carrier, error) {
	d := websocket.Dialer{Subprotocols: []string{"mcp"}}
	conn, _, err := d.DialContext(ctx, strings.Replace(url, "http", "ws", 1)+"/ws", nil)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	return wsCarrier{conn}, nil
}

func (c wsCarrier) send(_ context.Context, message []byte) error {
	return c.conn.WriteMessage(websocket.TextMessage, message)
}

func (c wsCarrier) receive() ([]byte, error) {
	_, message, err := c.conn.ReadMessage()
	return message, err
}

func (c wsCarrier) end() error { return c.conn.Close() }

// sseCarrier is the legacy HTTP+SSE transport.
type sseCarrier struct {
	client *http.Client
	post   string
	body   io.Closer
	events *wire.EventReader
}

const eventBytes = 1 << 20

func dialSSE(ctx context.Context, url string) (carrier, error) {
	c := &sseCarrier{client: &http.Client{Transport: &http.Transport{}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/sse", nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	c.body, c.events = resp.Body, wire.NewEventReader(resp.Body, eventBytes)
	path, err := c.receive()
	c.post = url + string(path)
	return c, err
}

func (c *sseCarrier) send(ctx context.Context, message []byte) error {
	resp, err := post(ctx, c.client, c.post, "", message)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c *sseCarrier) receive() ([]byte, error) {
	for {
		e, err := c.events.Next()
		if err != nil {
			return nil, err
		}
		if e.Data != nil && len(e.Data.B) > 0 {
			return e.Data.B, nil
		}
	}
}

func (c *sseCarrier) end() error {
	c.body.Close()
	c.client.CloseIdleConnections()
	return nil
}

// httpCarrier is streamable HTTP. A request's answer waits to be received.
type httpCarrier struct {
	url     string
	client  *http.Client
	session string
	answer  *http.Response
}

func post(ctx context.Context, client *http.Client, url, session string, message []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := client.Do(req)
	if err == nil && resp.StatusCode > 299 {
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		return nil, fmt.Errorf("%s: %s", resp.Status, text)
	}
	return resp, err
}

func (c *httpCarrier) send(ctx context.Context, message []byte) error {
	resp, err := post(ctx, c.client, c.url, c.session, message)
	if err != nil {
		return err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	if resp.StatusCode == http.StatusAccepted {
		return resp.Body.Close()
	}
	c.answer = resp
	return nil
}

func (c *httpCarrier) receive() ([]byte, error) {
	defer c.answer.Body.Close()
	if !strings.HasPrefix(c.answer.Header.Get("Content-Type"), "text/event-stream") {
		return io.ReadAll(c.answer.Body)
	}
	// Nothing here has progress or logs: the response is the one event with data.
	s := &sseCarrier{events: wire.NewEventReader(c.answer.Body, eventBytes)}
	return s.receive()
}

// end leaves the session to the bridge when the client was killed; here it says
// goodbye.
func (c *httpCarrier) end() error {
	defer c.client.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodDelete, c.url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Mcp-Session-Id", c.session)
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// node is another node of the cluster, with the clients that lend tools there.
type node struct {
	lending *Lending
	web     http.RoundTripper
	tabs    map[tabKey]*tab // of Follow alone
}

// tabKey names a tab of a node.
type tabKey struct{ principal, handle string }

// Follow has the tools that clients lend to another node, which dial connects to, until ctx ends or the node is
// lost: then they are gone. The error says why. dial may be called at once.
func (l *Lending) Follow(ctx context.Context, dial func(context.Context) (net.Conn, error)) error {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, errNotRun{err}
		}
		return conn, nil
	}}
	n := &node{lending: l, web: transport, tabs: map[tabKey]*tab{}}
	defer transport.CloseIdleConnections()
	resp, err := n.request(ctx, http.MethodGet, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	defer func() {
		for _, t := range n.tabs {
			t.Leave()
		}
	}()
	for in := json.NewDecoder(resp.Body); ; {
		var line told
		if err := in.Decode(&line); err != nil {
			return err
		}
		n.take(&line)
	}
}

// errNotRun is that of a request which the node surely has not carried out.
type errNotRun struct{ error }

// request sends a request, and returns the response if that is one of success.
func (n *node) request(ctx context.Context, method string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://node"+NodesPath, body)
	if err != nil {
		return nil, err
	}
	resp, err := n.web.RoundTrip(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, errNotRun{fmt.Errorf("HTTP %s", resp.Status)}
	}
	return resp, err
}

// take takes note of what the node has told.
func (n *node) take(line *told) {
	key := tabKey{line.Principal, line.Tab}
	t := n.tabs[key]
	switch {
	case t != nil && line.Gone:
		delete(n.tabs, key)
		t.Leave()
		return
	case line.Gone, t == nil && line.Info == nil: // of one that is not known
		return
	case t == nil:
		t = n.lending.newTab(bridge.Principal{Name: line.Principal})
		t.node, n.tabs[key] = n, t
	}
	g := t.group
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock = max(g.clock, line.Since, line.Focused)
	if line.Info == nil {
		g.focus(t, line.Focused)
		return
	}
	t.id, t.came, t.since, t.focused = line.ID, line.Came, line.Since, line.Focused
	t.info, t.tools = *line.Info, nil
	t.info.Principal = line.Principal
	for _, raw := range line.Tools {
		if it, err := bridge.NewItem(bridge.Tools, raw); err == nil { // the node has read it
			tool := &lentTool{}
			tool.define(it)
			t.tools = append(t.tools, tool)
		}
	}
	if !slices.Contains(g.lenders, t) {
		g.lenders = append(g.lenders, t)
	}
	g.update(t)
}

// call has the node have a tab carry out a call.
func (n *node) call(ctx context.Context, t *tab, tool string, arguments json.RawMessage, tell progress) (*toolformat.Result, error) {
	if err := n.lending.away.Enter(ctx, t.group.principal, 0); err != nil {
		return nil, err
	}
	defer n.lending.away.Leave(t.group.principal)
	t.group.mu.Lock()
	c := sentCall{Tab: t.info.Tab, Principal: t.group.principal.Name, Tool: tool, Arguments: arguments}
	t.group.mu.Unlock()
	resp, err := n.request(ctx, http.MethodPost, c.body())
	if err != nil {
		return nil, lost(tool, err)
	}
	defer resp.Body.Close()
	for in := json.NewDecoder(resp.Body); ; {
		var line sentLine
		switch err := in.Decode(&line); {
		case err != nil:
			return nil, lost(tool, err)
		case line.Error == nil && line.Result == nil:
			tell(line.Progress, line.Total, line.Message)
			continue
		}
		io.Copy(io.Discard, resp.Body) // so that the connection is used again
		if e := line.Error; e != nil {
			code, _ := toolformat.ParseCode(e.Code)
			return nil, &toolformat.Error{Code: code, Message: e.Message, Raw: e.Raw, After: e.After, NotRun: e.NotRun}
		}
		return &toolformat.Result{JSON: line.Result}, nil
	}
}

// lost returns the error of a call whose answer has not come.
func lost(tool string, err error) error {
	var not errNotRun
	if errors.As(err, &not) {
		return goneBefore(tool).Because(not.error)
	}
	return toolformat.Errorf(toolformat.Unavailable, "tool %s: the node to which the client that has it is connected was lost: it is unknown whether the call ran", tool).Because(err)
}

package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// NodesPath is where the nodes of a cluster tell each other what clients lend to them, and have them carry out calls.
const NodesPath = "/peer/lent"

// told is a line of the answer to a GET at NodesPath: what has become of a tab of the node.
type told struct {
	Tab       string            `json:"tab"`
	Principal string            `json:"principal"`
	Gone      bool              `json:"gone,omitempty"`
	Info      *Tab              `json:"info,omitempty"`
	ID        string            `json:"id,omitempty"`
	Came      int64             `json:"came,omitempty"`
	Since     int64             `json:"since,omitempty"`
	Focused   int64             `json:"focused,omitempty"`
	Tools     []json.RawMessage `json:"tools"` // MCP's definitions; null for those that were told before
}

// sentCall is the body of a POST at NodesPath.
type sentCall struct {
	Tab       string          `json:"tab"`
	Principal string          `json:"principal"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// maxCallHead bounds what that body has beside the arguments, in bytes.
const maxCallHead = 64 << 10

// sentLine is a line of the answer to that: the progress of the call, or in the last one its result or error.
type sentLine struct {
	Progress float64         `json:"progress,omitempty"`
	Total    float64         `json:"total,omitempty"`
	Message  string          `json:"message,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Error    *sentError      `json:"error,omitempty"`
}

// sentError is a toolformat.Error without its cause.
type sentError struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Raw     json.RawMessage `json:"raw,omitempty"`
	After   time.Duration   `json:"after,omitempty"`
	NotRun  bool            `json:"notRun,omitempty"`
}

// SetClustered makes the handles of tabs differ from those of other nodes, and of other runs of this one. It is called
// before Join.
func (l *Lending) SetClustered() {
	run := strings.ToLower(rand.Text()[:runLength]) + "."
	l.run.Store(&run)
}

// Serving returns how many calls of other nodes run here.
func (l *Lending) Serving() int { return int(l.served.Load()) }

// ServeHTTP answers other nodes at NodesPath, and nobody else.
func (l *Lending) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lines := lineWriter{json.NewEncoder(w), http.NewResponseController(w)}
	lines.SetEscapeHTML(false)
	if r.Method == http.MethodGet {
		l.tell(r.Context(), lines)
		return
	}
	var c sentCall
	most := int64(l.limits.Load().CallBytes) + maxCallHead
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	io.Copy(io.Discard, r.Body)                // the end of the connection is seen only after that of the body
	lines.control.SetReadDeadline(time.Time{}) // the end of the connection cancels the call, and nothing before
	l.served.Add(1)
	defer l.served.Add(-1)
	l.carryOut(r.Context(), &c, lines)
}

// lineWriter writes lines of JSON.
type lineWriter struct {
	*json.Encoder
	control *http.ResponseController
}

// write writes a line, which is sent at once.
func (l lineWriter) write(line *sentLine) {
	if l.Encode(line) == nil { // else the other node has gone, which ends the request
		l.control.Flush()
	}
}

// maxProgress bounds how much progress of a call waits for another node; beyond it the oldest is dropped.
const maxProgress = 100

// maxMessage bounds a message of progress for another node, in bytes.
const maxMessage = 4 << 10

// carryOut carries out the call of another node.
func (l *Lending) carryOut(ctx context.Context, c *sentCall, lines lineWriter) {
	made, last := make(chan *sentLine, maxProgress), make(chan *sentLine, 1)
	go func() {
		result, err := l.call(ctx, c, func(progress, total float64, message string) {
			if len(message) > maxMessage {
				message = strings.ToValidUTF8(strings.Clone(message[:maxMessage]), "")
			}
			line := &sentLine{Progress: progress, Total: total, Message: message}
			for {
				select {
				case made <- line:
					return
				default:
				}
				select {
				case <-made:
				default:
				}
			}
		})
		if err != nil {
			e := toolformat.AsError(err)
			last <- &sentLine{Error: &sentError{e.Code.String(), e.Message, e.Raw, e.After, e.NotRun}}
			return
		}
		last <- &sentLine{Result: result.JSON}
	}()
	for {
		select {
		case line := <-made:
			lines.write(line)
		case line := <-last:
			for len(made) > 0 {
				lines.write(<-made)
			}
			lines.write(line)
			return
		}
	}
}

// call has the tab that another node has chosen carry out a call.
func (l *Lending) call(ctx context.Context, c *sentCall, tell progress) (*toolformat.Result, error) {
	g := l.use(bridge.Principal{Name: c.Principal})
	defer g.release()
	g.mu.Lock()
	var chosen *tab
	var tool *lentTool
	if i := slices.IndexFunc(g.tabs, func(t *tab) bool { return t.node == nil && t.info.Tab == c.Tab }); i >= 0 {
		chosen = g.tabs[i]
		if i := slices.IndexFunc(chosen.tools, func(tool *lentTool) bool { return tool.name == c.Tool }); i >= 0 {
			tool = chosen.tools[i]
		}
	}
	g.mu.Unlock()
	if tool == nil {
		return nil, goneBefore(c.Tool)
	}
	return chosen.call(ctx, tool, c.Arguments, tell)
}

// A teller tells another node of the clients that lend tools here.
type teller struct {
	changed map[bridge.Principal]struct{} // guarded by Lending.telling
	wake    chan struct{}                 // has room for one: changed is not empty
}

// add has the other node told of the clients of a principal. Lending.telling is held.
func (t *teller) add(p bridge.Principal) {
	t.changed[p] = struct{}{}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// tellOthers has the other nodes told of a group. Its lock may be held.
func (l *Lending) tellOthers(g *group) {
	l.telling.Lock()
	defer l.telling.Unlock()
	for t := range l.tellers {
		t.add(g.principal)
	}
}

// tell tells another node of the clients that lend tools here, and of each change, until ctx ends. Of what changes
// faster than the node reads, it is told the latest.
func (l *Lending) tell(ctx context.Context, lines lineWriter) {
	t := &teller{changed: map[bridge.Principal]struct{}{}, wake: make(chan struct{}, 1)}
	l.telling.Lock()
	l.tellers[t] = struct{}{}
	l.mu.Lock()
	for p := range l.groups {
		t.add(p)
	}
	l.mu.Unlock()
	l.telling.Unlock()
	defer func() {
		l.telling.Lock()
		defer l.telling.Unlock()
		delete(l.tellers, t)
	}()
	for known := map[bridge.Principal]map[string]knownTab{}; ; {
		if lines.control.Flush() != nil {
			return
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return
		}
		l.telling.Lock()
		changed := t.changed
		t.changed = map[bridge.Principal]struct{}{}
		l.telling.Unlock()
		for p := range changed {
			if known[p] == nil {
				known[p] = map[string]knownTab{}
			}
			g := l.use(p)
			news := g.news(known[p])
			g.release()
			for _, line := range news {
				if lines.Encode(line) != nil {
					return
				}
			}
			if len(known[p]) == 0 {
				delete(known, p)
			}
		}
	}
}

// knownTab is what another node knows of a tab.
type knownTab struct {
	tab     *tab
	loans   int
	focused int64
}

// news returns what another node, which knows of some tabs by their handles, does not know yet of those that are
// connected to this one. It knows that then.
func (g *group) news(known map[string]knownTab) (all []*told) {
	g.mu.Lock()
	defer g.mu.Unlock()
	here := map[string]bool{}
	for _, t := range g.tabs {
		if t.node != nil {
			continue
		}
		here[t.info.Tab] = true
		before, now := known[t.info.Tab], knownTab{t, t.loans, t.focused}
		if before == now {
			continue
		}
		line := &told{Tab: t.info.Tab, Principal: g.principal.Name, ID: t.id, Came: t.came, Since: t.since, Focused: t.focused}
		if before.tab != t || before.loans != t.loans {
			info := t.info
			line.Info, line.Tools = &info, []json.RawMessage{}
			for _, tool := range t.tools {
				line.Tools = append(line.Tools, tool.raw)
			}
		}
		known[t.info.Tab] = now
		all = append(all, line)
	}
	for handle := range known {
		if !here[handle] {
			delete(known, handle)
			all = append(all, &told{Tab: handle, Principal: g.principal.Name, Gone: true})
		}
	}
	return all
}

// body returns the body of a request for a call.
func (c *sentCall) body() *bytes.Buffer {
	b := &bytes.Buffer{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.Encode(c) // cannot fail: arguments are JSON
	return b
}

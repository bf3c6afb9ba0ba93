package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/audit"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

const (
	auditPath  = "/peer/audit"    // where a node tells others what is in its audit
	auditTime  = 10 * time.Second // bounds the wait for all nodes
	auditBytes = 8 << 20          // bounds the lines of a node: the latest are sent
)

// auditCall is a request to each node about its audit: a query, or to verify it.
type auditCall struct {
	Query  *auditQuery `json:"query,omitempty"`
	Verify bool        `json:"verify,omitempty"`
}

// nodeAudit is the answer of a node.
type nodeAudit struct {
	Cluster string            `json:"cluster,omitempty"`
	Node    string            `json:"node"`
	Lines   []json.RawMessage `json:"lines,omitempty"` // that the query asks for, oldest first
	Cut     bool              `json:"cut,omitempty"`   // there are earlier ones
	Chain   string            `json:"chain,omitempty"` // which lines were verified
	Broken  string            `json:"broken,omitempty"`
	Away    string            `json:"away,omitempty"` // why the node has not answered
}

// serveAudit answers auditPath.
func (c *control) serveAudit(w http.ResponseWriter, r *http.Request) {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false) // lines of the audit stay as they are
	lines.Encode(c.ownAudit(r.Context(), []byte(r.FormValue("call"))))
}

// audits writes the answer of each node. Without a cluster it writes nothing.
func (c *control) audits(ctx context.Context, call []byte, lines *json.Encoder) error {
	if c.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	all := ofNodes(c.cluster, func(n *nodeState) (a nodeAudit) {
		if n.This {
			a = c.ownAudit(ctx, call)
		} else if err := c.ask(ctx, n, auditPath+"?call="+url.QueryEscape(string(call)), &a); err != nil {
			a = nodeAudit{Node: n.Name, Away: err.Error()}
		}
		if a.Away != "" && ctx.Err() != nil {
			a = nodeAudit{Node: n.Name, Away: "no answer within " + auditTime.String()}
		}
		a.Cluster = c.cluster.name
		return a
	})
	for i := range all {
		if err := lines.Encode(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// ownAudit carries out a request about this node's audit, until ctx ends.
func (c *control) ownAudit(ctx context.Context, text []byte) (a nodeAudit) {
	a.Node = c.cluster.self.ID
	var call auditCall
	path := c.stacks()[0].Config().Audit.File
	if err := json.Unmarshal(text, &call); err != nil || path == "" {
		a.Away = cmp.Or(err, errors.New(`it has no "audit"`)).Error()
		return a
	}
	if call.Verify {
		chain, err := audit.Verify(ctx, path)
		switch a.Chain = aboutChain(chain); {
		case ctx.Err() != nil:
			a.Away = ctx.Err().Error()
		case err != nil:
			a.Broken = err.Error()
		}
		return a
	}
	size := 0
	err := audit.Read(ctx, path, func(raw []byte, l *audit.Line) {
		if call.Query == nil || !call.Query.asksLine(l) {
			return
		}
		a.Lines = append(a.Lines, slices.Clone(raw))
		for size += len(raw); size > auditBytes; a.Lines = a.Lines[1:] {
			size -= len(a.Lines[0])
			a.Cut = true
		}
	})
	if err != nil {
		a.Away = err.Error()
	}
	return a
}

// askAudits asks the nodes of the clusters that run on this machine, and returns the answer of each. An error says which
// programs have not answered.
func (f *sourceFlags) askAudits(ctx context.Context, config string, call auditCall) (all []nodeAudit, err error) {
	if f.NArg() > 0 {
		return nil, usagef("%s: --all is about the files of the nodes, which have their own names: leave out %s", f.Name(), f.Arg(0))
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	text, _ := json.Marshal(call) // cannot fail
	r := &remote{sourceFlags: f, config: config}
	_, err = r.ask(ctx, &daemon.Command{Name: "audit", Audit: text}, func(line []byte) error {
		var a nodeAudit
		if err := json.Unmarshal(line, &a); err != nil || a.Node == "" { // of a daemon
			return err
		}
		all = append(all, a)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = &exitError{exitAway, "no node of a cluster runs here (mcpbridge serve is one)"}
	}
	slices.SortFunc(all, func(a, b nodeAudit) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Away, b.Away))
	})
	return slices.CompactFunc(all, func(a, b nodeAudit) bool { return a.Node == b.Node && a.Cluster == b.Cluster }), err
}

// auditNodes is shownNodes for what nodes have answered.
func auditNodes(all []nodeAudit) func(cluster, node string) string {
	var clusters []string
	for _, a := range all {
		clusters = append(clusters, a.Cluster)
	}
	return shownNodes(clusters)
}

// queryNodes prints the calls of the audits of all nodes, oldest first.
func (f *sourceFlags) queryNodes(ctx context.Context, config string, q *auditQuery, std streams) error {
	all, away := f.askAudits(ctx, config, auditCall{Query: q})
	if len(all) == 0 {
		return away
	}
	type call struct {
		of   *nodeAudit
		raw  []byte
		line audit.Line
	}
	var calls []call
	missing, shown := false, auditNodes(all)
	for _, a := range all {
		for _, raw := range a.Lines {
			own := call{of: &a, raw: raw}
			if err := json.Unmarshal(raw, &own.line); err != nil {
				return err
			}
			calls = append(calls, own)
		}
		if a.Cut {
			a.Away = fmt.Sprintf("only its latest calls are here, %d MiB: ask for fewer (--since, --until)", auditBytes>>20)
		}
		if a.Away != "" {
			missing = true
			output.Item(std.err, "", "mcpbridge: node "+terminal.Inline(shown(a.Cluster, a.Node)+": "+a.Away))
		}
	}
	slices.SortStableFunc(calls, func(a, b call) int { return a.line.Time.Compare(b.line.Time) })
	rows := [][]string{append([]string{"NODE"}, auditColumns()...)}
	for _, c := range calls {
		if q.asJSON {
			line := wire.SetMember(c.raw, "node", wire.AppendString(nil, c.of.Node))
			fmt.Fprintf(std.out, "%s\n", wire.SetMember(line, "cluster", wire.AppendString(nil, c.of.Cluster)))
			continue
		}
		rows = append(rows, append([]string{shown(c.of.Cluster, c.of.Node)}, auditRow(&c.line)...))
	}
	err := cmp.Or(q.table(rows, std), away)
	if err == nil && missing {
		err = &exitError{code: exitFailed}
	}
	return err
}

// verifyNodes verifies the audits of all nodes.
func (f *sourceFlags) verifyNodes(ctx context.Context, config string, std streams) error {
	all, away := f.askAudits(ctx, config, auditCall{Verify: true})
	if len(all) == 0 {
		return away
	}
	var wrong []string
	shown := auditNodes(all)
	for _, a := range all {
		node := shown(a.Cluster, a.Node)
		if fault := cmp.Or(a.Away, a.Broken); fault != "" {
			wrong = append(wrong, terminal.Inline("node "+node+": "+fault))
			continue
		}
		output.Item(std.out, "", terminal.Inline(node+": "+a.Chain))
	}
	if away != nil {
		wrong = append(wrong, away.Error())
	}
	if wrong != nil {
		return &exitError{exitFailed, strings.Join(wrong, "\n")}
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

const (
	psPath = "/peer/ps"      // where a node tells others what runs there
	psTime = 2 * time.Second // bounds the wait for all nodes
)

// servePs answers psPath.
func (c *control) servePs(w http.ResponseWriter, _ *http.Request) {
	json.NewEncoder(w).Encode(c.state())
}

// ps tells what runs here, or everywhere.
func (c *control) ps(ctx context.Context, everywhere bool, lines *json.Encoder) error {
	if !everywhere {
		return lines.Encode(c.state())
	}
	for _, st := range c.everywhere(ctx) {
		if err := lines.Encode(st); err != nil {
			return err
		}
	}
	return nil
}

// everywhere returns what runs on each node of the cluster, or here alone without one.
func (c *control) everywhere(ctx context.Context) []processState {
	if c.cluster == nil {
		return []processState{c.state()}
	}
	ctx, cancel := context.WithTimeout(ctx, psTime)
	defer cancel()
	return ofNodes(c.cluster, func(n *nodeState) (st processState) {
		if n.This {
			st = c.state()
		} else {
			st = c.stateOf(ctx, n)
		}
		st.Other = n.Other
		return st
	})
}

// ofNodes returns what ask does of each node of a cluster, which it asks at once.
func ofNodes[T any](c *cluster, ask func(n *nodeState) T) []T {
	nodes := c.state().Nodes
	if !slices.ContainsFunc(nodes, func(n nodeState) bool { return n.This }) { // NATS has not said so yet, or any more
		nodes = append(nodes, nodeState{Name: c.self.ID, This: true})
	}
	all := make([]T, len(nodes))
	var asking sync.WaitGroup
	for i := range nodes {
		asking.Go(func() { all[i] = ask(&nodes[i]) })
	}
	asking.Wait()
	return all
}

var errOlder = errors.New("its version does not tell this: upgrade it")

// ask decodes the answer of another node at a path.
func (c *control) ask(ctx context.Context, n *nodeState, path string, into any) error {
	told, err := c.askNode(ctx, n.run, path)
	switch {
	case err == nil:
		return json.Unmarshal(told, into)
	case err.Error() == "HTTP 404":
		return errOlder
	}
	return err
}

// stateOf asks another node what runs there.
func (c *control) stateOf(ctx context.Context, n *nodeState) (st processState) {
	err := c.ask(ctx, n, psPath, &st)
	switch {
	case ctx.Err() != nil:
		st.Away = "no answer within " + psTime.String()
	case err != nil:
		st.Away = err.Error()
	default:
		return st
	}
	return processState{Cluster: c.cluster.name, Node: n.Name, Kind: "serve", Listen: n.Address, Version: n.Version, Since: n.Since, Servers: []serverState{}, Away: st.Away}
}

// merge sorts programs, and leaves one of what several have told of the same node: what it has said itself, if it has.
func merge(all []processState) []processState {
	slices.SortFunc(all, func(a, b processState) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Away, b.Away), cmp.Compare(a.Config, b.Config), cmp.Compare(a.PID, b.PID))
	})
	return slices.CompactFunc(all, func(a, b processState) bool { return a.Node != "" && a.Node == b.Node && a.Cluster == b.Cluster })
}

// shownNodes returns what shows a node: with the name of its cluster if there are several.
func shownNodes(clusters []string) func(cluster, node string) string {
	several := len(slices.Compact(slices.Sorted(slices.Values(clusters)))) > 1
	return func(cluster, node string) string {
		if several && cluster != "" {
			node = cluster + "/" + node
		}
		return node
	}
}

// printNodes prints programs, and one table of the servers of all.
func printNodes(w io.Writer, all []processState, now time.Time) error {
	rows := [][]string{append([]string{"NODE"}, serverColumns()...)}
	var clusters []string
	for _, st := range all {
		if st.Cluster != "" {
			clusters = append(clusters, st.Cluster)
		}
	}
	shown := shownNodes(clusters)
	for _, st := range all {
		node := orDash(terminal.Inline(shown(st.Cluster, st.Node)))
		if st.Away != "" {
			rows = append(rows, []string{node, "-", "away", "-", "-", "-", "-", "-", "-", "-", st.Away})
			continue
		}
		st.printTitle(w, strings.TrimPrefix(node+": ", "-: "), now)
		for _, s := range st.Servers {
			rows = append(rows, append([]string{node}, s.row(now)...))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return printTable(w, rows)
}

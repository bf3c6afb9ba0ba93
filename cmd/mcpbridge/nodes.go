package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// clusterState is a cluster as one of its nodes sees it, as nodes --json prints it.
type clusterState struct {
	Cluster string      `json:"cluster"`
	Up      bool        `json:"up"` // its NATS answers
	Nodes   []nodeState `json:"nodes"`
}

type nodeState struct {
	Name     string    `json:"name"`
	This     bool      `json:"this,omitempty"`
	Address  string    `json:"address"`
	Version  string    `json:"version"`
	Since    time.Time `json:"since"`
	Draining bool      `json:"draining,omitempty"`
}

// announced is what a node tells the others beside its address.
type announced struct {
	Draining bool `json:"draining,omitempty"`
}

// state returns the cluster as this node sees it.
func (c *cluster) state() clusterState {
	st := clusterState{Cluster: c.name, Up: c.engine.Up(), Nodes: []nodeState{}}
	for _, n := range c.engine.Nodes() {
		var told announced
		json.Unmarshal(n.Extra, &told) // of another version, perhaps
		st.Nodes = append(st.Nodes, nodeState{
			Name: n.ID, This: n.Epoch == c.engine.Epoch() && n.ID == c.node.Name(), Address: n.Address, Version: n.Version,
			Since: time.UnixMilli(int64(n.Epoch)), Draining: told.Draining,
		})
	}
	return st
}

func runNodes(ctx context.Context, args []string, std streams) error {
	r := newRemote("nodes", "nodes [--config FILE] [--json]", "Lists the nodes of the cluster that a serve of yours is of.", std)
	if err := r.parseWords(args, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var all []clusterState
	asked, err := r.ask(ctx, &daemon.Command{Name: "nodes"}, func(line []byte) error {
		var st clusterState
		if err := json.Unmarshal(line, &st); err != nil {
			return err
		}
		if st.Cluster != "" {
			all = append(all, st)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case asked == 0:
		return r.nothingRuns()
	case len(all) == 0:
		return &exitError{exitAway, `what runs is not of a cluster: "cluster" in the config makes a serve one of its nodes`}
	case r.json:
		return json.NewEncoder(std.out).Encode(all)
	}
	for _, st := range all {
		if err := st.print(std.out, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// print prints a table of the nodes.
func (st *clusterState) print(w io.Writer, now time.Time) error {
	state := "NATS answers"
	if !st.Up {
		state = "NATS does not answer: as last known"
	}
	output.Item(w, "cluster ", terminal.Inline(st.Cluster)+" ("+plural(len(st.Nodes), "node")+", "+state+")")
	rows := [][]string{{"NODE", "STATE", "UP", "VERSION", "ADDRESS"}}
	for _, n := range st.Nodes {
		state := "up"
		switch {
		case n.Draining:
			state = "draining"
		case n.This:
			state = "this one"
		}
		rows = append(rows, []string{terminal.Inline(n.Name), state, age(now.Sub(n.Since)), terminal.Inline(n.Version), terminal.Inline(n.Address)})
	}
	return output.Table(w, output.Width(w), rows)
}

func runDrain(ctx context.Context, args []string, std streams) error {
	r := newRemote("drain", "drain [--config FILE] [--settle 5s] [--within 1m]", "Ends a serve without losing a call: it says that it is not ready (/readyz), so that a balancer sends\nit nothing new, waits for the calls that run, and ends. Other nodes of its cluster go on with its sessions.", std)
	settle := r.Duration("settle", 5*time.Second, "how long the balancer may take to notice")
	within := r.Duration("within", time.Minute, "how long calls that run may take after that")
	if err := r.parseWords(args, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *settle+*within+askTime)
	defer cancel()
	drained := false
	_, err := r.ask(ctx, &daemon.Command{Name: "drain", Settle: *settle, Within: *within}, func(line []byte) error {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil || a.Done == "" { // a daemon, in front of which there is no balancer
			return err
		}
		drained = true
		output.Item(std.out, "", a.Done)
		return nil
	})
	if err == nil && !drained {
		return &exitError{exitAway, "no serve of yours is running"}
	}
	return err
}

// drain makes the program end once no call runs any more, and returns what to say about that.
func (l *live) drain(ctx context.Context, settle, within time.Duration) string {
	l.draining.Store(true)
	if l.cluster != nil {
		l.cluster.announce(announced{Draining: true})
	}
	l.log.Info("draining", "settle", settle, "within", within)
	sleep(ctx, settle)
	deadline := time.Now().Add(within)
	for l.front.Pending() > 0 && time.Now().Before(deadline) && sleep(ctx, drainTick) {
	}
	if n := l.front.Pending(); n > 0 {
		return fmt.Sprintf("ended with %s still running", plural(n, "call"))
	}
	return "ended; no call was running"
}

// drainTick is how often a program that is to end looks for calls that run: nothing announces the last one.
const drainTick = 20 * time.Millisecond

// sleep reports false if ctx has ended before d is over.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

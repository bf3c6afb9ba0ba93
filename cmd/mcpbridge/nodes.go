package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// clusterState is a cluster as one of its nodes sees it, as nodes --json prints it.
type clusterState struct {
	Cluster string      `json:"cluster"`
	Up      bool        `json:"up"`             // its NATS answers
	Away    string      `json:"away,omitempty"` // why it is not up
	Nodes   []nodeState `json:"nodes"`
}

type nodeState struct {
	Name     string    `json:"name"`
	This     bool      `json:"this,omitempty"`
	Address  string    `json:"address"`
	Version  string    `json:"version"`
	Since    time.Time `json:"since"`
	Draining bool      `json:"draining,omitempty"`
	Other    bool      `json:"other_config,omitempty"` // it has another config than the node that says so
	Stranger bool      `json:"other_secret,omitempty"` // this node does not have that one's current secret, so there is no link between them

	run string // of the node, as others name it
}

// announced is what a node tells the others beside its address.
type announced struct {
	Draining bool   `json:"draining,omitempty"`
	Config   string `json:"config,omitempty"` // a digest of what it says
	Secret   string `json:"secret,omitempty"` // one of the current secret
}

// state returns the cluster as this node sees it.
func (c *cluster) state() clusterState {
	away := c.away()
	st := clusterState{Cluster: c.name, Up: away == "", Away: away, Nodes: []nodeState{}}
	own := c.said().Config
	for _, n := range c.engine.Nodes() {
		var told announced
		json.Unmarshal(n.Extra, &told) // of another version, perhaps
		st.Nodes = append(st.Nodes, nodeState{
			Name: n.ID, This: n.Epoch == c.engine.Epoch() && n.ID == c.self.ID, Address: n.Address, Version: n.Version,
			Since: time.UnixMilli(int64(n.Epoch)), Draining: told.Draining, run: fleet.Run(n),
			Other:    told.Config != "" && told.Config != own,
			Stranger: told.Secret != "" && !slices.Contains(c.secrets, told.Secret),
		})
	}
	return st
}

// setConfig tells the other nodes what the config of this one says. If it needs a restart to be applied, it differs from
// that of a node that has applied it.
func (c *cluster) setConfig(cfg *config.Config, needsRestart bool) {
	says := string(cfg.Meaning())
	if needsRestart {
		says += "\x00not applied"
	}
	digest := fleet.Digest(c.name, cfg.Cluster.Secrets[0], says)
	c.announce(func(a *announced) { a.Config = digest })
}

// compareConfigs warns when nodes have another config than this one, and says when they no longer have, until stop is
// called.
func (c *cluster) compareConfigs(log *slog.Logger) (stop func()) {
	differed := false
	var known []string // whose secret is another one, as was logged
	return c.engine.OnNodes(func([]engine.Node) {
		var others, strangers []string
		for _, n := range c.state().Nodes {
			if n.Stranger {
				strangers = append(strangers, n.Name)
			}
			if n.Other {
				others = append(others, n.Name)
			}
		}
		if len(strangers) > 0 && !slices.Equal(strangers, known) {
			log.Warn("nodes of the cluster seal with a secret that this node does not have (cluster.secrets): there are no links to them, and their sessions are unknown here", "nodes", strangers)
		}
		known = strangers
		differs := len(others) > 0
		if differs && !differed {
			log.Warn("nodes of the cluster have another config than this one (mcpbridge nodes shows which)", "nodes", others)
		} else if !differs && differed {
			log.Info("all nodes of the cluster have the same config again")
		}
		differed = differs
	})
}

func runNodes(ctx context.Context, args []string, std streams) error {
	r := newRemote("nodes", "nodes [--config FILE] [--json]", "Lists the nodes of the cluster of a serve of yours.", std)
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
	case err != nil && len(all) == 0:
		return err
	case asked == 0:
		return r.nothingRuns()
	case len(all) == 0:
		return &exitError{exitAway, `what runs is not of a cluster: "cluster" in the config makes a serve one of its nodes`}
	case r.json:
		return cmp.Or(json.NewEncoder(std.out).Encode(all), err)
	}
	for _, st := range all {
		if err := st.print(std.out, time.Now()); err != nil {
			return err
		}
	}
	return err
}

// print prints a table of the nodes.
func (st *clusterState) print(w io.Writer, now time.Time) error {
	state := ", NATS answers"
	if !st.Up {
		state = " as last known: " + terminal.Inline(cmp.Or(st.Away, "NATS does not answer"))
	}
	output.Item(w, "cluster ", terminal.Inline(st.Cluster)+" ("+plural(len(st.Nodes), "node")+state+")")
	rows := [][]string{{"NODE", "STATE", "UP", "VERSION", "ADDRESS"}}
	for _, n := range st.Nodes {
		state := "up"
		switch {
		case n.Draining:
			state = "draining"
		case n.This:
			state = "this one"
		}
		if n.Stranger {
			state += ", another secret"
		} else if n.Other {
			state += ", another config"
		}
		rows = append(rows, []string{terminal.Inline(n.Name), state, age(now.Sub(n.Since)), terminal.Inline(n.Version), terminal.Inline(n.Address)})
	}
	return output.Table(w, output.Width(w), rows)
}

const drainAbout = `Ends all serves of yours on this machine, or with --config those with that config, without losing a call:
each says that it is not ready (/readyz), so that a balancer sends it nothing new, waits for the calls that
run, and ends. In the last third of that wait it refuses new requests. The exit code is 1 if calls still ran at the end.
Other nodes of its cluster go on with its sessions. To end one of several nodes on this machine, give each a config file
of its own.`

func runDrain(ctx context.Context, args []string, std streams) error {
	r := newRemote("drain", "drain [--config FILE] [--settle 5s] [--within 1m]", drainAbout, std)
	settle := r.Duration("settle", 5*time.Second, "give the balancer this `DURATION` to notice")
	within := r.Duration("within", time.Minute, "give running calls this `DURATION` after that")
	if err := r.parseWords(args, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *settle+*within+askTime)
	defer cancel()
	drained, lossy := false, []error(nil)
	_, err := r.ask(ctx, &daemon.Command{Name: "drain", Settle: *settle, Within: *within}, func(line []byte) error {
		var a answer
		err := json.Unmarshal(line, &a)
		switch {
		case err != nil || a == answer{}: // a daemon, in front of which there is no balancer
			return err
		case a.Error != "":
			lossy = append(lossy, errors.New(a.Error))
		case r.json:
			fmt.Fprintf(std.out, "%s\n", line)
		default:
			output.Item(std.out, "", a.Done)
		}
		drained = true
		return nil
	})
	if err == nil && !drained {
		what := "no serve of yours is running"
		if r.config != "" {
			what += " for " + r.config
		}
		return &exitError{exitAway, what + " (mcpbridge ps lists what runs, and mcpbridge stop ends a daemon)"}
	}
	return errors.Join(append(lossy, err)...)
}

// drain waits until no call runs any more, and returns how many still do. No request begins then.
func (l *live) drain(ctx context.Context, settle, within time.Duration) (running int) {
	l.draining.Store(true)
	if l.cluster != nil {
		l.cluster.announce(func(a *announced) { a.Draining = true })
	}
	l.log.Info("draining", "settle", settle, "within", within)
	sleep(ctx, settle)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	// Sessions that cannot move bring new calls as long as they are let.
	defer time.AfterFunc(within-within/3, l.finish).Stop()
	if l.cluster != nil {
		l.cluster.places.Leave(ctx)
	}
	pending := func() int {
		return l.front.Pending() + l.pool.Lending().Serving() + int(l.asking.Load()) + l.chat.Running()
	}
	for range 2 { // a call may have begun before the last finish
		for pending() > 0 && sleep(ctx, drainTick) {
		}
		l.finish()
	}
	return pending()
}

// finish makes the program refuse what begins from now on.
func (l *live) finish() {
	l.finishing.Store(true)
	l.front.Finish()
	l.chat.Finish()
}

// unlessFinishing refuses requests for a handler of models after finish.
func (l *live) unlessFinishing(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.finishing.Load() {
			handler.ServeHTTP(w, r)
			return
		}
		const reason = "this bridge is about to end, and takes nothing new: try again"
		w.Header().Set("Retry-After", "1")
		if !serve.Refuse(w, r, http.StatusServiceUnavailable, reason) {
			http.Error(w, reason, http.StatusServiceUnavailable)
		}
	})
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

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine/embedded"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/place"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// cluster is what makes a serve one of several nodes.
type cluster struct {
	name    string
	secrets []string         // digests of them
	nats    *embedded.Server // nil where NATS is not in this process
	engine  *engine.Engine
	node    *fleet.Node
	self    engine.Node // as it is announced
	joined  atomic.Bool // the others have known it
	told    atomic.Bool // this node knows whether calls may run
	sealed  atomic.Bool // whether calls may run is sealed under a secret that this node does not have
	left    sync.Once
	runs    brokenRuns
	kept    *clusterHistory        // nil unless cluster.history is set
	stops   *fleet.Book            // why all calls are stopped
	books   map[string]*fleet.Book // that commands on this machine may ask
	places  *place.Places

	mu    sync.Mutex // guards extra, and is held while it is announced
	extra announced
}

// joinCluster makes serve, which listens on address, a node of the cluster that its config names.
func joinCluster(cfg *config.Config, scheme string, address net.Addr, log *slog.Logger) (*cluster, error) {
	c := &cfg.Cluster
	keys, err := fleet.NewKeys(c.Name, c.Secrets)
	if err != nil {
		return nil, usagef("%s: cluster.secrets: %v", cfg.Path, err)
	}
	name, err := nodeName(c.Node)
	if err != nil {
		return nil, usagef("%s: cluster.node: %v", cfg.Path, err)
	}
	version, _ := build()
	own := cmp.Or(c.Address, scheme+"://"+address.String())
	u, err := url.Parse(own)
	if err != nil || c.Address == "" && net.ParseIP(u.Hostname()).IsUnspecified() {
		return nil, usagef("%s: cluster.address is missing: the URL at which the other nodes reach this one, since it listens on every address", cfg.Path)
	}
	joined := &cluster{name: c.Name, books: map[string]*fleet.Book{}}
	for _, secret := range c.Secrets {
		joined.secrets = append(joined.secrets, fleet.Digest(c.Name, secret, "secret"))
	}
	joined.extra.Secret = joined.secrets[0]
	natsURL := c.NATS
	if c.Join != nil {
		if err := joined.startNATS(cfg, name, keys, u.Hostname(), log); err != nil {
			return nil, usagef("%s: cluster.join: %v", cfg.Path, err)
		}
		natsURL = joined.nats.URL()
	}
	joined.engine, err = engine.Open(engine.Options{
		Cluster: c.Name, Node: name, URL: natsURL, Credentials: c.Credentials, CA: cfg.CA, Replicas: c.Replicas, Log: log.With("cluster", c.Name),
	})
	if err != nil {
		joined.closeNATS()
		return nil, usagef("%s: cluster: %v", cfg.Path, err)
	}
	joined.node = fleet.New(fleet.Options{Keys: keys, Engine: joined.engine, Name: name, Log: log})
	joined.runs.book = joined.node.Book("runs", serve.KeepBroken)
	joined.runs.digest = func(request string) string { return fleet.Digest(c.Name, c.Secrets[0], request) }
	joined.self = engine.Node{ID: name, Address: own, Version: version}
	joined.setConfig(cfg, false)
	log.Info("is a node of a cluster", "cluster", c.Name, "node", name, "address", own)
	return joined, nil
}

// ready reports whether the node has been part of its cluster, and has not left it: the others know it, the sessions that
// begin here can move to them, and it knows whether calls may run.
func (c *cluster) ready() bool {
	if _, left := c.node.Term(); !c.joined.Load() && left > 0 && c.engine.Up() && slices.ContainsFunc(c.state().Nodes, func(n nodeState) bool { return n.This }) {
		c.joined.Store(true)
	}
	return c.joined.Load() && c.told.Load() && !c.engine.Superseded() // also while NATS is away
}

// away says why the node is not in touch with its cluster, "" if it is.
func (c *cluster) away() string {
	switch {
	case c.engine.Superseded():
		return "another node of the cluster has its name, " + c.self.ID
	case !c.engine.Up() && c.nats != nil:
		return cmp.Or(c.nats.Waits(), "NATS does not answer")
	case !c.engine.Up():
		return "NATS does not answer"
	}
	return ""
}

// unready says why the node is not ready.
func (c *cluster) unready() string {
	switch away := c.away(); {
	case c.engine.Superseded():
		return away
	case away != "":
		return "not joined yet: " + away
	case c.sealed.Load():
		return sealedStop
	}
	return "not joined yet: its NATS has not said which nodes there are, and whether calls may run"
}

// announce tells the other nodes of this one, with what change makes of what it has told so far.
func (c *cluster) announce(change func(*announced)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.extra)
	self := c.self
	self.Extra, _ = json.Marshal(c.extra) // cannot fail
	c.engine.Announce(self)
}

// said returns what the node has told the others.
func (c *cluster) said() announced {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.extra
}

// open returns the book of a name, which commands may ask from now on.
func (c *cluster) open(name string, most time.Duration) *fleet.Book {
	c.books[name] = c.node.Book(name, most)
	return c.books[name]
}

// leave ends the links to other nodes, and tells them.
func (c *cluster) leave() {
	c.left.Do(func() {
		c.places.Close()
		c.node.Close()
		c.engine.Close()
		c.closeNATS()
	})
}

// startNATS starts the NATS server of this node. Those of the others reach it at host, and show that they have the
// cluster's secret, as nodes do on links.
func (c *cluster) startNATS(cfg *config.Config, node string, keys *fleet.Keys, host string, log *slog.Logger) (err error) {
	own := cfg.Cluster
	c.nats, err = embedded.Start(embedded.Options{
		Cluster: own.Name, Node: node, Join: own.Join, Listen: cmp.Or(own.Routes, net.JoinHostPort(host, natsPort)),
		Password: own.Name, TLS: keys.TLS(), Dir: own.Store, Log: log,
	})
	return err
}

// natsPort is where servers of NATS reach each other.
const natsPort = "6222"

func (c *cluster) closeNATS() {
	if c.nats != nil {
		c.nats.Close()
	}
}

// nodeName returns the name of this node: what the config says, or that of the host.
func nodeName(configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	host, err := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	if err != nil || host == "" {
		return "", errors.New("this host has no name: give the node one")
	}
	return host, nil
}

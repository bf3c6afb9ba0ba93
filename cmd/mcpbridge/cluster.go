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

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine/embedded"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// cluster is what makes a serve one of several nodes.
type cluster struct {
	name   string
	nats   *embedded.Server // nil where NATS is not in this process
	engine *engine.Engine
	node   *fleet.Node
	self   engine.Node // as it is announced
	joined atomic.Bool // the others have known it
	left   sync.Once
	stops  *fleet.Book // why all calls are stopped
}

// joinCluster makes serve, which listens on address, a node of the cluster that its config names.
func joinCluster(cfg *config.Config, scheme string, address net.Addr, log *slog.Logger) (*cluster, error) {
	c := &cfg.Cluster
	keys, err := fleet.NewKeys(c.Secrets)
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
	joined := &cluster{name: c.Name}
	if c.Join != nil {
		if err := joined.startNATS(cfg, name, keys, u.Hostname(), log); err != nil {
			return nil, usagef("%s: cluster.join: %v", cfg.Path, err)
		}
		c.NATS = joined.nats.URL()
	}
	joined.engine, err = engine.Open(engine.Options{
		Cluster: c.Name, Node: name, URL: c.NATS, Credentials: c.Credentials, CA: cfg.CA, Replicas: c.Replicas, Log: log.With("cluster", c.Name),
	})
	if err != nil {
		joined.closeNATS()
		return nil, usagef("%s: cluster: %v", cfg.Path, err)
	}
	joined.node = fleet.New(fleet.Options{Keys: keys, Engine: joined.engine, Name: name, Log: log})
	joined.self = engine.Node{Address: own, Version: version}
	joined.announce(announced{})
	log.Info("is a node of a cluster", "cluster", c.Name, "node", name, "address", own)
	return joined, nil
}

// ready reports whether the node has been part of its cluster: the others know it.
func (c *cluster) ready() bool {
	if !c.joined.Load() && c.engine.Up() && slices.ContainsFunc(c.state().Nodes, func(n nodeState) bool { return n.This }) {
		c.joined.Store(true)
	}
	return c.joined.Load() // also while NATS is away
}

// announce tells the other nodes of this one.
func (c *cluster) announce(what announced) {
	c.self.Extra, _ = json.Marshal(what) // cannot fail
	c.engine.Announce(c.self)
}

// leave ends the links to other nodes, and tells them.
func (c *cluster) leave() {
	c.left.Do(func() {
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

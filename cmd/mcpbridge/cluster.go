package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// cluster is what makes a serve one of several nodes.
type cluster struct {
	name   string
	engine *engine.Engine
	node   *fleet.Node
	self   engine.Node // as it is announced
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
	joined := &cluster{name: c.Name}
	joined.engine, err = engine.Open(engine.Options{
		Cluster: c.Name, Node: name, URL: c.NATS, Credentials: c.Credentials, CA: cfg.CA, Replicas: c.Replicas, Log: log.With("cluster", c.Name),
	})
	if err != nil {
		return nil, usagef("%s: cluster: %v", cfg.Path, err)
	}
	own := cmp.Or(c.Address, scheme+"://"+address.String())
	if u, err := url.Parse(own); c.Address == "" && err == nil && net.ParseIP(u.Hostname()).IsUnspecified() {
		joined.engine.Close()
		return nil, usagef("%s: cluster.address is missing: the URL at which the other nodes reach this one, since it listens on every address", cfg.Path)
	}
	joined.node = fleet.New(fleet.Options{Keys: keys, Engine: joined.engine, Name: name, Log: log})
	joined.self = engine.Node{Address: own, Version: version}
	joined.announce(announced{})
	log.Info("is a node of a cluster", "cluster", c.Name, "node", name, "address", own)
	return joined, nil
}

// announce tells the other nodes of this one.
func (c *cluster) announce(what announced) {
	c.self.Extra, _ = json.Marshal(what) // cannot fail
	c.engine.Announce(c.self)
}

// leave ends the links to other nodes, and tells them.
func (c *cluster) leave() {
	c.node.Close()
	c.engine.Close()
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

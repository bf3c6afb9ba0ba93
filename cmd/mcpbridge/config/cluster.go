package config

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// cluster is what makes this process one of several nodes. Without a Name it is the only one.
type cluster struct {
	Name        string
	Node        string   // of this one; "" means the name of the host
	Secrets     []string // that all nodes have, the current one first
	Address     string   // URL at which the other nodes reach this one; "" means that of listen
	NATS        string   // URL of NATS, or HOST:PORT; several have commas between
	Credentials string   // absolute path of NATS' file of credentials; "" means none
	Join        []string // host:port of the nodes whose NATS this one's joins; nil means that NATS is not in this process
	Routes      string   // host:port on which this node's NATS is joined; "" means port 6222 of the host of Address
	Store       string   // absolute folder of what this node's NATS keeps
	Replicas    int      // servers of NATS that keep each thing, at most 5; 0 means three where there are as many
	History     history
}

// history is what all nodes keep of conversations, so that another one goes on when a node has ended. A limit of 0 means
// the default.
type history struct {
	Enabled  bool
	Keep     time.Duration // after the last change of a conversation; default 30 days
	MaxBytes int           // of all conversations, beyond which the oldest are gone; at least 16 MiB, default 256 MiB
}

func (h *history) keys() keySet {
	return keySet{
		"keep":     {take: into(&h.Keep, readHistoryKeep)},
		"maxBytes": {take: into(&h.MaxBytes, readHistorySize)},
	}
}

// minHistory is enough for some of the largest conversations of one principal.
const minHistory = 16 << 20

func readHistorySize(d *decoder, n node) (int, bool) {
	size, ok := readSize(d, n)
	if ok && size < minHistory {
		d.errorf(n, `expected at least "16MiB"`)
		return 0, false
	}
	return size, ok
}

// maxHistoryKeep is what readDays makes of more days, too. NATS would drop at once what it is to keep until after the year 2262.
const maxHistoryKeep = 32767 * 24 * time.Hour

func readHistoryKeep(d *decoder, n node) (time.Duration, bool) {
	keep, ok := readDays(d, n)
	return min(keep, maxHistoryKeep), ok
}

// readHistory reads "history": true, or an object with settings.
func readHistory(d *decoder, n node) (h history, ok bool) {
	h.Enabled, ok = d.enabled(n, "settings", h.keys())
	return h, ok
}

func (c *cluster) keys() keySet {
	return keySet{
		"name":        {take: into(&c.Name, readClusterName)},
		"node":        {take: into(&c.Node, readClusterName)},
		"secrets":     {take: into(&c.Secrets, listOf(readText))},
		"address":     {take: into(&c.Address, readNodeAddress)},
		"nats":        {take: into(&c.NATS, readNATS)},
		"credentials": {take: into(&c.Credentials, readPath)},
		"join":        {take: into(&c.Join, listOf(readHostPort))},
		"routes":      {take: into(&c.Routes, readHostPort)},
		"store":       {take: into(&c.Store, readPath)},
		"replicas":    {take: into(&c.Replicas, readReplicas)},
		"history":     {take: into(&c.History, readHistory)},
	}
}

// readCluster reads the settings of a node.
func readCluster(d *decoder, n node) (c cluster, ok bool) {
	if n.value.Kind() != '{' {
		d.expected(n, `an object with "name", "secrets", and "nats" or "join"`)
		return c, false
	}
	before := len(d.problems)
	d.object(n, c.keys())
	switch {
	case len(d.problems) > before: // with a key that would be the one that is missing
	case c.Name == "":
		d.errorf(n, `"name" is missing: nodes of one name are one cluster`)
	case len(c.Secrets) == 0:
		d.errorf(n, `"secrets" is missing: all nodes have the same, such as ["${CLUSTER_SECRET}"] of openssl rand -base64 32`)
	case (c.NATS == "") == (c.Join == nil):
		d.errorf(n, `expected either "nats", the URL of a NATS server, or "join", the nodes whose NATS servers form the cluster`)
	case c.Join != nil && c.Store == "":
		d.errorf(n, `"store" is missing: the folder in which this node's NATS server keeps the cluster's state`)
	}
	return c, true
}

// checkPlacement refuses servers that serve would wait for before it is a node.
func (c *Config) checkPlacement(d *decoder) {
	for _, n := range d.placed {
		if c.Cluster.Name != "" {
			d.errorf(n, `"required" is true, but a server with "placement": "one" can be connected only once serve is a node of its cluster`)
		}
	}
}

// readClusterName reads a name that is part of NATS' subjects.
func readClusterName(d *decoder, n node) (string, bool) {
	name, ok := readText(d, n)
	const letters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	if ok && (name == "" || len(name) > 32 || strings.Trim(name, letters) != "") {
		d.errorf(n, "expected 1 to 32 letters, digits and -, got %q", name)
		return "", false
	}
	return name, ok
}

// readNodeAddress reads the URL of a node.
func readNodeAddress(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if !ok {
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		d.errorf(n, "expected a URL at which the other nodes reach this one, such as http://10.0.0.3:7332, got %q", text)
		return "", false
	}
	return text, true
}

// readNATS reads the servers of NATS, as its client does. Their URLs may have secrets, which an error does not show.
func readNATS(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if !ok || text == "" { // as if it were absent
		return "", ok
	}
	all, web, scheme := 0, 0, "nats://"
	for server := range strings.SplitSeq(text, ",") {
		if server = strings.TrimSpace(server); server == "" {
			continue
		}
		if !strings.Contains(server, "://") {
			server = scheme + server
		}
		u, err := url.Parse(server)
		if err != nil || !isNATS(u) {
			all = 0
			break
		}
		if all++; strings.HasPrefix(u.Scheme, "ws") {
			web, scheme = web+1, "ws://"
		}
	}
	switch {
	case all == 0:
		d.errorf(n, "expected HOST:PORT, or a URL that begins with nats://, tls://, ws:// or wss:// and has a host; several have commas between")
	case web > 0 && web < all:
		d.errorf(n, "expected ws:// or wss:// of all servers or of none")
	default:
		return text, true
	}
	return "", false
}

// isNATS reports whether a URL can be that of a server of NATS.
func isNATS(u *url.URL) bool {
	return slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) && u.Hostname() != "" && (u.Port() == "" || isPort(u.Port()))
}

// maxReplicas is how many servers NATS keeps a thing on at most. Fewer may be any number.
const maxReplicas = 5

func readReplicas(d *decoder, n node) (int, bool) {
	count, ok := readCount(d, n)
	return count, ok && d.fits(n, count <= maxReplicas, "0", "1 to 5: NATS keeps nothing on more servers")
}

// readHostPort reads the address of a NATS server.
func readHostPort(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if !ok {
		return "", false
	}
	if _, port, err := net.SplitHostPort(text); err != nil || !isPort(port) {
		d.errorf(n, "expected HOST:PORT, such as bridge-0.bridge:6222, got %q", text)
		return "", false
	}
	return text, true
}

package config

import (
	"encoding/json"
	"strings"
)

// console is the page with which a person looks after serve.
type console struct {
	Context       map[string]json.RawMessage // hidden values of the operator by their lower-case names, for requests whose headers have none
	SandboxOrigin string                     // the origin of the frames of servers' pages; "" gives each frame an opaque origin
}

func (c *console) keys() keySet {
	return keySet{
		"context":       {take: into(&c.Context, readValues)},
		"sandboxOrigin": {take: into(&c.SandboxOrigin, readWebOrigin)},
	}
}

// readWebOrigin reads an origin that a browser can load pages from.
func readWebOrigin(d *decoder, n node) (string, bool) {
	origin, ok := readOrigin(d, n)
	if ok && !strings.HasPrefix(origin, "http://") && !strings.HasPrefix(origin, "https://") {
		d.wrongf(n, `expected an origin of http or https, as in "https://apps.example.com"`)
		return "", false
	}
	return origin, ok
}

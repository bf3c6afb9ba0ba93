package mcpclient

import (
	"context"
	"net"
)

// DialThrough makes the connections of c with dial, for tests in a synctest bubble.
func (c *Client) DialThrough(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	c.cfg.http.DialContext, c.cfg.plain.Dial = dial, dial
}

// KeepLists bounds what the lists of c take on all its links, in bytes.
func (c *Client) KeepLists(bytes int) {
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	c.kept.max = bytes
}

// Hide hides the credentials of a config, and the values of Auth so far, in a text.
func Hide(cfg Config, text string, values ...string) string {
	cfg.setDefaults()
	for _, value := range values {
		cfg.holdSecret(value)
	}
	return cfg.hide(text)
}

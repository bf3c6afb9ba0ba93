package mcpclient

import (
	"context"
	"net"
)

// DialThrough makes the connections of c with dial, for tests in a synctest bubble.
func (c *Client) DialThrough(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	c.cfg.http.DialContext = dial
}

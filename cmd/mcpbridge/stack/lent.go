package stack

import (
	"context"
	"fmt"
	"net"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// lentURL is where a server is at the other end of a link: only its path means something there.
const lentURL = "http://localhost/mcp"

// lent returns the definition of a server that somebody lends.
func lent(c mcpclient.Config, server *config.Server, identity string, hub *fleet.Hub) definition {
	name, lender := server.Name, server.Lender
	c.URL = lentURL
	switch {
	case c.Fault != nil:
	case hub == nil:
		c.Fault = fmt.Errorf("%s lends it to mcpbridge serve, and to no other command", lender)
	default:
		c.Via = func() (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
			return hub.Link(name, lender)
		}
	}
	return definition{Config: c, identity: identity + " lent by " + lender}
}

// setLenders says who may lend which server.
func (s *Stack) setLenders(opts *Options) {
	if opts.Lenders == nil {
		return
	}
	lenders := map[string]string{}
	for _, server := range s.cfg.Servers {
		if server.Lender != "" {
			lenders[server.Name] = server.Lender
		}
	}
	opts.Lenders.SetLenders(lenders)
}

package stack

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/place"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// lentURL is where a server is at the other end of a link: only its path means something there.
const lentURL = "http://localhost/mcp"

// lent returns the definition of a server that somebody lends.
func lent(c mcpclient.Config, server *config.Server, identity string, opts *Options, cluster bool) definition {
	name, lender, hub, places := server.Name, server.Lender, opts.Lenders, opts.Places
	c.URL = lentURL
	switch {
	case c.Fault != nil:
	case hub == nil:
		c.Fault = fmt.Errorf("%s lends it to mcpbridge serve, and to no other command", lender)
	default:
		c.Via = func(principal string) (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
			if !cluster || places == nil {
				return hub.Link(name, lender)
			}
			dial, over, elsewhere := places.Elsewhere(offerName(server), principal) // before hub.Link: over is closed, too, when a link comes between the two
			own, ended, err := hub.Link(name, lender)
			switch {
			case err == nil:
				return own, ended, nil
			case elsewhere == nil:
				return dial, over, nil
			}
			return nil, over, err
		}
	}
	return definition{Config: c, identity: identity + " lent by " + lender}
}

// lentCalls is how many calls of a server that somebody lends run at once, unless its entry says so: a link has 512 streams,
// of which each client that has begun with initialize has one, too.
const lentCalls = 256

// concurrency returns how many calls of a server run at once; 0 means any number.
func concurrency(server *config.Server) int {
	if server.Concurrency == 0 && server.Lender != "" {
		return lentCalls
	}
	return server.Concurrency
}

// offerName returns the name by which the nodes of a cluster offer each other a server that is lent to them.
func offerName(server *config.Server) string { return server.Name + "\x00" + server.Lender }

// nodeOf returns which other node of the cluster has a server: runs it for all, or is lent it; "" if none does.
func (s *Stack) nodeOf(server *config.Server) string {
	switch {
	case s.places == nil:
	case server.Lender != "":
		return s.places.Offerer(offerName(server))
	case server.Single:
		if node, here, _ := s.places.Runner(server.Name); !here {
			return node
		}
	}
	return ""
}

// setPages has the tools that clients lend to other nodes of the cluster.
func (s *Stack) setPages(opts *Options) {
	switch {
	case opts.Places == nil:
	case s.cfg.Lending.Enabled:
		failed := &bridge.Throttle{To: s.log, Burst: 1, Every: time.Minute}
		opts.Places.SetFollower(func(ctx context.Context, dial place.Dial) {
			if err := s.pool.lending.Follow(ctx, dial); ctx.Err() == nil {
				failed.Log(slog.LevelWarn, "what clients lend to another node is not known", "reason", err)
			}
		})
	default:
		opts.Places.SetFollower(nil)
	}
}

// setLenders says who may lend which server.
func (s *Stack) setLenders(opts *Options) {
	if opts.Lenders == nil {
		return
	}
	lenders, offers := map[string]string{}, map[string]place.Way{}
	for _, server := range s.cfg.Servers {
		if server.Lender != "" {
			lenders[server.Name] = server.Lender
			offers[offerName(&server)] = func() (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
				return opts.Lenders.Link(server.Name, server.Lender)
			}
		}
	}
	opts.Lenders.SetLenders(lenders)
	if opts.Places != nil {
		opts.Places.SetOffers(offers)
	}
}

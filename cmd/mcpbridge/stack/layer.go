package stack

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/account"
	"github.com/mcpbridge/mcpbridge/bridge/apps"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// A layer is a source with all that is below it.
type layer struct {
	name   string // as Why names it to the operator
	source bridge.Source

	// why says why a tool of the layer below is not in this one, "" if that is not known; may be nil.
	why func(*bridge.Caller, *bridge.Item) string
}

// layers are those of a server, or of all sources, the innermost first. They are both what a Stack is wired
// of and what Why looks into: a wrapper that changes lists belongs among them.
type layers []layer

// add adds a wrapper of the outermost layer, unless it is not configured: then it is what it wraps.
func (l *layers) add(name string, wrap func(bridge.Source) bridge.Source, why func(*bridge.Caller, *bridge.Item) string) {
	below := l.outermost()
	if source := wrap(below); source != below {
		*l = append(*l, layer{name, source, why})
	}
}

func (l layers) outermost() bridge.Source { return l[len(l)-1].source }

// list returns the tools that a caller has in a layer. They may come with an error.
func (l *layer) list(ctx context.Context, caller *bridge.Caller) (*bridge.List, error) {
	own := *caller
	own.Notify, own.Memory = nil, nil // which are the caller's own session's
	s, err := l.source.Open(ctx, &own)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.List(ctx, bridge.Tools)
}

// wrapServer wraps a server's client.
func (s *Stack) wrapServer(source bridge.Source, server *config.Server, opts *Options) bridge.Source {
	own := layers{{name: "server", source: source}}
	own.add("pin", func(source bridge.Source) bridge.Source { return s.pin(source, server, opts) }, s.whyOf(server.Name))
	own.add("context", func(source bridge.Source) bridge.Source { return s.guard(source, server) }, s.whyOf(server.Name))
	own.add("credentials", func(source bridge.Source) bridge.Source {
		if a := s.accounts[server.Name]; a != nil {
			return account.Wrap(source, server.Name, a)
		}
		return source
	}, nil)
	s.members[server.Name] = own
	return own.outermost()
}

// wrap wraps what all sources are in.
func (s *Stack) wrap(source bridge.Source, owner bool) bridge.Source {
	s.access = s.profiles(owner)
	s.layers = layers{{name: "names", source: source, why: s.whyNamed}}
	s.layers.add("lending", s.lend, s.whyNotLent)
	s.layers.add("ledger", s.ledger, nil)
	s.layers.add("policy", s.decide, nil)
	s.layers.add("interceptors", s.interception.Wrap, nil)
	s.layers.add("scan", s.scanner.Wrap, func(*bridge.Caller, *bridge.Item) string {
		return `its definition has what "policy.scan" refuses`
	})
	s.layers.add("rates", s.rates, nil)
	s.layers.add("profile", func(source bridge.Source) bridge.Source { return profile.New(source, s.access) }, s.access.Why)
	s.layers.add("apps", apps.Wrap, func(*bridge.Caller, *bridge.Item) string {
		return "only pages may call it (_meta.ui.visibility), and this client shows none"
	})
	return s.Calls().Wrap(s.layers.outermost(), s.access.Of) // which changes no list
}

// lend adds the tools that clients lend, if the config says so.
func (s *Stack) lend(source bridge.Source) bridge.Source {
	l := s.cfg.Lending
	if !l.Enabled {
		return source
	}
	s.pool.lending.SetLimits(web.Limits{
		Clients: l.Clients, Tools: l.Tools, ClientTools: l.ClientTools, ClientBytes: l.ClientBytes, ToolBytes: l.ToolBytes,
		Calls: l.Calls, Queue: l.Queue, CallBytes: s.cfg.Limits.MessageBytes, Timeout: l.Timeout,
	})
	return s.pool.lending.Wrap(source, bridge.OverlayOptions{Native: bridge.NativeOptions{Log: s.log}, Reserved: s.bridge.Owner})
}

// nativeTools and lentTools are the names of the native tools, and of those that clients lend, among those of
// servers.
const nativeTools, lentTools = "native tools", web.LentTools

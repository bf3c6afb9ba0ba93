package stack

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/place"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// placed returns the definition of a server as it is reached from any node of the cluster, one of which runs it
// by own.
func (s *Stack) placed(own definition, server *config.Server, opts *Options) definition {
	c := own.Config
	c.Command, c.Env, c.Dir, c.Sandbox = nil, nil, "", nil
	c.URL, c.KeepLists, c.Lazy = lentURL, true, false
	c.Own = asCaller
	c.RetryMin, c.RetryMax, c.Steady = 0, relinkMax, 0
	if c.Sharing != mcpclient.Session {
		c.Sharing = mcpclient.Identity
	}
	switch name := server.Name; {
	case c.Fault != nil:
	case opts.Places == nil:
		c.Fault = errors.New(`a node of the cluster runs it ("placement" in its config), and no other command than serve does`)
	default:
		c.Via = func(principal string) (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
			return opts.Places.Link(name, principal)
		}
		own.identity += " for all nodes"
		own.Mute = len(server.Context) > 0 // nodes do not tell each other hidden values
		id := fmt.Sprintf("%x %d", own.key(), server.Concurrency)
		s.placing[name] = place.Server{ID: id, Run: func(ctx context.Context, t *place.Term) { s.runPlaced(ctx, t, own, server.Concurrency) }}
	}
	return definition{Config: c, identity: own.identity + " of one node"}
}

// relinkMax bounds the pause between attempts to reach the node that runs a server.
const relinkMax = 5 * time.Second

// setPlaces says which servers one node of the cluster runs.
func (s *Stack) setPlaces(opts *Options) {
	if opts.Places != nil {
		opts.Places.SetServers(s.placing)
	}
}

// runPlaced runs a server for all nodes of the cluster until ctx ends. s may have been closed by then.
func (s *Stack) runPlaced(ctx context.Context, t *place.Term, d definition, concurrency int) {
	limits, log := s.cfg.Limits, s.log.With("server", d.Name)
	log.Info("this node runs it, for all nodes of the cluster")
	d.Grace = process.Grace{Stdin: t.End() / 3, Term: t.End() / 3} // and Term again for what its leader has left
	use := s.pool.take(d)
	s.pool.setPlaced(d.Name, use.Client)
	serving, end := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		s.pool.setPlaced(d.Name, nil)
		s.pool.give(use)
		t.Ended()
		log.Info("this node runs it no more")
		time.AfterFunc(lingerTime, end)
	})
	source := bridge.New(bridge.Options{Principals: s.cfg.Principals(), Alone: settleTime(s.cfg, true), Log: log}, bridge.Member{
		Name: d.Name, Concurrency: concurrency,
		Source: termSource{use, t},
	})
	front := mcpserver.New(source, mcpserver.Options{
		Access:          mcpserver.Access{Auth: auth.Any{callers{}}},
		CallsPerSession: 1 << 20, // of all sessions that a caller has at a node, which bounds them
		MessageBytes:    limits.MessageBytes, QueueBytes: limits.QueueBytes, Sessions: limits.Sessions, SessionIdle: limits.SessionIdle, Log: log,
	})
	front.Serve(serving, t)
}

// lingerTime is how long after its end a server's calls are still refused, rather than lost: other nodes learn then
// who runs it.
const lingerTime = 500 * time.Millisecond

// termSource is a server whose calls begin only while this node may run it.
type termSource struct {
	bridge.Source
	term *place.Term
}

// Open implements bridge.Source. All callers are of the legacy era: to find out whether it speaks the modern one, a
// server is given another process.
func (s termSource) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	own := *caller
	own.Modern = false
	below, err := s.Source.Open(ctx, &own)
	if err != nil {
		return nil, err
	}
	return termSession{below, s.term}, nil
}

// termSession is a session of a termSource.
type termSession struct {
	bridge.Session
	term *place.Term
}

// Do implements bridge.Session.
func (s termSession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	leave, ok := s.term.Enter()
	if !ok {
		moving := toolformat.Errorf(toolformat.Unavailable, "another node of the cluster is about to run it: try again")
		moving.NotRun = true
		return bridge.Failed(moving)
	}
	defer leave()
	reply := s.Session.Do(ctx, req)
	if reply.Err != nil && reply.Err.Code == toolformat.Canceled && ctx.Err() == nil { // by the end of the term
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "the node that ran it had to end it while %s was under way: it is unknown whether it ran", req.Method))
	}
	return reply
}

// callerMark begins the credentials of a caller among nodes. They prove nothing: only nodes can show them.
const callerMark = "caller."

// asCaller is mcpclient.Config.Own for a server that another node may run: that is told whose calls they are.
func asCaller(cfg *mcpclient.Config, caller *bridge.Caller) {
	token := callerMark + base64.RawURLEncoding.EncodeToString([]byte(caller.Principal.Name))
	cfg.Auth = forwarded(func() string { return token })
}

// callers is the auth.Authenticator of what asCaller shows.
type callers struct{}

// Authenticate implements auth.Authenticator.
func (callers) Authenticate(_ context.Context, c *auth.Credentials) (*auth.Identity, error) {
	text, ok := strings.CutPrefix(c.Token, callerMark)
	name, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil, &auth.Refusal{Reason: "no caller of a node"}
	}
	return &auth.Identity{Principal: bridge.Principal{Name: string(name)}, Credential: c.Token}, nil
}

// Admits implements auth.Authenticator.
func (callers) Admits(credential string) bool { return strings.HasPrefix(credential, callerMark) }

// Several implements auth.Authenticator.
func (callers) Several() bool { return true }

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/place"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/logbook"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
	webconsole "github.com/mcpbridge/mcpbridge/mcpserver/web/console"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

const defaultListen = "127.0.0.1:7332"

func runServe(ctx context.Context, args []string, std streams) error {
	f := newFlags("serve", "serve [flags] [-- COMMAND [ARG…]]", "Serves MCP over streamable HTTP (/mcp), legacy SSE (/sse) and WebSocket (/ws),\nand models with all tools to programs that use OpenAI's or\nAnthropic's API (/v1) and to web pages (/chat).\n"+spoken(), std)
	f.gateway = true
	listen := f.String("listen", "", "listen on this `HOST:PORT`; port 0 lets the system pick one (default: \"listen\" in the config, else "+defaultListen+")")
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	load := func(cfg *config.Config) error {
		cfg.Listen = cmp.Or(*listen, cfg.Listen, defaultListen)
		err := addAutoToken(cfg)
		if err == nil && cfg.PublicURL != "" && cfg.Principals() == 0 {
			cfg.Warnings = append(cfg.Warnings, "publicUrl: whoever reaches "+cfg.PublicURL+" can run the tools, unless the proxy there asks who it is: make a token (mcpbridge token create NAME)")
		}
		return err
	}
	if err := errors.Join(load(cfg), mayListen(cfg)); err != nil {
		return err
	}
	f.book = logbook.New()
	lenders := fleet.NewHub()
	defer lenders.Close()
	l, err := newLive(f, cfg, stack.Options{Lenders: lenders, Places: place.New()}, func() (*config.Config, error) {
		cfg, err := f.again()
		if err != nil {
			return nil, err
		}
		return cfg, load(cfg)
	}, std.err)
	if err != nil {
		return err
	}
	defer l.close()
	defer keepMemoryLow()()
	return l.serve(ctx, f.book, std)
}

// mayListen refuses an address that other machines can reach unless the config has tokens.
func mayListen(cfg *config.Config) error {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return usagef("listen: %s is not HOST:PORT, as in %s", cfg.Listen, defaultListen)
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() || cfg.Principals() > 0 {
		return nil
	}
	return usagef("listen: %s is reachable from other machines, where anyone could run the tools: make a token (mcpbridge token create NAME), put \"tokens\": {\"NAME\": \"${SECRET}\"} in the config, or listen on 127.0.0.1", cfg.Listen)
}

// serve listens until ctx ends.
func (l *live) serve(ctx context.Context, book *logbook.Book, std streams) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	begin, stop := l.follow()
	defer stop()
	if err := l.openRequired(ctx); err != nil {
		return err
	}
	if err := l.entry.set(l.cfg, l.log); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", l.cfg.Listen)
	if err != nil {
		return usagef("listen: %v (--listen 127.0.0.1:0 lets the system pick another port)", err)
	}
	defer ln.Close()
	scheme, address := "http", ln.Addr()
	if l.cfg.TLS.Cert != "" {
		scheme, ln = "https", tls.NewListener(ln, l.entry.tls())
	}
	l.serveModels()
	commands := l.newControl(book, address.String(), func(why string) { end(errors.New(why)) })
	defer commands.counts.Close()
	l.console = &ownConsole{live: l, control: commands, address: scheme + "://" + address.String()}
	commands.open, commands.drain = l.console.url, l.drain
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		l.local = fmt.Sprintf("%s://localhost:%d", scheme, tcp.Port)
	}
	l.setBase(l.cfg)
	opts := l.serverOptions(l.cfg)
	opts.Foreign["/login"], opts.Foreign["/login/"] = &l.pool.Desk, &l.pool.Desk
	if l.cfg.Cluster.Name != "" {
		if l.cluster, err = joinCluster(l.cfg, scheme, address, l.log); err != nil {
			return err
		}
		defer l.cluster.leave()
		endSharing, err := l.shareAll(ctx)
		if err != nil {
			return err
		}
		defer endSharing()
		opts.Nodes, commands.cluster = l.cluster.node, l.cluster
		opts.Peers = map[string]http.Handler{psPath: http.HandlerFunc(commands.servePs), auditPath: http.HandlerFunc(commands.serveAudit), codePath: http.HandlerFunc(l.serveCode), place.Path: l.cluster.places, web.NodesPath: l.pool.Lending()}
	}
	defer l.noteDefinitions(ctx)()
	l.front = mcpserver.New(l, opts)
	l.shareDesk(commands)
	if l.cfg.Path != "" {
		defer onHangup(l.applyAnew, end)()
	}
	begin()
	defer commands.answerCommands(ctx, l.log)() // before others are told that it listens
	fmt.Fprintf(std.err, "listening on %s://%s\n", scheme, address)
	if output.IsTerminal(std.err) {
		fmt.Fprintf(std.err, "open %s\n", l.console.url())
	}
	serving, endServing := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endServing(nil)
	defer context.AfterFunc(ctx, func() {
		if l.cluster != nil {
			l.pool.Buckets.GiveBack(time.Second)
			l.cluster.leave() // first, so that the other nodes go on with the sessions that end here
		}
		endServing(context.Cause(ctx))
	})()
	return l.front.Serve(serving, ln)
}

// shareAll has the nodes of the cluster share all that they have in common, until end is called and ctx ends.
func (l *live) shareAll(ctx context.Context) (end func(), err error) {
	c := l.cluster
	c.share(ctx, l.pool, l.log)
	c.runs.share(ctx)
	c.shareHistory(ctx, l.cfg, l.log)
	l.shareLogins(ctx)
	l.sharePins(ctx)
	l.tokensChanged = c.shareTokens(ctx, l.cfg.TokenFile(), l.log)
	for _, name := range []string{stopBook, pinsBook, tokensBook} {
		go fleet.Reseal(ctx, c.node.Book(name, 0), nil)
	}
	stopLists, err := c.shareLists(l.Live, l.pool)
	if err != nil {
		return nil, err
	}
	stopComparing := c.compareConfigs(l.log)
	l.pool.Lending().SetClustered()
	c.places = l.opts.Places
	c.places.Join(c.node, c.engine, c.self.ID)
	return func() {
		stopComparing()
		stopLists()
	}, nil
}

// setBase sets where browsers reach the pages on which callers log in to servers, and those of approvals.
func (l *live) setBase(cfg *config.Config) {
	base := cmp.Or(cfg.PublicURL, l.local)
	l.pool.Desk.SetBase(base)
	l.pool.Approvals.SetPages(l.console.base(cfg) + webconsole.ApprovePath)
	for _, server := range cfg.Servers {
		if server.PerIdentity && base == "" {
			l.log.Warn("nobody can log in to a server: publicUrl is needed, the URL at which browsers reach this bridge", "server", server.Name)
		}
	}
}

// serverOptions returns the options of a config for a server of any carrier.
func (l *live) serverOptions(cfg *config.Config) mcpserver.Options {
	models := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.asking.Add(1) // before it is known whether the program takes it, so that no other begins once none is pending
		defer l.asking.Add(-1)
		l.unlessFinishing(l.model.Load()).ServeHTTP(w, r)
	})
	chat := l.unlessFinishing(l.chat)
	o := streamOptions(cfg, l.opts.Pool, l.log)
	o.HiddenHeaders, o.TicketValues = cfg.HiddenHeaders()
	o.Access = l.entry.access(cfg)
	o.Protected = map[string]http.Handler{"/v1/": models, "/v1/p/{profile}/": models, "/chat": chat, "/chat/p/{profile}": chat, webconsole.Path: l.console.handler()}
	if lenders := l.opts.Lenders; lenders != nil {
		o.Protected[fleet.LendPath] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lenders.Serve(w, r, mcpserver.CallerOf(r).Principal.Name, l.log)
		})
	}
	sandbox := webconsole.Sandbox{
		Origin: func() string { return l.Live.Stack().Config().Console.SandboxOrigin },
		Hosts:  func(r *http.Request, host string) bool { return l.front.KnowsHost(r, host) },
	}
	o.Page, o.Foreign = webconsole.Page(sandbox), webconsole.Foreign(sandbox)
	o.Public, o.Refuse, o.Ready = publicFiles(), serve.Refuse, http.HandlerFunc(l.serveReady)
	return o
}

// streamOptions returns the options that streams of clients have, too.
func streamOptions(cfg *config.Config, pool *stack.Pool, log *slog.Logger) mcpserver.Options {
	limits := cfg.Limits
	o := mcpserver.Options{
		MessageBytes: limits.MessageBytes, BatchMessages: limits.BatchMessages, CallsPerSession: limits.CallsPerSession, QueueBytes: limits.QueueBytes,
		Sessions: limits.Sessions, SessionIdle: limits.SessionIdle, ResumeBytes: limits.ResumeBytes,
		PassTokens: passesTokens(cfg), Adoptable: adoptable(cfg),
		Log: log,
	}
	if cfg.Lending.Enabled {
		o.Lend = pool.Lending().Join
	}
	return o
}

// adoptable reports whether sessions have nothing of their own in the sources: another node can go on with
// them.
func adoptable(cfg *config.Config) bool {
	return cfg.Cluster.Name != "" && !slices.ContainsFunc(cfg.Servers, func(s config.Server) bool {
		return !(s.Sharing == "shared" || s.Sharing == "" && s.URL == "" && s.Lender == "")
	})
}

// passesTokens reports whether a source gets the tokens of callers, or others for them.
func passesTokens(cfg *config.Config) bool {
	return slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Forward || s.OAuth.OfCaller }) ||
		slices.ContainsFunc(cfg.APIs, func(api config.API) bool { return api.OAuth != nil && api.OAuth.OfCaller })
}

// publicFiles returns what pages are made of.
func publicFiles() map[string]http.Handler {
	all := web.Files()
	maps.Copy(all, webconsole.Files())
	return all
}

// serveReady answers /readyz: 200 if every required server is up, a node has
// joined its cluster, and it is not about to end. Authenticated callers get the
// state of each server, unless there are profiles, which may leave it out.
func (l *live) serveReady(w http.ResponseWriter, r *http.Request) {
	current := l.Live.Stack()
	var report strings.Builder
	status := http.StatusOK
	if l.draining.Load() {
		status = http.StatusServiceUnavailable
		report.WriteString("draining: it ends soon\n")
	}
	if l.cluster != nil && !l.cluster.ready() {
		status = http.StatusServiceUnavailable
		report.WriteString("cluster: " + l.cluster.unready() + "\n")
	}
	for _, st := range current.Servers() {
		if st.Required && !st.Up() && !st.Waiting() {
			status = http.StatusServiceUnavailable
		}
		report.WriteString(st.String())
		if in := time.Until(st.Retry); in > 0 {
			fmt.Fprintf(&report, " (next attempt in %s)", in.Round(time.Second))
		}
		report.WriteByte('\n')
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	cfg := current.Config()
	if len(cfg.Profiles) > 0 || !l.front.Knows(r) {
		fmt.Fprintln(w, http.StatusText(status))
		return
	}
	fmt.Fprint(w, report.String())
}

package stack

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/place"
	"github.com/mcpbridge/mcpbridge/bridge/intercept"
	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/bridge/scan"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A Stack is the sources of a config in one [bridge.Source].
type Stack struct {
	Policy    *policy.Policy // the rules of the config
	Approvals *policy.Desk   // that of the pool

	cfg     *config.Config
	id      string // by which a loop of bridges is found
	log     *slog.Logger
	bridge  *bridge.Bridge
	source  bridge.Source     // bridge with its wrappers
	layers  layers            // of source, from bridge on
	members map[string]layers // of each member of bridge
	access  profile.Options
	pool    *Pool
	ownPool bool // no other Stack has it
	clients []*use
	guards  []namedGuard
	pins    map[string]*pins.Pins   // by server
	placing map[string]place.Server // what one node of the cluster runs, by server
	places  *place.Places           // Options.Places
	quotas  rates.Store             // nil forgets the calls of a day
	scanner *scan.Scanner           // nil without rules

	interception  *intercept.Interception // nil without interceptors
	interceptURLs []*intercept.URL
	logins        map[string]*oauth.Client // by server
	accounts      map[string]*accounts     // by server, of those where each principal has its own
	approve       *policy.Policy           // loop.approve, for models
	chat          *policy.Policy           // … with which a person talks
	natives       *nativeLoader
	native        *bridge.Native                      // nil without native tools
	book          *sharedBook                         // nil without a ledger
	recorder      *recorder                           // nil without functions that save conversations
	roots         trust                               // of outgoing connections
	models        func() *Models                      // creates them once
	chosen        atomic.Pointer[providers.Candidate] // UseModel
}

type namedGuard struct {
	*bridge.Guard
	server string
}

// Options are the decisions that are not the config's.
type Options struct {
	Log       *slog.Logger  // nil discards
	Version   string        // the program's version, which servers are told
	Strict    bool          // New fails if a native tool is unusable, instead of skipping it
	OneCaller bool          // there is one caller, so that no server is shared
	Owner     bool          // callers are whoever has written the config: they have the profiles that they ask for
	WaitAll   bool          // the first list waits until every server is connected or has failed
	Once      bool          // a server that cannot be connected is not tried again
	Alone     bool          // nobody can decide about approvals but the client of a call, and Ask
	Dir       string        // working folder of servers without "cwd"; "" means that of the program
	Lenders   *fleet.Hub    // has what others lend; nil means that nobody can
	Places    *place.Places // where one node of a cluster runs a server for all; nil means that no node is to
	Pool      *Pool         // has the clients of servers; nil means a pool of its own

	// Ask asks the person at this program about a call whose client cannot be asked; decided is false without
	// an answer. nil means that there is nobody.
	Ask func(ctx context.Context, a policy.Approval) (answer policy.Answer, decided bool)

	Credentials oauth.Store // of access tokens of servers and APIs; nil means that none are used
	Logins      oauth.Store // of those of servers for which a person logs in; nil means Credentials
	Pins        string      // folder of what servers have defined; "" means that nothing is pinned
	Ledger      string      // file of the ledger of a config that names none; "" means none
	Quotas      string      // file of the calls of the day that rates bound; "" means that none outlive the program

	// SharePins returns what all nodes have in place of the file of a server, which is its copy. nil means that there
	// is one node.
	SharePins func(server string, copied pins.Store) pins.Store
}

const (
	defaultChildren = 100
	connectTimeout  = 30 * time.Second
)

// New returns the sources of a config. No server is started before the first session is opened.
func New(cfg *config.Config, opts Options) (*Stack, error) {
	s, err := build(cfg, opts)
	if err != nil {
		return nil, err
	}
	if err := s.govern(&opts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// govern makes the pool what the config says, and warns of what is wrong with that.
func (s *Stack) govern(opts *Options) error {
	if err := s.pool.calls.configure(s.cfg, s.log); err != nil {
		return err
	}
	s.limitChildren()
	s.configureApprovals(opts)
	s.setLenders(opts)
	s.setPlaces(opts)
	s.setPages(opts)
	for _, warning := range slices.Concat(s.cfg.Warnings, s.natives.warnings, s.natives.advice, s.natives.leftOut) {
		s.log.Warn(warning)
	}
	return nil
}

// build is New before govern.
func build(cfg *config.Config, opts Options) (*Stack, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Stack{cfg: cfg, log: opts.Log, pool: opts.Pool, ownPool: opts.Pool == nil, logins: map[string]*oauth.Client{}, accounts: map[string]*accounts{}, pins: map[string]*pins.Pins{}, placing: map[string]place.Server{}, places: opts.Places, members: map[string]layers{}}
	if s.ownPool {
		s.pool = NewPool()
	}
	opts.Credentials, opts.Logins = s.pool.unsaved.in(opts.Credentials, false, s.log), s.pool.unsaved.in(opts.Logins, true, s.log)
	s.Approvals, s.id = s.pool.Approvals, s.pool.id
	if c := &cfg.Cluster; c.Name != "" && len(c.Secrets) > 0 {
		s.id = fleet.Digest(c.Name, c.Secrets[0], "loop of bridges")
	}
	s.models = sync.OnceValue(func() *Models { return NewModels(cfg) })
	var err error
	if s.roots, err = roots(cfg); err != nil {
		return nil, err
	}
	if err := s.readRules(); err != nil {
		return nil, err
	}
	if err := s.openInterceptors(); err != nil {
		return nil, err
	}
	if err := s.openNatives(opts.Strict, opts.Credentials); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.openLedger(opts.Ledger); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if opts.Quotas != "" || cfg.Cluster.Name != "" {
		s.quotas = days{s.pool, opts.Quotas}
	}
	info, _ := json.Marshal(map[string]string{"name": "mcpbridge", "version": opts.Version}) // cannot fail: strings
	var members []bridge.Member
	for _, server := range cfg.Servers {
		client := s.pool.take(s.definition(server, &opts, info))
		s.clients = append(s.clients, client)
		if a := s.accounts[server.Name]; a != nil {
			a.client = client
		}
		members = append(members, bridge.Member{
			Name: server.Name, Source: s.wrapServer(client, &server, &opts), Required: server.Required,
			Prefix: server.Prefix, Include: s.included(&server), Exclude: server.Exclude,
			Rename: server.Rename, Describe: server.Describe, Concurrency: concurrency(&server),
		})
	}
	if s.native != nil {
		members = append(members, bridge.Member{Name: nativeTools, Source: s.native, Prefix: new(string)})
		s.members[nativeTools] = layers{{name: "definition", source: s.native}}
	}
	s.bridge = bridge.New(bridge.Options{
		Conflict:   map[string]bridge.Conflict{"first": bridge.ConflictFirst, "error": bridge.ConflictError}[cfg.Names.Conflict],
		MaxName:    cfg.Names.MaxLength,
		Settle:     settleTime(cfg, opts.WaitAll),
		Alone:      settleTime(cfg, true),
		Principals: cfg.Principals(),
		ServerInfo: info,
		ID:         s.id,
		Log:        s.log,
	}, members...)
	s.source = s.wrap(s.bridge, opts.Owner)
	return s, nil
}

// limitChildren applies the config's limits to the child processes of the pool.
func (s *Stack) limitChildren() {
	most, share := cmp.Or(s.cfg.Limits.Children, defaultChildren), 0
	if s.cfg.Principals() > 1 {
		share = (most + 1) / 2
	}
	s.pool.children.Resize(most, share, cmp.Or(s.cfg.Limits.Starting, max(8, 2*runtime.NumCPU())))
}

// settleTime returns how long the first lists wait for several servers; 0 means the default. all
// means until each is connected or has failed.
func settleTime(cfg *config.Config, all bool) time.Duration {
	if !all {
		return cfg.Settle
	}
	longest := connectTimeout
	for _, server := range cfg.Servers {
		longest = max(longest, server.ConnectTimeout)
	}
	return longest + time.Second
}

// Open opens a session of all sources.
func (s *Stack) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	return s.source.Open(ctx, caller)
}

func (s *Stack) openNatives(strict bool, credentials oauth.Store) (err error) {
	s.natives = loadNatives(s.cfg, s.log, s.roots, s.pool.supervisor, credentials)
	store, err := s.natives.chat.store(s.cfg, s.log)
	if err != nil {
		s.natives.fault("%s: %s", s.cfg.Path, strings.TrimPrefix(err.Error(), "bridge: "))
	}
	s.recorder = newRecorder(store)
	if strict && len(s.natives.leftOut) > 0 {
		return errors.New(strings.Join(s.natives.leftOut, "\n") + "\nnothing is started, as --strict requires every native tool to be usable")
	}
	if !s.cfg.HasNatives() {
		return nil
	}
	limits := s.cfg.Limits
	s.native, err = bridge.NewNative(bridge.NativeOptions{
		Log: s.log, SharedValue: s.cfg.HiddenValue,
		Concurrency: limits.NativeCalls, Queue: limits.NativeQueue, MaxResult: limits.NativeResult,
		Principals: s.cfg.Principals(),
	}, s.natives.tools...)
	return err
}

// guard hides and checks arguments if the server's config says so.
func (s *Stack) guard(source bridge.Source, server *config.Server) bridge.Source {
	if len(server.Context) == 0 && !server.Validate {
		return source
	}
	g := bridge.NewGuard(source, bridge.GuardOptions{
		Hidden: server.Context, SharedValue: s.cfg.HiddenValue, Validate: server.Validate, Log: s.log.With("server", server.Name),
	})
	s.guards = append(s.guards, namedGuard{g, server.Name})
	return g
}

// definition returns the definition of a server, with which its client is taken from the pool.
func (s *Stack) definition(server config.Server, opts *Options, info []byte) definition {
	c := mcpclient.Config{
		Name: server.Name, Fault: server.Fault, Once: opts.Once,
		URL: server.URL, Transport: mcpclient.Transport(server.Transport), Headers: server.Headers, Secrets: server.Secrets,
		Era:            mcpclient.Era(server.Era),
		Untrusted:      server.Untrusted,
		Sharing:        mcpclient.Sharing(server.Sharing),
		ConnectTimeout: server.ConnectTimeout, Timeout: server.Timeout, MaxTimeout: server.MaxTimeout, IdleTimeout: server.IdleTimeout,
		RetryMin: server.RetryMin, RetryMax: server.RetryMax, Steady: server.Steady,
		MessageBytes: s.cfg.Limits.MessageBytes,
		Sampling:     s.sampling(server.Name),
		Lazy:         server.Lazy,
		ClientInfo:   info, ID: s.id, Log: s.log,
	}
	if s.cfg.Cluster.Name != "" {
		pool, name := s.pool, server.Name // the client outlives the Stack
		c.Changed = func(owner string, kind bridge.ListKind, digest string) {
			if tell := pool.Changed.Load(); tell != nil {
				(*tell)(name, owner, kind, digest)
			}
		}
	}
	switch {
	case opts.OneCaller:
		c.Sharing = mcpclient.Session
	case s.cfg.Path == "" && server.Command != "":
		c.Sharing = mcpclient.Leased // as no config can set it
	}
	identity := ""
	if c.Sampling != nil {
		for _, name := range SamplingVariables(s.cfg) {
			value, _ := s.cfg.LookupEnv(name)
			identity += strconv.Quote(value)
		}
	}
	switch {
	case server.Lender != "":
		return lent(c, &server, identity, opts, s.cfg.Cluster.Name != "")
	case server.Command == "":
		c.Roots = s.roots.pool
		return s.authorized(definition{Config: c, identity: identity + s.roots.digest}, &server, opts)
	}
	c.Command = append([]string{server.Command}, server.Args...)
	c.Env, c.Dir, c.Sandbox = server.Env, cmp.Or(server.Dir, opts.Dir), server.Sandbox
	d := definition{Config: c, identity: identity, path: s.cfg.SearchPath}
	if server.Single && s.cfg.Cluster.Name != "" {
		return s.placed(d, &server, opts)
	}
	return d
}

// authorized adds the credentials of a server with a URL to its definition.
func (s *Stack) authorized(d definition, server *config.Server, opts *Options) definition {
	switch {
	case server.Forward:
		d.Own, d.PerToken, d.Lacks = forward, true, lacks(errNotForwarded)
		return d
	case server.OAuth.OfCaller && server.Fault == nil:
		d.identity = fmt.Sprintf("%s %q %#v", d.identity, s.cfg.Auth.Issuer, server.OAuth)
		if e, err := s.exchangeAt(server); err != nil {
			d.Fault = fmt.Errorf("oauth: %w", err)
		} else {
			d.Own, d.PerToken, d.Lacks = e.own, true, lacks(errNoToken)
		}
		return d
	}
	logins := cmp.Or(opts.Logins, opts.Credentials)
	switch login := s.login(server, logins, opts.Credentials); {
	case login != nil:
		d.Auth, d.identity = login, fmt.Sprintf("%s %#v", d.identity, server.OAuth)
		s.logins[server.Name] = login
		if server.PerIdentity {
			each := s.accountsAt(server, login, logins, opts.Credentials)
			s.accounts[server.Name] = each
			d.Auth, d.Own, d.Lacks, d.identity = nil, each.own, each.Helps, d.identity+" each"
		}
	case server.PerIdentity && server.Fault == nil:
		d.Fault = errNoAccounts
	}
	return d
}

// lacks returns an mcpclient.Config.Lacks for one error.
func lacks(err error) func(error) bool {
	return func(cause error) bool { return errors.Is(cause, err) }
}

// trust is the certificate authorities that connections trust.
type trust struct {
	pool   *x509.CertPool // nil means the system's
	digest string         // of the file
}

// roots returns the certificate authorities that the config's connections trust.
func roots(cfg *config.Config) (t trust, err error) {
	if cfg.CA == "" {
		return trust{}, nil
	}
	pem, err := file.ReadRegular(cfg.CA, maxFile)
	if err == nil {
		t.pool, err = outbound.Roots(pem)
	}
	if err != nil {
		return trust{}, fmt.Errorf("%s: tls.ca: %s: %w", cfg.Path, cfg.CA, err)
	}
	sum := sha256.Sum256(pem)
	t.digest = string(sum[:])
	return t, nil
}

// Close ends the calls of the Stack's sessions, and every server that no other Stack of its pool has,
// and waits for their processes. Before that it waits until the messages of [Stack.SaveChat] are saved.
// The error counts those that are lost; without Options.Pool it has that of [Pool.Close], too.
func (s *Stack) Close() error {
	lost := s.recorder.close()
	var closing sync.WaitGroup
	for _, c := range s.clients {
		closing.Go(func() { s.pool.give(c) })
	}
	closing.Wait()
	if s.native != nil {
		if err := s.native.Close(); err != nil {
			s.log.Warn(err.Error())
		}
	}
	for _, u := range s.interceptURLs {
		u.Close()
	}
	s.natives.close()
	s.pool.books.give(s.book)
	if s.ownPool {
		return errors.Join(lost, s.pool.Close())
	}
	return lost
}

// Config returns the config that the Stack was made from, which must not be changed.
func (s *Stack) Config() *config.Config { return s.cfg }

// A ServerState is the current state of a server.
type ServerState struct {
	mcpclient.Status
	Name     string
	Required bool
	Tools    *bridge.List // as the server lists them, less what is held back; nil if it cannot, and without Await unless it has "pin"
	Prompts  *bridge.List // likewise; of Await nil if the server is lazy
	About    []byte       // likewise: its description of itself with its instructions, without Await those alone
	Held     int          // tools and prompts that are held back
	Sandbox  string       // what is enforced, "" without a sandbox
	Node     string       // the other node of the cluster that runs it for all, or is lent it
}

// Servers returns the states of the config's servers, in file order.
func (s *Stack) Servers() []ServerState {
	all := make([]ServerState, len(s.clients))
	for i := range s.clients {
		all[i] = s.server(i)
	}
	return all
}

// Clients returns the clients of the config's servers, in file order: of one that a node runs for all, that which runs it
// if this is the node. Other Stacks of the pool may have them, too.
func (s *Stack) Clients() []*mcpclient.Client {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	all := make([]*mcpclient.Client, len(s.clients))
	for i, u := range s.clients {
		all[i] = cmp.Or(s.pool.placed[u.Name()], u.Client)
	}
	return all
}

func (s *Stack) server(i int) ServerState {
	name := s.clients[i].Name()
	state := ServerState{Status: s.clients[i].Status(), Name: name, Required: s.cfg.Servers[i].Required, Node: s.nodeOf(&s.cfg.Servers[i])}
	s.define(&state)
	if policy := s.cfg.Servers[i].Sandbox; policy != nil {
		state.Sandbox = policy.String()
	}
	return state
}

// Await calls report for each server, one at a time, as soon as it is connected or has failed for a
// caller with an open session. It returns when all have been reported, or ctx has ended.
func (s *Stack) Await(ctx context.Context, caller *bridge.Caller, report func(ServerState)) {
	var mu sync.Mutex // held during report
	var waiting sync.WaitGroup
	for i, c := range s.clients {
		waiting.Go(func() {
			var defined ServerState
			session, err := s.seen(c).Open(ctx, caller)
			if err == nil {
				defined = definedBy(ctx, session, s.cfg.Servers[i].Lazy)
				session.Close()
			}
			if ctx.Err() != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			state := s.server(i)
			state.Tools, state.Prompts, state.About = defined.Tools, defined.Prompts, defined.About
			report(state)
		})
	}
	waiting.Wait()
}

// definedBy returns what a server defines, all of which "pin" keeps as it is now. Of a lazy server it is only
// what is known without its start.
func definedBy(ctx context.Context, session bridge.Session, lazy bool) (state ServerState) {
	var err error
	if state.Tools, err = session.List(ctx, bridge.Tools); err != nil || lazy { // the state of the server has the error
		return state
	}
	state.Prompts, _ = session.List(ctx, bridge.Prompts)
	if reply := session.Do(ctx, &bridge.Request{Method: wire.MethodDiscover}); reply.Err == nil {
		state.About = bytes.Clone(reply.Result)
		reply.Free()
	}
	return state
}

// Up reports whether the server is connected, or lazy and not needed so far.
func (st ServerState) Up() bool {
	return st.State == mcpclient.Ready || st.State == mcpclient.Idle
}

// Detail is String with the last lines that the server's process printed before it failed. It is for the
// operator: what one caller's calls made it write is not for another.
func (st ServerState) Detail() string {
	if st.Output == "" {
		return st.String()
	}
	return st.String() + ": " + st.Output
}

// String describes the state in one line.
func (st ServerState) String() string {
	text := st.Name + ": " + string(st.State)
	if st.Server != "" {
		tools := "tools"
		if st.Items[bridge.Tools] == 1 {
			tools = "tool"
		}
		text += fmt.Sprintf(" (%s, MCP %s, %d %s)", strings.TrimSpace(st.Server), st.Revision, st.Items[bridge.Tools], tools)
	}
	if st.Reason != "" {
		text += ": " + st.Reason
	}
	return text
}

// AwaitRequired waits, in a session of s, for the servers that the config requires, but for those that wait for the
// credentials of callers. The error is for the operator: it names those that are away, with what one of them last wrote to
// its standard error.
func (s *Stack) AwaitRequired(ctx context.Context, own bridge.Session) error {
	if !slices.ContainsFunc(s.cfg.Servers, func(server config.Server) bool { return server.Required }) {
		return nil
	}
	reply := own.Do(ctx, &bridge.Request{Method: wire.MethodDiscover})
	if reply.Err == nil {
		return nil
	}
	away := false
	for _, st := range s.Servers() {
		if !st.Required || st.Up() || st.Waiting() {
			continue
		}
		if away = true; st.Output != "" {
			e := *reply.Err
			e.Message += ": " + st.Output // the operator reads it
			return &e
		}
	}
	if !away && ctx.Err() == nil {
		return nil
	}
	return reply.Err
}

// Warnings returns warnings about native tools and hidden values, one line each.
func (s *Stack) Warnings() []string { return s.natives.warnings }

// Advice returns what could be better about native tools and hidden values although nothing is wrong,
// one line each.
func (s *Stack) Advice() []string { return slices.Concat(s.natives.advice, s.natives.unused) }

// Problems returns the native tools that were left out, and the tools of the current lists that
// were left out or changed.
func (s *Stack) Problems() []bridge.Problem {
	var all []bridge.Problem
	for _, text := range s.natives.leftOut {
		all = append(all, bridge.Problem{Text: text, LeftOut: true})
	}
	for _, c := range s.clients {
		for _, p := range c.Problems() {
			p.Text = c.Name() + ": " + p.Text
			all = append(all, p)
		}
	}
	for _, c := range s.clients {
		for _, p := range s.heldProblems(c.Name()) {
			p.Text = c.Name() + ": " + p.Text
			all = append(all, p)
		}
	}
	for _, g := range s.guards {
		for _, p := range g.Problems() {
			p.Text = g.server + ": " + p.Text
			all = append(all, p)
		}
	}
	return append(all, s.bridge.Problems()...)
}

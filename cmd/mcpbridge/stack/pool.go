package stack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth/weblogin"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Pool holds the clients of the servers of several Stacks, which share those whose definitions are
// equal once the variables in them are filled in: a Stack of a changed config keeps the connections
// and processes of all other servers, and so do Stacks of one config for two environments. The limits
// on child processes, and what becomes of the record of calls, are as the config of the latest Stack says.
type Pool struct {
	Desk      weblogin.Desk // where people log in to servers at which each has an account of its own
	Approvals *policy.Desk  // the calls that wait for a person; it may stop all
	Buckets   rates.Buckets // what callers have used of their rates

	// Changed is told of lists of servers, by their names, that have changed on connections of a node; nil tells nobody.
	Changed atomic.Pointer[func(server, owner string, kind bridge.ListKind, digest string)]

	Quotas atomic.Pointer[rates.Store] // has the calls of a day in place of the file of each Stack

	id         string // by which a loop of bridges is found, unless they are those of a cluster
	supervisor *process.Supervisor
	children   mcpclient.Children
	calls      callRecord
	unsaved    unsaved
	books      books
	lending    *web.Lending
	saved      atomic.Int64 // how often files of lists have been written, about

	mu       sync.Mutex // guards clients, and their users, and what follows
	clients  map[[sha256.Size]byte]*pooled
	placed   map[string]*mcpclient.Client // of the servers that this node runs for all, by name
	memories map[[2]string]*pins.Memory   // of servers with "pin", by config and name
}

// NewPool returns a Pool without clients.
func NewPool() *Pool {
	return &Pool{id: rand.Text(), supervisor: process.NewSupervisor(), lending: web.NewLending(), Approvals: policy.NewDesk(policy.DeskOptions{}), clients: map[[sha256.Size]byte]*pooled{}, placed: map[string]*mcpclient.Client{}, memories: map[[2]string]*pins.Memory{}}
}

// Lending has the tools that clients lend, which Stacks show if their config allows it.
func (p *Pool) Lending() *web.Lending { return p.lending }

// Close ends the supervisor of child processes and the record of calls, when all Stacks of the pool have
// been closed. The error says what could not be stored, and why processes that the program may leave behind
// when it is killed could not be supervised.
func (p *Pool) Close() error {
	return errors.Join(p.calls.close(), p.unsaved.close(), p.supervisor.Close())
}

// A sampler answers the sampling requests of a server.
type sampler func(ctx context.Context, params []byte) ([]byte, *toolformat.Error)

// pooled is a client of a Pool.
type pooled struct {
	*mcpclient.Client
	key     [sha256.Size]byte
	users   []*use
	sampler atomic.Pointer[sampler] // of the latest user
}

// use is the use of a client by a Stack.
type use struct {
	*pooled
	sampler sampler // nil where the config does not allow sampling
}

// A definition decides which server a client reaches, and how.
type definition struct {
	mcpclient.Config

	identity string // of what is not in Config as it is: the authorities that its URL is trusted by, the keys of models for its sampling
	path     string // PATH of its process, unless Env has one; "" means that of the program
}

// key identifies what a definition makes: those with one key are served by one process or connection.
// It is a hash, as a definition has secrets.
func (d *definition) key() [sha256.Size]byte {
	c, identity := d.Config, d.identity
	if len(c.Command) > 0 {
		identity += d.program()
	}
	if c.Sandbox != nil {
		identity += fmt.Sprintf("%#v", *c.Sandbox)
	}
	samples, fault := c.Sampling != nil, fmt.Sprint(c.Fault)
	c.Sampling, c.Fault, c.Roots, c.Log, c.Auth, c.Own, c.Lacks, c.Sandbox, c.Via, c.Changed, c.ListSaved = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
	// %#v quotes strings, sorts maps and writes every field, also a new one. Of a pointer it writes the
	// address: clients would be kept apart that could be one.
	return sha256.Sum256(fmt.Appendf(nil, "%#v %q %t %q", c, identity, samples, fault))
}

// program returns the path of the program that the command runs: PATH may differ where that is the same.
// Without a program it returns the error, which names PATH.
func (d *definition) program() string {
	env := d.env()
	path, err := process.Command{Path: d.Command[0], Env: process.Environ(env), Dir: d.Dir}.Lookup()
	if err != nil {
		return err.Error() + " " + env["PATH"]
	}
	return path
}

// env returns Env with PATH.
func (d *definition) env() map[string]string {
	if d.path == "" {
		return d.Env
	}
	env := map[string]string{"PATH": d.path}
	for name, value := range d.Env {
		if runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			name = "PATH"
		}
		env[name] = value
	}
	return env
}

// listFile returns the file that stores the lists of a lazy server, or "". A server may list something else for other
// credentials, with other variables, or in another working folder.
func (d *definition) listFile() string {
	cache, err := os.UserCacheDir()
	if !d.Lazy || err != nil {
		return ""
	}
	program, dir := "", ""
	if len(d.Command) > 0 {
		program = d.program()
		dir, _ = filepath.Abs(d.Dir)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{d.Name, d.URL, d.Headers, d.identity, program, d.Command, d.Env, dir}))
	return filepath.Join(cache, "mcpbridge", "lists", hex.EncodeToString(sum[:8])+".json")
}

// maxListFiles is how many files of lists are kept: a server has another one for each principal, and for each token.
const maxListFiles = 1000

// sweepEach is after how many files that are written those beyond maxListFiles are removed.
const sweepEach = 100

// listSaved bounds the files of lists: at the first lazy server, and as they are written.
func (p *Pool) listSaved(folder string) {
	if p.saved.Add(1)%sweepEach == 1 {
		sweepLists(folder)
	}
}

// sweepLists removes the oldest files of a folder beyond maxListFiles.
func sweepLists(folder string) {
	files, err := os.ReadDir(folder)
	if err != nil || len(files) <= maxListFiles {
		return
	}
	written := map[string]time.Time{}
	for _, f := range files {
		if info, err := f.Info(); err == nil { // else it is gone
			written[f.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(files, func(a, b os.DirEntry) int { return written[b.Name()].Compare(written[a.Name()]) })
	for _, f := range files[maxListFiles:] {
		_ = os.Remove(filepath.Join(folder, f.Name())) // another process may have done so
	}
}

// take returns the client for a definition, which is made if no Stack uses it. give returns it.
func (p *Pool) take(d definition) *use {
	u, key := &use{sampler: d.Sampling}, d.key()
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.pooled = p.clients[key]; u.pooled == nil {
		u.pooled = &pooled{key: key}
		p.clients[key], d.ListFile = u.pooled, d.listFile()
		if d.ListFile != "" {
			d.ListSaved = func() { p.listSaved(filepath.Dir(d.ListFile)) }
			d.ListSaved()
		}
		if d.Env = d.env(); d.Sampling != nil {
			d.Sampling = u.pooled.sample
		}
		d.Supervisor, d.Children = p.supervisor, &p.children
		u.Client = mcpclient.New(d.Config)
	}
	u.users = append(u.users, u)
	u.pooled.sampler.Store(&u.sampler)
	return u
}

// give ends the use of a client. Without another user the client is closed: give waits until its
// processes have ended.
func (p *Pool) give(u *use) {
	p.mu.Lock()
	u.users = slices.DeleteFunc(u.users, func(other *use) bool { return other == u })
	unused := len(u.users) == 0
	if unused {
		delete(p.clients, u.key)
	} else {
		u.pooled.sampler.Store(&u.users[len(u.users)-1].sampler)
	}
	p.mu.Unlock()
	if unused {
		u.Client.Close()
	}
}

// setPlaced sets the client of a server that this node runs for all; nil means that it does not.
func (p *Pool) setPlaced(name string, c *mcpclient.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.placed[name] = c; c == nil {
		delete(p.placed, name)
	}
}

// sample answers a sampling request with the models of the latest Stack that uses the client.
func (c *pooled) sample(ctx context.Context, params []byte) ([]byte, *toolformat.Error) {
	return (*c.sampler.Load())(ctx, params)
}

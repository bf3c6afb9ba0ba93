package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// ChatOptions configure a Chat.
type ChatOptions struct {
	Source bridge.Source // the tools

	// Model returns the model that a page names, "" for the default one, and its settings. The error is
	// sent to the page.
	Model func(id string) (providers.Candidate, providers.Settings, error)

	// Fallbacks returns the models that go on where the one of a conversation fails; nil means none.
	Fallbacks func(providers.Candidate) []providers.Fallback

	Caller func(*http.Request) bridge.Caller // returns the authenticated sender of a request
	Store  func() providers.Store            // keeps the conversations; nil keeps the last 1,000 in memory

	System   string            // the system prompt
	Loop     providers.Options // of all prompts
	AtOnce   int               // prompts in progress, beyond which more are refused; 0 means 100
	Pages    int               // connections, beyond which more are refused; 0 means 1,000
	MaxBytes int64             // bounds a message of a page; 0 means 1 MiB
	Alone    time.Duration     // how long a conversation stays open, and its prompt goes on, without a page; 0 means 5 min
	Log      *slog.Logger      // nil discards the log

	// Principals is how many callers Caller tells apart. Of several each may use half of AtOnce and Pages.
	Principals int
}

func (o ChatOptions) withDefaults() *ChatOptions {
	o.AtOnce, o.Pages = cmp.Or(o.AtOnce, 100), cmp.Or(o.Pages, 1000)
	o.MaxBytes, o.Alone = cmp.Or(o.MaxBytes, 1<<20), cmp.Or(o.Alone, 5*time.Minute)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &o
}

// loopFor returns the options of the loop with a model.
func (o *ChatOptions) loopFor(c providers.Candidate) providers.Options {
	loop := o.Loop
	if o.Fallbacks != nil {
		loop.Fallbacks = o.Fallbacks(c)
	}
	return loop
}

// A Chat is the loop over WebSocket, behind a handler that authenticates: a page prompts a model, sees
// what happens, and is asked about calls. A prompt goes on when its page loses the connection, which
// continues with another one. A conversation is that of one principal and profile.
type Chat struct {
	opts    atomic.Pointer[ChatOptions]
	prompts *admission
	pages   *admission
	memory  providers.Memory
	ctx     context.Context // ends with Close
	end     context.CancelCauseFunc
	work    sync.WaitGroup // pages, and prompts in progress

	finishing atomic.Bool // no prompt begins any more

	mu     sync.Mutex       // guards what follows
	talks  map[string]*talk // by conversation
	rested []*talk          // those without a page, in the order in which they have lost it; some have got one again
	closed bool
}

// errEnding is why prompts end, and pages are closed, when the Chat is.
var errEnding = errors.New("the bridge is shutting down")

// NewChat makes a chat, which must be closed.
func NewChat(o ChatOptions) *Chat {
	c := &Chat{talks: map[string]*talk{}, prompts: newAdmission(&Options{}), pages: newAdmission(&Options{})}
	c.Update(o)
	c.ctx, c.end = context.WithCancelCause(context.Background())
	return c
}

// Update replaces the options, for what is opened from now on.
func (c *Chat) Update(o ChatOptions) {
	own := o.withDefaults()
	c.opts.Store(own)
	c.prompts.set(&Options{AtOnce: own.AtOnce, Principals: own.Principals})
	c.pages.set(&Options{AtOnce: own.Pages, MaxBody: own.MaxBytes, Principals: own.Principals})
}

// Running returns how many prompts are in progress.
func (c *Chat) Running() int { return c.prompts.running() }

// Finish makes the Chat refuse prompts from now on, so that Running becomes 0. Its pages stay connected.
func (c *Chat) Finish() { c.finishing.Store(true) }

// Close ends all prompts, whose conversations are saved, and all connections.
func (c *Chat) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(errEnding)
	c.work.Wait()
	c.mu.Lock()
	left := slices.Collect(maps.Values(c.talks))
	c.mu.Unlock()
	for _, t := range left {
		t.release()
	}
}

// begin counts work that Close waits for, unless the Chat is closed.
func (c *Chat) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.work.Add(1)
	}
	return !c.closed
}

// ServeHTTP is the connection of a page.
func (c *Chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		http.Error(w, "this is a WebSocket endpoint, subprotocol "+ChatProtocol, http.StatusUpgradeRequired)
		return
	}
	if !c.begin() {
		http.Error(w, errEnding.Error(), http.StatusServiceUnavailable)
		return
	}
	defer c.work.Done()
	caller := c.opts.Load().Caller(r)
	visit, err := c.pages.enter(caller.Principal.Name)
	if err != nil {
		http.Error(w, "too many pages are connected: close one", http.StatusServiceUnavailable)
		return
	}
	defer visit.leave()
	up := websocket.Upgrader{
		Subprotocols: []string{ChatProtocol},
		CheckOrigin:  func(*http.Request) bool { return true }, // the handler in front has checked it
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	p := &page{chat: c, conn: conn, caller: caller, wake: make(chan struct{}, 1)}
	p.serve(r.Context())
}

// prefixOf returns how the ids of a caller's conversations begin: it does not show whose they are.
func prefixOf(caller *bridge.Caller) string {
	sum := sha256.Sum256([]byte(ownerOf(caller)))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])) + "-"
}

// open returns a conversation of a caller, "" for a new one, with a page.
func (c *Chat) open(id, model string, p *page) (*talk, error) {
	own := prefixOf(&p.caller)
	isNew := id == ""
	if isNew {
		id = own + strings.ToLower(rand.Text())
	}
	if !strings.HasPrefix(id, own) {
		return nil, unknownConversation(id)
	}
	t := c.take(id, p)
	t.loaded.Do(func() { t.fault = t.load(p, isNew, model) })
	err := t.fault
	if err == nil {
		err = t.suits(p, model)
	}
	if before := p.current(); err != nil && before != t {
		t.leave(p)
	}
	return t, err
}

func unknownConversation(id string) error {
	return toolformat.Errorf(toolformat.NotFound, "unknown conversation %.60q: \"list\" lists those that there are", id)
}

// take returns the conversation of an id, with a page.
func (c *Chat) take(id string, p *page) *talk {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.talks[id]; t != nil && t.enter(p) {
		return t
	}
	t := &talk{chat: c, opts: c.opts.Load(), id: id, events: newEvents(), pages: map[*page]struct{}{p: {}}, asks: map[string]chan providers.Decision{}}
	c.talks[id] = t
	return t
}

// remove forgets a conversation that no page has open.
func (c *Chat) remove(t *talk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.talks[t.id] == t {
		delete(c.talks, t.id)
	}
	c.unrest(t)
}

// unrest takes a conversation from rested; c.mu is held.
func (c *Chat) unrest(t *talk) {
	c.rested = slices.DeleteFunc(c.rested, func(other *talk) bool { return other == t })
}

// maxResting bounds the conversations that stay open without a page, but for those with a prompt in progress.
const maxResting = 100

// rest counts a conversation that has no page. The one that has had none for longest ends if there are too
// many.
func (c *Chat) rest(t *talk) {
	c.mu.Lock()
	c.unrest(t)
	c.rested = append(c.rested, t)
	var ended *talk
	if len(c.rested) > maxResting {
		ended, c.rested = c.rested[0], c.rested[1:]
	}
	c.mu.Unlock()
	if ended != nil {
		ended.release()
	}
}

// store returns where conversations are kept.
func (c *Chat) store() providers.Store {
	if open := c.opts.Load().Store; open != nil {
		return open()
	}
	return &c.memory
}

// maxSought bounds the conversations among which those of a caller are looked for, and maxListed those
// that are listed.
const maxSought, maxListed = 10_000, 100

// list returns the last conversations of a caller.
func (c *Chat) list(ctx context.Context, caller *bridge.Caller) ([]providers.Heading, error) {
	all, err := c.store().List(ctx, maxSought)
	if err != nil {
		c.opts.Load().Log.Warn("conversations cannot be listed", "error", err)
		return nil, toolformat.Errorf(toolformat.Internal, "the conversations cannot be read")
	}
	own, mine := prefixOf(caller), []providers.Heading{}
	for _, h := range all {
		if strings.HasPrefix(h.ID, own) && len(mine) < maxListed {
			mine = append(mine, h)
		}
	}
	return mine, nil
}

// saveTime bounds the saving of a conversation.
const saveTime = 5 * time.Second

// save saves a conversation that has messages, also while the program is ending.
func (c *Chat) save(t *providers.Transcript) {
	if len(t.Messages) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	if err := c.store().Save(ctx, t); err != nil {
		c.opts.Load().Log.Warn("a conversation is not saved", "error", fmt.Errorf("%s: %w", t.ID, err))
	}
}

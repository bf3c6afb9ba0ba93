package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/acorn"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	maxKeeping  = 10_000           // messages that wait to be kept
	keepingTime = 10 * time.Second // how long close waits for them
)

// SaveChat keeps what a run has added to a conversation, where the config has a function for that. It
// does not wait.
func (s *Stack) SaveChat(caller *bridge.Caller, messages []providers.Message, run *providers.Run) {
	s.keeper.keep(caller, messages, run)
}

// LoadChat is the conversation that is kept for a caller; nil when there is none.
func (s *Stack) LoadChat(ctx context.Context, caller *bridge.Caller) (*providers.Transcript, error) {
	return s.keeper.load(ctx, caller)
}

// A keeper keeps the messages of conversations in a ChatStore, one after the other, while
// the conversations go on. A nil one keeps nothing.
type keeper struct {
	store *acorn.Store
	ctx   context.Context // of the calls
	stop  context.CancelFunc
	done  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards what follows
	wake    *sync.Cond
	waiting []keeping
	closed  bool
	lost    int   // messages that were not kept
	err     error // why the first of them was not
}

// keeping is one message that is to be kept, of a turn of a request (bridge.InTurn).
type keeping struct {
	caller  *bridge.Caller
	request string
	turn    int
	message acorn.Message
}

// newKeeper makes a keeper of a store, which it closes; nil of none.
func newKeeper(store *acorn.Store) *keeper {
	if store == nil {
		return nil
	}
	k := &keeper{store: store, done: make(chan struct{})}
	k.wake = sync.NewCond(&k.mu)
	k.ctx, k.stop = context.WithCancel(context.Background())
	go k.run()
	return k
}

// keep takes the messages that a run has added to a conversation. It does not wait.
func (k *keeper) keep(caller *bridge.Caller, messages []providers.Message, run *providers.Run) {
	if k == nil {
		return
	}
	all := keepings(caller, messages, run, time.Now())
	k.mu.Lock()
	defer k.mu.Unlock()
	room := 0
	if !k.closed {
		room = min(len(all), maxKeeping-len(k.waiting))
	}
	k.waiting = append(k.waiting, all[:room]...)
	if room < len(all) {
		k.lostLocked(len(all)-room, errors.New("too many messages are waiting to be kept"))
	}
	k.wake.Signal()
}

// load is the conversation that is kept for a caller, made of its last 100 messages; nil
// when there is none. It has no ID.
func (k *keeper) load(ctx context.Context, caller *bridge.Caller) (*providers.Transcript, error) {
	if k == nil {
		return nil, nil
	}
	kept, err := k.store.Load(ctx, caller, 0)
	messages := conversationOf(kept)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return &providers.Transcript{
		Heading: providers.Heading{Updated: kept[len(kept)-1].Timestamp},
		Run:     providers.Run{Messages: messages, Begin: len(messages)},
	}, nil
}

// run keeps messages until the keeper is closed and none is left.
func (k *keeper) run() {
	defer close(k.done)
	for {
		k.mu.Lock()
		for len(k.waiting) == 0 && !k.closed {
			k.wake.Wait()
		}
		if len(k.waiting) == 0 {
			k.mu.Unlock()
			return
		}
		next := k.waiting[0]
		k.waiting = k.waiting[1:]
		k.mu.Unlock()
		ctx := bridge.InTurn(k.ctx, next.request, next.turn)
		if err := k.store.Save(ctx, next.caller, next.message); err != nil {
			k.mu.Lock()
			k.lostLocked(1, err)
			k.mu.Unlock()
		}
	}
}

// lostLocked counts messages that are not kept; k.mu is held.
func (k *keeper) lostLocked(n int, why error) {
	k.lost += n
	if k.err == nil {
		k.err = why
	}
}

// close waits until all is kept, for a while, and ends the keeper. The error says what is
// lost.
func (k *keeper) close() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	k.closed = true
	k.wake.Signal()
	k.mu.Unlock()
	patience := time.NewTimer(keepingTime)
	defer patience.Stop()
	select {
	case <-k.done:
	case <-patience.C:
		k.mu.Lock()
		k.lostLocked(len(k.waiting), fmt.Errorf("it took longer than %s", keepingTime))
		k.waiting = nil
		k.mu.Unlock()
	}
	k.stop()
	err := k.store.Close()
	<-k.done
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost > 0 {
		err = errors.Join(fmt.Errorf("%d of the conversation's messages could not be kept: %w", k.lost, k.err), err)
	}
	return err
}

// keepings are messages of a run as a ChatStore takes them: each call and each result is
// one. They belong to the turns that their calls were made in.
func keepings(caller *bridge.Caller, messages []providers.Message, run *providers.Run, now time.Time) []keeping {
	var all []keeping
	turns := run.Turns // before the message
	for i := range messages {
		if messages[i].Role == providers.RoleAssistant {
			turns--
		}
	}
	for i := range messages {
		m := &messages[i]
		turn := turns - 1
		if m.Role == providers.RoleAssistant {
			turn = turns
			turns++
		}
		for _, one := range chatMessages(m) {
			one.Timestamp = now.Add(time.Duration(len(all)) * time.Millisecond) // an API may sort by it
			all = append(all, keeping{caller, run.Request, max(0, turn), one})
		}
	}
	return all
}

// chatMessages is one message as a ChatStore takes it. What it has no place for is named
// in the text.
func chatMessages(m *providers.Message) []acorn.Message {
	var all []acorn.Message
	said := acorn.Message{Role: string(m.Role)}
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case providers.PartText:
			said.Content += p.Text
		case providers.PartImage, providers.PartFile:
			said.Content = strings.TrimLeft(said.Content+"\n["+strings.TrimSpace(p.MimeType+" "+p.Name)+"]", "\n")
		case providers.PartCall:
			all = append(all, acorn.Message{Role: string(m.Role), Call: &toolformat.Call{Name: p.Call.Name, Arguments: p.Call.Arguments}})
		case providers.PartResult:
			all = append(all, acorn.Message{Role: roleFunction, Name: p.Result.Name, Content: p.Result.Text(true)})
		case providers.PartThinking:
		}
	}
	switch {
	case said.Content == "":
	case len(all) > 0 && all[0].Call != nil:
		all[0].Content = said.Content
	default:
		all = append([]acorn.Message{said}, all...)
	}
	return all
}

// roleFunction is whose a result is, in the words of OpenAI that Acorn keeps it by.
const roleFunction = "function"

// conversationOf makes messages of what a ChatStore has kept. Calls have no ids there: a
// result is that of the first call of its name that has none. What stands before the first
// message of the user is the rest of an answer that was cut off: providers refuse it.
func conversationOf(kept []acorn.Message) []providers.Message {
	var all []providers.Message
	var open []*providers.Call // calls without a result
	add := func(role providers.Role, p providers.Part, joins bool) {
		if n := len(all); joins && n > 0 && all[n-1].Role == role {
			all[n-1].Parts = append(all[n-1].Parts, p)
			return
		}
		all = append(all, providers.Message{Role: role, Parts: []providers.Part{p}})
	}
	for i, m := range kept {
		switch m.Role {
		case roleFunction, "tool":
			at := slices.IndexFunc(open, func(c *providers.Call) bool { return c.Name == m.Name })
			if at < 0 {
				continue // its call is no longer among the last messages
			}
			result := &providers.Result{ID: open[at].ID, Name: m.Name, Content: toolformat.TextResult(m.Content, false)}
			open = slices.Delete(open, at, at+1)
			add(providers.RoleTool, providers.Part{Type: providers.PartResult, Result: result}, true)
		case "assistant", "model":
			if m.Content != "" {
				add(providers.RoleAssistant, providers.Part{Type: providers.PartText, Text: m.Content}, false)
			}
			if m.Call != nil {
				call := &providers.Call{ID: "kept_" + strconv.Itoa(i), Name: m.Call.Name, Arguments: m.Call.Arguments}
				open = append(open, call)
				add(providers.RoleAssistant, providers.Part{Type: providers.PartCall, Call: call}, true)
			}
		case "user":
			open = nil
			add(providers.RoleUser, providers.Part{Type: providers.PartText, Text: m.Content}, false)
		}
	}
	begin := slices.IndexFunc(all, func(m providers.Message) bool { return m.Role == providers.RoleUser })
	if begin < 0 {
		return nil
	}
	return all[begin:]
}

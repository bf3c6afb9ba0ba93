package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/acorn"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	maxRecords = 10_000           // messages that wait to be saved
	closeTime  = 10 * time.Second // how long close waits for them
)

// SaveChat saves the messages that a run has added to a conversation if the native tools include
// the function for that. It does not wait; Close does.
func (s *Stack) SaveChat(caller *bridge.Caller, messages []providers.Message, run *providers.Run) {
	s.recorder.save(caller, messages, run)
}

// LoadChat returns the conversation of a caller that SaveChat has saved, without an ID; nil if there is none, or if the
// native tools do not include the functions for that.
func (s *Stack) LoadChat(ctx context.Context, caller *bridge.Caller) (*providers.Transcript, error) {
	return s.recorder.load(ctx, caller)
}

// A recorder saves the messages of conversations in a store, in order, while the conversations
// continue. A nil recorder saves nothing.
type recorder struct {
	store   *acorn.Store
	ctx     context.Context // of calls of the store
	stop    context.CancelCauseFunc
	waiting chan *record
	done    chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex // guards the fields below, and sending to waiting
	closed bool
	lost   int   // messages that were not saved
	err    error // why the first of them was not
}

// record is a message to save, of a turn of a request (bridge.InTurn).
type record struct {
	caller  *bridge.Caller
	request string
	turn    int
	message acorn.Message
}

// newRecorder returns a recorder that closes its store. Without a store it returns nil.
func newRecorder(store *acorn.Store) *recorder {
	if store == nil {
		return nil
	}
	r := &recorder{store: store, waiting: make(chan *record, maxRecords), done: make(chan struct{})}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	go r.run()
	return r
}

func (r *recorder) save(caller *bridge.Caller, messages []providers.Message, run *providers.Run) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, next := range recordsOf(caller, messages, run, time.Now()) {
		if r.closed || len(r.waiting) == maxRecords {
			r.lostLocked(errors.New("too many messages are waiting to be saved"))
		} else {
			r.waiting <- &next
		}
	}
}

func (r *recorder) load(ctx context.Context, caller *bridge.Caller) (*providers.Transcript, error) {
	if r == nil {
		return nil, nil
	}
	kept, err := r.store.Load(ctx, caller, 0)
	messages := conversationOf(kept)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return &providers.Transcript{
		Heading: providers.Heading{Updated: kept[len(kept)-1].Timestamp},
		Run:     providers.Run{Messages: messages, Begin: len(messages)},
	}, nil
}

// run saves messages until the recorder is closed and none is left. The rest is lost when r.ctx ends.
func (r *recorder) run() {
	defer close(r.done)
	for next := range r.waiting {
		err := r.ctx.Err()
		if err == nil {
			err = r.store.Save(bridge.InTurn(r.ctx, next.request, next.turn), next.caller, next.message)
		}
		if err != nil {
			r.mu.Lock()
			r.lostLocked(cmp.Or(context.Cause(r.ctx), err))
			r.mu.Unlock()
		}
	}
}

// lostLocked counts a message that is not saved. The caller holds r.mu.
func (r *recorder) lostLocked(why error) {
	r.lost++
	r.err = cmp.Or(r.err, why)
}

// close waits up to closeTime until all messages are saved. The error counts those that are lost.
func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	r.closed = true
	close(r.waiting)
	r.mu.Unlock()
	select {
	case <-r.done:
	case <-time.After(closeTime):
	}
	r.stop(fmt.Errorf("it took longer than %s", closeTime)) // the reason of a Save that has not ended
	err := r.store.Close()
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost > 0 {
		err = errors.Join(fmt.Errorf("%d of the conversation's messages could not be saved: %w", r.lost, r.err), err)
	}
	return err
}

// recordsOf returns the messages of a run as a store has them, one for each call and each result.
// A message belongs to the turn that made its calls.
func recordsOf(caller *bridge.Caller, messages []providers.Message, run *providers.Run, now time.Time) []record {
	var all []record
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
		for _, message := range storeMessages(m) {
			message.Timestamp = now.Add(time.Duration(len(all)) * time.Millisecond) // an API may sort by it
			all = append(all, record{caller, run.Request, max(0, turn), message})
		}
	}
	return all
}

// storeMessages returns a message as a store has it. The text names the parts that it lacks.
func storeMessages(m *providers.Message) []acorn.Message {
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

// roleFunction is the role of results, in the terms of OpenAI that Acorn uses.
const roleFunction = "function"

// conversationOf returns the messages of a store. Its calls have no IDs: a result belongs to the
// first call of its name without one. Messages before the user's first are the rest of an answer,
// which providers refuse.
func conversationOf(kept []acorn.Message) []providers.Message {
	var all []providers.Message
	var open []*providers.Call // without a result
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
				continue // its call is older than the messages
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

// chatFunctions are the two functions of definition files that save and load conversations. They
// are neither listed nor called by name.
type chatFunctions struct{ save, load *bridge.Tool }

// isChatFunction reports whether a tool is one of the functions.
func isChatFunction(t bridge.Tool) bool {
	return strings.EqualFold(t.Name, acorn.LoadFunction) || strings.EqualFold(t.Name, acorn.SaveFunction)
}

// add keeps a tool that is one of the functions, and reports whether it is.
func (c *chatFunctions) add(tool bridge.Tool) (is bool, err error) {
	if !isChatFunction(tool) {
		return false, nil
	}
	place := &c.save
	if strings.EqualFold(tool.Name, acorn.LoadFunction) {
		place = &c.load
	}
	switch {
	case tool.Client:
		return true, errors.New("the bridge calls it, and cannot call a client function: expected another kind")
	case *place != nil:
		return true, errTwice
	}
	*place = &tool
	return true, nil
}

// store returns the store that the functions implement, or nil without functions. Each message gets
// all values of the config's context.
func (c *chatFunctions) store(cfg *config.Config, log *slog.Logger) (*acorn.Store, error) {
	if c.save == nil && c.load == nil {
		return nil, nil
	}
	return acorn.NewStore(acorn.Options{
		Native: bridge.NativeOptions{Log: log, SharedValue: cfg.HiddenValue},
		Values: slices.Sorted(maps.Keys(cfg.Context)),
	}, c.save, c.load)
}

package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// subscriptions are the subscriptions/listen streams of one view, and the resources they watch.
type subscriptions struct {
	source bridge.Session // of the view

	mu        sync.Mutex // guards the fields below
	listeners map[*listener]struct{}
	watched   map[string]*watch // by URI
}

// listener is one subscriptions/listen stream.
type listener struct {
	id     []byte // raw id of its request, which tags every notification of the stream
	back   bridge.Back
	filter filter
}

// filter selects the notifications of a listener (2026-07-28, SubscriptionFilter).
type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

func (f *filter) selects(method, uri string) bool {
	switch method {
	case wire.NotificationToolsChanged:
		return f.Tools
	case wire.NotificationPromptsChanged:
		return f.Prompts
	case wire.NotificationResourcesChanged:
		return f.Resources
	case wire.NotificationResourceUpdated:
		return slices.ContainsFunc(f.URIs, func(watched string) bool { return wire.Within(uri, watched) })
	}
	return false
}

const (
	maxWatched    = 1000             // resources of one listener
	watchesAtOnce = 20               // requests to the source for one listener
	watchTime     = 45 * time.Second // bounds the wait for the source, which may be starting: clients wait for a minute
)

// listen sends a client the notifications that it selects, until ctx ends.
func (s *subscriptions) listen(ctx context.Context, m *wire.Message, back bridge.Back) bridge.Reply {
	var params struct {
		Notifications *filter `json:"notifications"`
	}
	if err := json.Unmarshal(m.Params.Raw, &params); err != nil || params.Notifications == nil {
		return bridge.Failed(invalid("%s: params.notifications is missing or malformed", m.Method))
	}
	if len(params.Notifications.URIs) > maxWatched {
		return bridge.Failed(invalid("%s: more than %d resources", m.Method, maxWatched))
	}
	l := &listener{id: m.ID, back: back, filter: *params.Notifications}
	l.filter.URIs = s.watch(ctx, l.filter.URIs)
	granted, _ := json.Marshal(l.filter) // cannot fail
	s.mu.Lock()
	back.Notify(wire.NotificationSubscribed, l.tag(append(append([]byte(`{"notifications":`), granted...), '}'))) // the first of the stream
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	if p, ok := ctx.(*pendingRequest); ok {
		p.rest()
	}
	<-ctx.Done()
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	for _, uri := range l.filter.URIs {
		s.release(uri)
	}
	if endedHere(context.Cause(ctx)) {
		return complete(bridge.Result(l.tag(nil), nil))
	}
	return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
}

// tag writes the listener's id into the _meta of an object; nil counts as an empty one.
func (l *listener) tag(object []byte) []byte {
	if object == nil {
		object = []byte("{}")
	}
	meta := wire.Lookup(object, "_meta")
	if meta == nil {
		meta = []byte("{}")
	}
	return wire.SetMember(object, "_meta", wire.SetMember(meta, wire.MetaSubscriptionID.String(), l.id))
}

// notify passes a notification of the source to the listeners that select it.
func (s *subscriptions) notify(method string, params []byte) {
	uri, _ := wire.Text(wire.Lookup(params, "uri"))
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		if l.filter.selects(method, uri) {
			l.back.Notify(method, l.tag(params))
		}
	}
}

// watch is a resource that listeners watch. Its view subscribes to it once for all of them, one
// request to the source at a time.
type watch struct {
	users int // listeners; guarded by subscriptions.mu

	turn       chan struct{} // holds a token while a request is under way; its owner may use subscribed
	subscribed bool          // granted by the source
}

// watch subscribes to the resources that no listener watches yet, several at once, and returns those that the
// source grants within watchTime. release must be called for each of these.
func (s *subscriptions) watch(ctx context.Context, uris []string) []string {
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	grants, turns := make([]bool, len(uris)), make(chan struct{}, watchesAtOnce)
	var work sync.WaitGroup
	for i, uri := range uris {
		turns <- struct{}{}
		work.Go(func() {
			grants[i] = s.watchOne(ctx, uri)
			<-turns
		})
	}
	work.Wait()
	var granted []string
	for i, uri := range uris {
		if grants[i] {
			granted = append(granted, uri)
		}
	}
	return granted
}

// watchOne is watch for one resource, and reports whether it is granted.
func (s *subscriptions) watchOne(ctx context.Context, uri string) bool {
	s.mu.Lock()
	w := s.watched[uri]
	if w == nil {
		w = &watch{turn: make(chan struct{}, 1)}
		s.watched[uri] = w
	}
	w.users++
	s.mu.Unlock()
	granted := s.subscribe(ctx, w, uri)
	if !granted {
		s.release(uri)
	}
	return granted
}

// subscribe reports whether the source grants a watch. Another listener's request may be under
// way: its answer counts unless it is a refusal.
func (s *subscriptions) subscribe(ctx context.Context, w *watch, uri string) bool {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return false
	}
	if !w.subscribed {
		w.subscribed = sendParam(ctx, s.source, wire.MethodSubscribe, "uri", uri) == nil
	}
	return w.subscribed
}

// release ends a listener's use of a watch, and with the last use the watch.
func (s *subscriptions) release(uri string) {
	s.mu.Lock()
	w := s.watched[uri]
	w.users--
	used := w.users > 0
	s.mu.Unlock()
	if used {
		return
	}
	w.turn <- struct{}{} // the request under way ends with its listener, or after writeTime
	defer func() { <-w.turn }()
	s.mu.Lock()
	used = w.users > 0
	s.mu.Unlock()
	if w.subscribed && !used {
		ctx, cancel := context.WithTimeout(context.Background(), writeTime)
		defer cancel()
		sendParam(ctx, s.source, wire.MethodUnsubscribe, "uri", uri)
		w.subscribed = false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.users == 0 && s.watched[uri] == w {
		delete(s.watched, uri)
	}
}

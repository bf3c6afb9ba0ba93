package mcpserver

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// listener is one subscriptions/listen stream: what it asked for, and where it goes.
type listener struct {
	id     []byte // raw id of its request, with which everything on it is tagged
	back   bridge.Back
	filter filter
}

// filter is what a listener wants to be told of (2026-07-28, SubscriptionFilter).
type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

func (f *filter) wants(method, uri string) bool {
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

// maxWatched bounds the resources of one listener.
const maxWatched = 1000

// listen tells the client of changes until ctx ends.
func (s *Server) listen(ctx context.Context, v *view, m *wire.Message, back bridge.Back) bridge.Reply {
	var params struct {
		Notifications *filter `json:"notifications"`
	}
	if err := json.Unmarshal(m.Params.Raw, &params); err != nil || params.Notifications == nil {
		return invalid("%s: params.notifications is missing or of the wrong form", m.Method)
	}
	if len(params.Notifications.URIs) > maxWatched {
		return invalid("%s: more than %d resources", m.Method, maxWatched)
	}
	l := &listener{id: m.ID, back: back, filter: *params.Notifications}
	l.filter.URIs = v.watch(ctx, l.filter.URIs)
	granted, _ := json.Marshal(l.filter) // cannot fail
	v.mu.Lock()
	l.tell(wire.NotificationSubscribed, append(append([]byte(`{"notifications":`), granted...), '}')) // before all else
	v.listeners[l] = struct{}{}
	v.mu.Unlock()
	<-ctx.Done()
	v.mu.Lock()
	delete(v.listeners, l)
	v.mu.Unlock()
	v.unwatch(l.filter.URIs)
	if context.Cause(ctx) == errEnded {
		return complete(bridge.Result(l.tag([]byte("{}")), nil))
	}
	return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "cancelled"))
}

// tell sends a notification to the listener, tagged as one of its stream.
func (l *listener) tell(method string, params []byte) {
	if params == nil {
		params = []byte("{}")
	}
	l.back.Notify(method, l.tag(params))
}

// tag writes the listener's id into the _meta of an object.
func (l *listener) tag(object []byte) []byte {
	meta := wire.Lookup(object, "_meta")
	if meta == nil {
		meta = []byte("{}")
	}
	return wire.SetMember(object, "_meta", wire.SetMember(meta, wire.MetaSubscriptionID.String(), l.id))
}

// notify passes what the source says by itself to the listeners who want it.
func (v *view) notify(method string, params []byte) {
	if method == wire.NotificationToolsChanged {
		v.tools.Store(nil)
	}
	uri, _ := wire.Text(wire.Lookup(params, "uri"))
	v.mu.Lock()
	defer v.mu.Unlock()
	for l := range v.listeners {
		if l.filter.wants(method, uri) {
			l.tell(method, params)
		}
	}
}

// A watch is what a view knows of a resource that its listeners are told of.
type watch struct {
	users int // listeners; guarded by the view

	turn chan struct{} // holds a token while nobody asks the source; who has taken it may touch what follows
	on   bool          // the source has granted it
}

// watch subscribes to resources that no listener of the view watches yet, and returns
// those that the source grants.
func (v *view) watch(ctx context.Context, uris []string) []string {
	var granted []string
	for _, uri := range uris {
		v.mu.Lock()
		w := v.watched[uri]
		if w == nil {
			w = &watch{turn: make(chan struct{}, 1)}
			w.turn <- struct{}{}
			v.watched[uri] = w
		}
		w.users++
		v.mu.Unlock()
		if v.subscribe(ctx, w, uri) {
			granted = append(granted, uri)
		} else {
			v.release(uri)
		}
	}
	return granted
}

// subscribe reports whether the source grants a watch. Another listener may be asking it.
func (v *view) subscribe(ctx context.Context, w *watch, uri string) bool {
	select {
	case <-w.turn:
		defer func() { w.turn <- struct{}{} }()
	case <-ctx.Done():
		return false
	}
	if !w.on {
		w.on = v.subscription(ctx, wire.MethodSubscribe, uri) == nil
	}
	return w.on
}

func (v *view) unwatch(uris []string) {
	for _, uri := range uris {
		v.release(uri)
	}
}

// release ends a listener's use of a watch, and with the last one the watch.
func (v *view) release(uri string) {
	v.mu.Lock()
	w := v.watched[uri]
	w.users--
	used := w.users > 0
	v.mu.Unlock()
	if used {
		return
	}
	<-w.turn // who asks has an end: its listener's, or writeTime
	defer func() { w.turn <- struct{}{} }()
	if v.unused(w) && w.on {
		ctx, cancel := context.WithTimeout(context.Background(), writeTime)
		defer cancel()
		v.subscription(ctx, wire.MethodUnsubscribe, uri)
		w.on = false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if w.users == 0 && v.watched[uri] == w {
		delete(v.watched, uri)
	}
}

func (v *view) unused(w *watch) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return w.users == 0
}

func (v *view) subscription(ctx context.Context, method, uri string) *toolformat.Error {
	params, _ := wire.SplitParams(wire.SetMember([]byte("{}"), "uri", wire.AppendString(nil, uri)))
	reply := v.source.Do(ctx, &bridge.Request{Method: method, Params: &params, Target: uri})
	err := reply.Err
	reply.Free()
	return err
}

package mcpserver

import (
	"context"
	"encoding/json"

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
		for _, watched := range f.URIs {
			if within(uri, watched) {
				return true
			}
		}
	}
	return false
}

// within reports whether uri is the resource watched, or a part of it.
func within(uri, watched string) bool {
	return uri == watched || len(uri) > len(watched) && uri[:len(watched)] == watched && (uri[len(watched)] == '/' || watched != "" && watched[len(watched)-1] == '/')
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

// watch subscribes to resources that no listener of the view watches yet, and returns
// those that the source grants.
func (v *view) watch(ctx context.Context, uris []string) []string {
	var granted []string
	for _, uri := range uris {
		v.mu.Lock()
		v.watched[uri]++
		first := v.watched[uri] == 1
		v.mu.Unlock()
		if first && v.subscription(ctx, wire.MethodSubscribe, uri) != nil {
			v.mu.Lock()
			delete(v.watched, uri)
			v.mu.Unlock()
			continue
		}
		granted = append(granted, uri)
	}
	return granted
}

func (v *view) unwatch(uris []string) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	for _, uri := range uris {
		v.mu.Lock()
		v.watched[uri]--
		last := v.watched[uri] == 0
		if last {
			delete(v.watched, uri)
		}
		v.mu.Unlock()
		if last {
			v.subscription(ctx, wire.MethodUnsubscribe, uri)
		}
	}
}

func (v *view) subscription(ctx context.Context, method, uri string) *toolformat.Error {
	params, _ := wire.SplitParams(wire.SetMember([]byte("{}"), "uri", wire.AppendString(nil, uri)))
	reply := v.source.Do(ctx, &bridge.Request{Method: method, Params: &params, Target: uri})
	err := reply.Err
	reply.Free()
	return err
}

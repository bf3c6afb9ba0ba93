package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/itemcache"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// session is the view of a caller whose calls are written down.
type session struct {
	bridge.Session // below
	book           *Book
	caller         *bridge.Caller
	client         string
	tools          itemcache.Cache[string, *tool]
}

// tool is what the calls of a tool have in common.
type tool struct {
	Call
	members  string // of the line that goes before a call
	readOnly bool
}

func newSession(b *Book, caller *bridge.Caller) *session {
	name, _ := wire.Text(wire.Lookup(caller.Info, "name"))
	return &session{book: b, caller: caller, client: clip(name)}
}

// maxName bounds the names in a line, in bytes.
const maxName = 300

// clip returns a name as a line has it: the end of a longer one is told by its digest.
func clip(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "…" + digest([]byte(name))
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) (reply bridge.Reply) {
	if req.Method != wire.MethodToolsCall {
		return s.Session.Do(ctx, req)
	}
	t := s.tool(ctx, req.Target)
	if t.readOnly {
		return s.Session.Do(ctx, req)
	}
	key, fault := keyOf(req)
	if fault != nil {
		return bridge.Failed(fault)
	}
	e, reply := s.book.begin(ctx, t, digest(wire.AppendCanonical(nil, arguments(req))), key)
	if e == nil {
		reply.Member, reply.Withheld = t.Server, true
		return reply
	}
	if key != "" && req.Take != nil { // the whole result is kept
		own := *req
		own.Take = nil
		req = &own
	}
	defer func() { s.book.end(e, &reply) }() // after a panic, too
	return s.Session.Do(ctx, req)
}

// tool returns what is known of a tool, which may be nothing.
func (s *session) tool(ctx context.Context, name string) *tool {
	known := s.tools.Now()
	if t, ok := known.Load(name); ok {
		return t
	}
	t := &tool{Call: Call{Principal: s.caller.Principal.Name, Client: s.client, Tool: clip(name)}}
	exists := false
	if l, _ := s.Session.List(ctx, bridge.Tools); l != nil {
		var it bridge.Item
		if it, exists = l.Find(name); exists {
			t.Server, t.repeatable = it.Member, it.Repeatable
			t.readOnly = !it.Untrusted && match.Annotation(it.Raw, "readOnlyHint")
		}
	}
	t.members = string(t.appendMembers(nil))
	if exists { // a client may invent any number of other names
		known.Store(name, t)
	}
	return t
}

// keyOf returns a digest of the idempotency key of a call, "" without one.
func keyOf(req *bridge.Request) (string, *toolformat.Error) {
	key, place := req.Key, "the header Idempotency-Key"
	for _, other := range [...]struct {
		at    wire.Key
		place string
	}{{wire.IdempotencyKey, "params.idempotencyKey"}, {wire.MetaIdempotencyKey, "params._meta.idempotencyKey"}} {
		if req.Params == nil || req.Params.Get(other.at) == nil {
			continue
		}
		text, ok := req.Params.Text(other.at)
		switch {
		case !ok || text == "":
			return "", toolformat.Errorf(toolformat.Invalid, "%s: %s must be a string that is not empty", req.Method, other.place)
		case key != "" && key != text:
			return "", toolformat.Errorf(toolformat.Invalid, "%s: %s and %s are different keys: give a call one idempotency key", req.Method, place, other.place)
		}
		key, place = text, other.place
	}
	if key == "" {
		return "", nil
	}
	return digest([]byte(key)), nil
}

// digest returns half of a hash, which is enough to tell texts apart.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	var buf [sha256.Size]byte
	return string(hex.AppendEncode(buf[:0], sum[:len(buf)/2]))
}

// arguments returns those of a request; none are {}.
func arguments(req *bridge.Request) []byte {
	if raw := match.Arguments(req); len(raw) > 0 {
		return raw
	}
	return []byte("{}")
}

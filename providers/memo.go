package providers

import (
	"bytes"
	"slices"
)

// A Memo keeps what was made of the messages of a request, so that for the next request of the same
// run only new messages are encoded. Its zero value is empty. It is for one goroutine at a time.
type Memo struct{ kept []kept }

// kept is what an encoder has made of messages.
type kept struct {
	made     any // a pointer to the encoder's type
	owner    any
	model    string
	system   string
	tools    *ToolSet
	messages []Message
}

// Encoded returns what an encoder has made of the first messages of a request, and the messages that follow
// those, which the encoder adds to it. It begins anew, and all messages follow, if the request has no Memo, or
// if that keeps something of another owner (a provider), model, system prompt, set of tools or conversation.
// An encoder is known by its type, M.
//
// What was added to M for an earlier request must stay, as it can still be on its way.
func Encoded[M any](req *Request, owner any, begin func() *M) (made *M, rest []Message) {
	if req.Memo == nil {
		return begin(), req.Messages
	}
	at := slices.IndexFunc(req.Memo.kept, func(k kept) bool { _, ok := k.made.(*M); return ok })
	if at < 0 {
		at = len(req.Memo.kept)
		req.Memo.kept = append(req.Memo.kept, kept{})
	}
	k := &req.Memo.kept[at]
	if k.owner != owner || k.model != req.Model || k.system != req.System || k.tools != req.Tools || !continues(req.Messages, k.messages) {
		*k = kept{begin(), owner, req.Model, req.System, req.Tools, nil}
	}
	rest = req.Messages[len(k.messages):]
	k.messages = append(k.messages, rest...)
	return k.made.(*M), rest
}

// continues reports whether messages begin with those before.
func continues(messages, before []Message) bool {
	if len(messages) < len(before) {
		return false
	}
	for i := range before {
		if !before[i].same(&messages[i]) {
			return false
		}
	}
	return true
}

// same reports whether two messages have the same parts, which do not change.
func (m *Message) same(n *Message) bool {
	if m.Role != n.Role || m.Raw != n.Raw || len(m.Parts) != len(n.Parts) {
		return false
	}
	return len(m.Parts) == 0 || &m.Parts[0] == &n.Parts[0] || slices.EqualFunc(m.Parts, n.Parts, func(p, q Part) bool {
		return p.Type == q.Type && p.Text == q.Text && p.Call == q.Call && p.Result == q.Result && bytes.Equal(p.Data, q.Data) &&
			p.MimeType == q.MimeType && p.URL == q.URL && p.Name == q.Name && p.Detail == q.Detail
	})
}

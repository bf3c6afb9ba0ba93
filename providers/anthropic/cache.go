package anthropic

import (
	"bytes"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxMarks is how many messages of the user are marked: the last one, and the one with which the
// request before ended. The API looks back from a mark for 20 blocks only, and a round of calls
// can be longer. With the tools and the system prompt these are the four marks that it takes.
const maxMarks = 2

const cacheControl = "cache_control"

// cacheMark returns the mark of a block up to which the API caches, nil for no caching. Blocks
// are marked, not the request: Bedrock and Vertex refuse the mark of a request. Marks in the
// configured body take the place of ours.
func (p *Provider) cacheMark(req *providers.Request) []byte {
	switch own := []byte(`"` + cacheControl + `"`); {
	case p.cache == "none", bytes.Contains(p.client.Body, own), bytes.Contains(req.Settings.Body, own):
		return nil
	case p.cache == "" || p.cache == "5m": // the API's default
		return []byte(`{"type":"ephemeral"}`)
	}
	return append(rawjson.Text([]byte(`{"type":"ephemeral"`), "ttl", p.cache), '}')
}

// markLast marks the last of some blocks.
func (e *encoder) markLast(blocks [][]byte) {
	if last := len(blocks) - 1; last >= 0 && e.mark != nil {
		blocks[last] = wire.SetMember(blocks[last], cacheControl, e.mark)
	}
}

// markContents returns the contents in pieces, and marks the last ones of the user. last follows json: it is the
// content of history.last.
func (e *encoder) markContents(last []byte) (pieces [][]byte) {
	if e.mark == nil {
		return [][]byte{e.json, last}
	}
	const end = "}]}" // of a content, with its last block
	mark := slices.Concat([]byte(`,"`+cacheControl+`":`), e.mark, []byte(end))
	marks, at := maxMarks, 0
	if e.last.role == "user" {
		marks--
	}
	for _, to := range e.users[max(0, len(e.users)-marks):] {
		pieces = append(pieces, e.json[at:to-len(end)], mark)
		at = to
	}
	pieces = append(pieces, e.json[at:])
	if e.last.role == "user" {
		return append(pieces, last[:len(last)-len(end)], mark)
	}
	return append(pieces, last)
}

// system returns the system prompt: text, or a block if it is marked.
func (e *encoder) system() []byte {
	if e.mark == nil {
		return wire.AppendString(nil, e.req.System)
	}
	blocks := [][]byte{textBlock(e.req.System)}
	e.markLast(blocks)
	return rawjson.Array(blocks)
}

// tools returns the tools of a request.
func (e *encoder) tools(set *toolformat.Set) []byte {
	if e.mark == nil {
		return set.JSON()
	}
	tools := make([][]byte, len(set.Tools))
	for i := range tools {
		tools[i] = set.Tools[i].JSON
	}
	e.markLast(tools)
	return rawjson.Array(tools)
}

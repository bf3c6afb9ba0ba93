package bridge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// uiScheme begins the URIs of MCP Apps, the pages with which tools show their results. Such a URI is a name
// within its server, which most servers choose alike, and a wrong page would get the results of another
// server's tool. A Bridge of several members therefore shows each with the prefix of its member, as it does
// names; URIs of other schemes never change. To change only those that two members have would not do: hosts know a
// page by its URI alone, and a server that comes up later would take the URI that they have got from another one.
const uiScheme = "ui://"

// uiPrefix returns the prefix of the member's ui URIs in a Bridge that has some members before it: no prefix
// begins with another one, so that a URI has one owner, whether or not it is listed.
func uiPrefix(name string, before []*member) string {
	own := toolformat.Prefix(name)
	for slices.ContainsFunc(before, func(m *member) bool { return strings.HasPrefix(own, m.ui) || strings.HasPrefix(m.ui, own) }) {
		own = strconv.Itoa(len(before)) + "-" + own
	}
	return own
}

// shownURI returns a URI of a member as the Bridge shows it.
func (m *member) shownURI(uri string) string {
	if rest, ok := strings.CutPrefix(uri, uiScheme); ok && m.ui != "" {
		return uiScheme + m.ui + rest
	}
	return uri
}

// uiOwner returns the member whose prefix a ui URI has, and the member's own URI; ok is false if there is none.
func (b *Bridge) uiOwner(shown string) (r route, ok bool) {
	rest, ok := strings.CutPrefix(shown, uiScheme)
	if !ok {
		return route{}, false
	}
	for i, m := range b.members {
		if own, ok := strings.CutPrefix(rest, m.ui); ok && m.ui != "" {
			return route{i, uiScheme + own}, true
		}
	}
	return route{}, false
}

// withShownURIs returns the definition of a tool in which the page that it leads to has the URI that the
// Bridge shows. ChatGPT and older servers have keys of their own for it.
func (m *member) withShownURIs(definition []byte) []byte {
	meta := wire.Lookup(definition, "_meta")
	if meta == nil || m.ui == "" {
		return definition
	}
	shown := meta
	if ui := wire.Lookup(meta, "ui"); ui != nil {
		shown = wire.SetMember(shown, "ui", m.withShownURI(ui, "resourceUri"))
	}
	for _, key := range []string{"ui/resourceUri", "openai/outputTemplate"} {
		shown = m.withShownURI(shown, key)
	}
	return wire.SetMember(definition, "_meta", shown)
}

// withShownURI returns an object in which the URI that is its member key is the one that the Bridge shows.
func (m *member) withShownURI(object []byte, key string) []byte {
	uri, _ := wire.Text(wire.Lookup(object, key))
	if shown := m.shownURI(uri); shown != uri {
		return wire.SetMember(object, key, wire.AppendString(nil, shown))
	}
	return object
}

// showContents changes the result of resources/read: its contents have the URIs that the Bridge shows.
func (m *member) showContents(reply *Reply) {
	contents := wire.Lookup(reply.Result, "contents")
	if reply.Err != nil || contents == nil || contents[0] != '[' {
		return
	}
	b := []byte{'['}
	for one := range wire.Elements(contents) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, m.withShownURI(one, "uri")...)
	}
	own := *reply
	reply.Result, reply.memory = wire.SetMember(own.Result, "contents", append(b, ']')), nil
	own.Free()
}

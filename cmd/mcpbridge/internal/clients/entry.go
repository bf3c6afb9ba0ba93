package clients

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
)

// An Entry is what a client needs to reach the bridge: a command, or a URL and a token.
type Entry struct {
	Command string // absolute path of the program
	Args    []string
	URL     string
	Token   string // for the Authorization header; "" means without
}

// A member is a member of a JSON object.
type member struct {
	key   string
	value any
}

// object returns members as JSON, in their order.
func object(members []member) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		_ = e.Encode(m.key) // strings, lists of strings, numbers and objects have an encoding
		b.WriteByte(':')
		_ = e.Encode(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// json returns the entry as a client writes it, in the older or the newer layout of its file. In WSL, a
// client of Windows starts the command through wsl.exe.
func (e Entry) json(f *File, newer bool) (json.RawMessage, error) {
	s, members := f.Client.style, slices.Clone(f.Client.style.first)
	if newer {
		s.last = nil
	}
	typed := func(kind string) {
		if kind != "" {
			members = append(members, member{"type", kind})
		}
	}
	if e.URL == "" {
		typed(s.stdio)
		command, args := e.Command, e.Args
		if f.machine.Distro != "" {
			command, args = "wsl.exe", append([]string{"-d", f.machine.Distro, "--exec", e.Command}, e.Args...)
		}
		if s.args == "-" {
			members = append(members, member{cmp.Or(s.command, "command"), append([]string{command}, args...)})
		} else {
			members = append(members, member{cmp.Or(s.command, "command"), command}, member{cmp.Or(s.args, "args"), args})
		}
		return object(append(members, s.last...)), nil
	}
	ws := strings.HasPrefix(e.URL, "ws")
	switch {
	case s.url == "":
		return nil, fmt.Errorf("%s takes no URL in this file: connect it without --http and --ws", f.Client.Title)
	case ws && s.ws == "":
		return nil, fmt.Errorf("%s does not speak WebSocket: use --http", f.Client.Title)
	case ws:
		typed(s.ws)
	default:
		typed(s.http)
	}
	members = append(members, member{s.url, e.URL})
	if e.Token != "" {
		members = append(members, member{cmp.Or(s.headers, "headers"), map[string]string{"Authorization": "Bearer " + e.Token}})
	}
	return object(append(members, s.last...)), nil
}

func (f *File) format() edit.Format { return formatOf(f.name) }

// formatOf returns the format of a file, by its name.
func formatOf(name string) edit.Format {
	switch path.Ext(name) {
	case ".toml":
		return edit.TOML
	case ".yaml", ".yml":
		return edit.YAML
	}
	return edit.JSON
}

// servers returns the path of the servers in the file.
func (f *File) servers(root edit.Node) []string {
	if f.place.path != nil {
		list := slices.Clone(f.place.path)
		for i := range list {
			if list[i] == "@project" {
				list[i] = strings.ReplaceAll(f.machine.show(f.machine.Project), `\`, "/")
			}
		}
		return list
	}
	if f.isNewer(root) {
		return f.Client.newer
	}
	return f.Client.path
}

// isNewer reports whether the file has the newer layout of its client.
func (f *File) isNewer(root edit.Node) bool {
	n, ok := root.At(f.Client.newer...)
	if f.Client.newer == nil || !ok || n.Value != nil {
		return false
	}
	// A server of an older layout may have the name of the key: it has a type, and that is a string.
	kind, typed := n.At("type")
	return !typed || kind.Value == nil
}

// off returns what disables an entry of the file.
func (f *File) off(root edit.Node) member {
	if f.isNewer(root) {
		return f.Client.newerOff
	}
	return f.Client.off
}

// Connect returns the text of the file with the entry.
func (f *File) Connect(text []byte, e Entry) ([]byte, error) {
	root, err := edit.Read(f.format(), text)
	if err != nil {
		return nil, err
	}
	value, err := e.json(f, f.isNewer(root))
	if err != nil {
		return nil, err
	}
	return f.setEntry(text, value)
}

func (f *File) setEntry(text []byte, value json.RawMessage) ([]byte, error) {
	root, err := edit.Read(f.format(), text)
	if err != nil {
		return nil, err
	}
	at := append(slices.Clone(f.servers(root)), EntryName)
	if old, ok := root.At(at...); ok && !sameKeys(old, value) { // such as the URL of an earlier connection
		if text, err = edit.Remove(f.format(), text, at); err != nil {
			return nil, err
		}
	}
	return edit.Set(f.format(), text, at, value)
}

// sameKeys reports whether an entry has no other keys than value has.
func sameKeys(old edit.Node, value json.RawMessage) bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(value, &keys) != nil {
		return false
	}
	return old.Value == nil && !slices.ContainsFunc(old.Members, func(m edit.Node) bool { return keys[m.Key] == nil })
}

// entry returns our entry in the text, and whether it is there.
func (f *File) entry(text []byte) (at []string, entry edit.Node, ok bool, err error) {
	root, err := edit.Read(f.format(), text)
	if err != nil {
		return nil, edit.Node{}, false, err
	}
	at = append(slices.Clone(f.servers(root)), EntryName)
	entry, ok = root.At(at...)
	return at, entry, ok, nil
}

// Connected reports whether the text of the file has the entry, or is not readable.
func (f *File) Connected(text []byte) bool {
	_, _, ok, err := f.entry(text)
	return ok || err != nil
}

// Token returns the token in our entry in the text of the file; "" if there is none.
func (f *File) Token(text []byte) string {
	_, entry, _, _ := f.entry(text)
	header, _ := entry.At(cmp.Or(f.Client.style.headers, "headers"), "Authorization")
	token, _ := strings.CutPrefix(textOf(header), "Bearer ")
	return token
}

// Disconnect returns the text of the file without the entry. before is what it was before the bridge
// changed it, or nil if that is not known: where nothing else has changed since, it is the result.
// The result is empty if nothing is left of a file that was not there before.
func (f *File) Disconnect(text, before []byte) ([]byte, error) {
	at, entry, ok, err := f.entry(text)
	if err != nil {
		return nil, err
	}
	if before != nil && f.undoes(before, text, entry, ok) {
		return before, nil
	}
	if !ok {
		return text, nil
	}
	out, err := edit.Remove(f.format(), text, at)
	if err != nil {
		return nil, err
	}
	if root, err := edit.Read(f.format(), out); before == nil && err == nil && isEmpty(root, at) && !bytes.ContainsAny(out, "#/") {
		return []byte{}, nil
	}
	return out, nil
}

// isEmpty reports whether a value has nothing but the empty objects on a path.
func isEmpty(n edit.Node, path []string) bool {
	if n.Value != nil || len(n.Members) == 0 || len(path) == 0 {
		return n.Value == nil && len(n.Members) == 0
	}
	return len(n.Members) == 1 && n.Members[0].Key == path[0] && isEmpty(n.Members[0], path[1:])
}

// Backup returns what the bridge leaves behind when it is taken out of the file, before a change of its
// text: old, which is that of an earlier change or nil, unless the file has changed since.
func (f *File) Backup(text, old []byte) []byte {
	if old == nil {
		return text
	}
	if moved, err := f.Moved(old, text); err != nil || len(moved) > 0 { // only old has them
		return old
	}
	if now, err := f.Disconnect(text, old); err == nil && len(now) > 0 {
		return now
	}
	return old
}

// undoes reports whether text is what the bridge has made of before, by its entry and by moving
// servers in either order.
func (f *File) undoes(before, text []byte, entry edit.Node, connected bool) bool {
	moved, err := f.Moved(before, text)
	if err != nil {
		return false
	}
	steps := []func([]byte) ([]byte, error){
		func(t []byte) ([]byte, error) {
			if !connected {
				return t, nil
			}
			return f.setEntry(t, entry.JSON())
		},
		func(t []byte) ([]byte, error) { return f.Move(t, moved) },
	}
	for range steps {
		out := before
		for _, step := range steps {
			if out, err = step(out); err != nil {
				return false
			}
		}
		if bytes.Equal(out, text) {
			return true
		}
		slices.Reverse(steps)
	}
	return false
}

// Move returns the text of the file without the named servers: disabled where the client knows that,
// else removed.
func (f *File) Move(text []byte, names []string) ([]byte, error) {
	root, err := edit.Read(f.format(), text)
	if err != nil {
		return nil, err
	}
	if f.place.bundle && len(names) > 0 {
		return edit.Set(f.format(), text, []string{"isEnabled"}, json.RawMessage("false"))
	}
	list := f.servers(root)
	servers, _ := root.At(list...)
	for _, name := range names {
		at := append(slices.Clone(list), f.step(servers, name))
		if off := f.off(root); off.key == "" {
			text, err = edit.Remove(f.format(), text, at)
		} else {
			value, _ := json.Marshal(off.value)
			text, err = edit.Set(f.format(), text, append(at, off.key), value)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// step returns the last step of the path of a server.
func (f *File) step(servers edit.Node, name string) string {
	if servers.Value != nil { // a list
		return "[name=" + name + "]"
	}
	return name
}

// Moved returns the names of the servers that run by before and do not by text.
func (f *File) Moved(before, text []byte) ([]string, error) {
	then, err := f.running(before)
	if err != nil {
		return nil, err
	}
	now, err := f.running(text)
	return slices.DeleteFunc(then, func(name string) bool { return slices.Contains(now, name) }), err
}

// running returns the names of the enabled servers of a text, other than ours.
func (f *File) running(text []byte) ([]string, error) {
	root, err := edit.Read(f.format(), text)
	if err != nil {
		return nil, err
	}
	if f.place.bundle {
		if enabled, _ := root.At("isEnabled"); isTrue(enabled) {
			return []string{f.id()}, nil
		}
		return nil, nil
	}
	servers, _ := root.At(f.servers(root)...)
	var names []string
	off := f.off(root)
	value, _ := json.Marshal(off.value)
	for _, m := range servers.Members {
		if at, ok := m.At(off.key); ok && bytes.Equal(at.Value, value) {
			continue
		}
		if name := nameOf(servers, m); name != "" && name != EntryName {
			names = append(names, name)
		}
	}
	return names, nil
}

// nameOf returns the name of one of the servers.
func nameOf(servers, one edit.Node) string {
	if servers.Value == nil {
		return one.Key
	}
	name, _ := one.At("name")
	return textOf(name)
}

// textOf returns the string that a node is, or "".
func textOf(n edit.Node) string {
	var s string
	_ = json.Unmarshal(n.Value, &s)
	return s
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/tokens"
)

// lists are what the servers of a config have listed last, for the completion of words.
type lists struct {
	Tools     []json.RawMessage `json:"tools"`
	Prompts   []json.RawMessage `json:"prompts"`
	Resources []json.RawMessage `json:"resources"`
}

// maxLists bounds the file of lists, in bytes.
const maxLists = 16 << 20

// listsFile returns the file in which the lists of a config are kept between runs.
func listsFile(configFile string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(configFile)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(dir, "mcpbridge", "completion", hex.EncodeToString(sum[:8])+".json"), nil
}

// keepLists keeps the lists of a program whose servers are all connected. That they cannot be kept
// matters to nobody.
func (p *program) keepLists(ctx context.Context) {
	if p.cfg.Path == "" || p.caller.Profile != "" || slices.ContainsFunc(p.cfg.Servers, func(s config.Server) bool { return s.Lazy }) {
		return // a profile leaves some out; a lazy server would be connected
	}
	for _, st := range p.Servers() {
		if !st.Up() {
			return
		}
	}
	var l lists
	for kind, to := range map[bridge.ListKind]*[]json.RawMessage{bridge.Tools: &l.Tools, bridge.Prompts: &l.Prompts, bridge.Resources: &l.Resources} {
		list, err := listOf(ctx, p.own, kind)
		if err != nil {
			return
		}
		for _, it := range list.Items {
			*to = append(*to, it.Raw)
		}
	}
	l.keep(p.cfg.Path)
}

func (l *lists) keep(configFile string) {
	name, err := listsFile(configFile)
	data, _ := json.Marshal(l) // raw JSON, which was decoded before
	if err != nil || len(data) > maxLists {
		return
	}
	_ = file.Update(name, func([]byte) ([]byte, error) { return append(data, '\n'), nil }, nil)
}

// knownLists returns the lists of a config: those that a command has kept since the config was changed,
// or those of its daemon, or older ones. No server is started.
func knownLists(ctx context.Context, configFile string) (l lists) {
	path, err := config.Find(configFile)
	if err != nil {
		return l
	}
	name, err := listsFile(path)
	if err != nil {
		return l
	}
	data, err := file.ReadRegular(name, maxLists)
	if err == nil && json.Unmarshal(data, &l) == nil && newer(name, path) {
		return l
	}
	if now, err := daemonLists(ctx, path); err == nil {
		now.keep(path)
		return now
	}
	return l
}

func newer(name, than string) bool {
	a, errA := os.Stat(name)
	b, errB := os.Stat(than)
	return errA == nil && errB == nil && a.ModTime().After(b.ModTime())
}

// daemonLists asks the daemon of a config, if it runs.
func daemonLists(ctx context.Context, configFile string) (l lists, err error) {
	place, err := daemon.PlaceOf(configFile)
	if err != nil {
		return l, err
	}
	if place.Clear() { // else systemd may start it
		return l, daemon.ErrNone
	}
	hello := daemon.NewHello()
	hello.Version, _ = build()
	conn, err := daemon.Dial(ctx, place, hello)
	if err != nil {
		return l, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"mcpbridge","version":%q}}}`+"\n",
		wire.Revisions[0], hello.Version)
	in := bufio.NewReader(conn.In)
	if _, err := answerOf(in, "0"); err != nil {
		return l, err
	}
	fmt.Fprintf(conn, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	for i, kind := range []bridge.ListKind{bridge.Tools, bridge.Prompts, bridge.Resources} {
		id := fmt.Sprint(i + 1)
		fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"method":%q}`+"\n", id, kind.Method())
		result, err := answerOf(in, id)
		if err != nil {
			return l, err
		}
		to := []*[]json.RawMessage{&l.Tools, &l.Prompts, &l.Resources}[i]
		_ = json.Unmarshal(wire.Lookup(result, kind.Member()), to) // no such list is no list
	}
	return l, nil
}

// answerOf returns the result of the response to a request; nil if that failed.
func answerOf(in *bufio.Reader, id string) ([]byte, error) {
	for total := 0; total < maxLists; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		total += len(line)
		var message struct {
			ID     json.RawMessage
			Result json.RawMessage
		}
		if json.Unmarshal(line, &message) == nil && string(message.ID) == id && !bytes.Contains(line[:min(len(line), 200)], []byte(`"method"`)) {
			return message.Result, nil
		}
	}
	return nil, io.ErrShortBuffer
}

// find returns the item whose member has a value, or nil.
func find(items []json.RawMessage, key, value string) json.RawMessage {
	for _, raw := range items {
		if text, _ := wire.Text(member(raw, key)); text == value {
			return raw
		}
	}
	return nil
}

// member returns a member of an item; nil if the file that has it was damaged.
func member(raw json.RawMessage, key string) json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	return wire.Lookup(raw, key)
}

// named returns the items by the value of a member.
func named(items []json.RawMessage, key string) (all []candidate) {
	for _, raw := range items {
		name, ok := wire.Text(member(raw, key))
		about, _ := wire.Text(member(raw, "description"))
		if ok {
			all = append(all, candidate{name, about})
		}
	}
	return all
}

// serverNames returns the names of the servers of a config.
func serverNames(configFile string) []string { return configNames(configFile, "mcpServers", "servers") }

// tokenNames returns the names that have a token for a config.
func tokenNames(configFile string) (names []string) {
	path, err := config.Find(configFile)
	if err != nil {
		return nil
	}
	issued, _ := tokens.Read(tokens.Path(path)) // of a file that is damaged no name is known
	for _, t := range issued {
		names = append(names, t.Name)
	}
	return names
}

// secretNames returns the names of secrets to which a config refers: to read those that are kept may ask the user for a keychain.
func secretNames(configFile string) []string {
	path, err := config.Find(configFile)
	if err != nil {
		return nil
	}
	text, err := file.ReadRegular(path, maxConfig)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(usesIn(path, string(text))))
}

// approvalIDs returns the approvals of what runs, or those that are to be decided about, with what they are for.
func approvalIDs(ctx context.Context, configFile string, undecided bool) (ids []candidate) {
	r := newRemote("approvals", "", "", streams{out: io.Discard, err: io.Discard})
	r.config = configFile
	known, _, _ := r.approvals(ctx) // of programs that have answered
	for _, a := range known {
		if !undecided || a.State == policy.Pending {
			ids = append(ids, candidate{a.ID, a.Target})
		}
	}
	return ids
}

// configNames returns the names in objects of a config, also of one with faults.
func configNames(configFile string, keys ...string) []string {
	path, err := config.Find(configFile)
	if err != nil {
		return nil
	}
	data, err := file.ReadRegular(path, maxLists)
	if err != nil {
		return nil
	}
	raw, err := hujson.Standardize(data)
	if err != nil {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	names := map[string]json.RawMessage{}
	for _, key := range keys {
		_ = json.Unmarshal(members[key], &names) // adds to those of the keys before; anything but an object has none
	}
	return slices.Sorted(maps.Keys(names))
}

package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/edit"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
)

// A bundle is an MCP bundle that Claude Desktop has installed as an extension: its manifest says how the
// server runs, and a [File] has what the user has set.
type bundle struct {
	server   *Server
	folder   string // as users of its system write it
	manifest edit.Node
	values   map[string][]Text // of the manifest's variables; none for a setting without a value
	size     int               // of what has been filled in, in bytes
}

const (
	bundleFolders = "Claude Extensions" // beside the folder of the settings
	maxManifest   = 16 << 20            // bytes
	maxSettings   = 1000                // as the time to look them up grows with their square
	maxFilled     = 1 << 20             // bytes, more than a system passes to a program
	encrypted     = "__encrypted__:"    // begins a value that only the client can read
)

// id returns the id of the extension whose settings the file has.
func (f *File) id() string { return strings.TrimSuffix(path.Base(f.name), path.Ext(f.name)) }

// extension returns the server of the extension whose settings the file has. It is nil for settings that
// an extension has left behind, and for one that is off and could not run.
func (f *File) extension(settings edit.Node) (*Server, error) {
	folder := path.Join(path.Dir(path.Dir(f.name)), bundleFolders, f.id())
	name := path.Join(folder, "manifest.json")
	text, err := file.ReadRegular(f.machine.open(name), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var manifest edit.Node
	if err == nil {
		manifest, err = edit.Read(edit.JSON, text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.machine.show(name), err)
	}
	enabled, _ := settings.At("isEnabled")
	s := &Server{Name: f.id(), File: f, Line: max(enabled.Line, 1), Off: !isTrue(enabled), Dir: escape(f.machine.show(folder))}
	if own, _ := manifest.At("name"); textOf(own) != "" {
		s.Name = textOf(own)
	}
	b := &bundle{server: s, folder: f.machine.show(folder), manifest: manifest}
	b.define(settings)
	b.take()
	s.check()
	if s.Off && s.Fault != "" {
		return nil, nil
	}
	return s, nil
}

func isTrue(n edit.Node) bool { return string(n.Value) == "true" }

// define gives the variables of the manifest their values.
func (b *bundle) define(settings edit.Node) {
	m := b.server.File.machine
	slash := m.show("/")
	b.values = map[string][]Text{
		"__dirname": {{Text: b.folder}}, "HOME": {{Text: m.show(m.Home)}},
		"pathSeparator": {{Text: slash}}, "/": {{Text: slash}},
	}
	for _, folder := range []string{"Desktop", "Documents", "Downloads"} {
		b.values[strings.ToUpper(folder)] = []Text{{Text: m.show(path.Join(m.Home, folder))}}
	}
	settable := map[string][]Text{} // apart, as defaults do not refer to each other
	options, _ := b.manifest.At("user_config")
	if len(options.Members) > maxSettings {
		b.server.fail("has more than %d settings", maxSettings)
		return
	}
	for _, option := range options.Members {
		values := b.setting(option, settings)
		if required, _ := option.At("required"); isTrue(required) && len(values) == 0 {
			b.server.fail("%q has no value: set it in %s", option.Key, b.server.File.Client.Title)
		}
		settable["user_config."+option.Key] = values
	}
	maps.Copy(b.values, settable)
}

// setting returns what the user has set for an option of the manifest, or its default.
func (b *bundle) setting(option, settings edit.Node) (values []Text) {
	sensitive, _ := option.At("sensitive")
	set, _ := settings.At("userConfig", option.Key)
	for _, text := range texts(set) {
		if text == "" {
			continue
		}
		if strings.HasPrefix(text, encrypted) {
			name := upperName(b.server.Name + "_" + option.Key)
			b.server.elsewhere(set.Line, name)
			values = append(values, Text{Text: "${" + name + "}", Variable: true})
		} else {
			values = append(values, Text{Text: text, secret: isTrue(sensitive)})
		}
	}
	if len(values) == 0 {
		preset, _ := option.At("default")
		for _, text := range texts(preset) {
			values = append(values, b.fill(text)...)
		}
	}
	return values
}

// texts returns a scalar, or those of a list.
func texts(n edit.Node) (list []string) {
	for _, m := range append([]edit.Node{n}, n.Members...) {
		switch text := string(m.Value); {
		case text == "" || text == "null" || text[0] == '[':
		case text[0] == '"':
			list = append(list, textOf(m))
		default:
			list = append(list, text)
		}
	}
	return list
}

// take takes the server's command, arguments and environment, of which each system may have its own.
func (b *bundle) take() {
	s, system := b.server, strings.Replace(b.server.File.machine.System, "windows", "win32", 1)
	member := func(key string) edit.Node {
		n, ok := b.manifest.At("server", "mcp_config", "platform_overrides", system, key)
		if !ok {
			n, _ = b.manifest.At("server", "mcp_config", key)
		}
		return n
	}
	for _, t := range b.fill(textOf(member("command"))) {
		s.Command = b.program(t).ours()
	}
	for _, arg := range texts(member("args")) {
		s.Args = append(s.Args, b.fill(arg)...)
	}
	for _, m := range member("env").Members {
		for _, text := range texts(m) {
			values := b.fill(text)
			if len(values) > 1 {
				s.fail("the variable %s has a setting with several values", m.Key)
			}
			for _, t := range values {
				s.Env = append(s.Env, Pair{m.Key, t})
			}
		}
	}
	kind, _ := b.manifest.At("server", "type")
	if entry, _ := b.manifest.At("server", "entry_point"); s.Command == "" && textOf(kind) == "uv" {
		s.Command, s.Args = "uv", []Text{{Text: "run"}, {Text: "--directory"}, {Text: b.folder}, {Text: textOf(entry)}}
	}
}

// program returns the path of a program of the bundle.
func (b *bundle) program(t Text) Text {
	kind, _ := b.manifest.At("server", "type")
	if t.Text != "" && !isAbsolute(t.Text) && (textOf(kind) == "binary" || strings.ContainsAny(t.Text, `/\`)) {
		t.Text = b.folder + b.server.File.machine.show("/"+t.Text)
	}
	if textOf(kind) == "binary" && b.server.File.machine.System == "windows" && path.Ext(t.Text) == "" {
		t.Text += ".exe"
	}
	return t
}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^{}]*)\}`) })

// fill fills in the variables of a text. A text that is only a setting becomes each of its values; one
// with a setting that has no value becomes nothing.
func (b *bundle) fill(text string) []Text {
	refs := placeholder().FindAllStringSubmatchIndex(text, -1)
	if len(refs) == 1 && refs[0][0] == 0 && refs[0][1] == len(text) {
		if values, known := b.values[text[refs[0][2]:refs[0][3]]]; known {
			return b.bound(values)
		}
	}
	var literal, ours strings.Builder
	add := func(t Text) {
		if literal.Len() > maxFilled {
			return // it will be too large
		}
		literal.WriteString(t.Text)
		ours.WriteString(t.ours())
	}
	var all Text
	end := 0
	for _, at := range refs {
		name := text[at[2]:at[3]]
		values, known := b.values[name]
		switch {
		case !known:
			continue
		case len(values) == 0:
			return nil
		case len(values) > 1:
			b.server.fail("%q has several values and is a part of a string", name)
		}
		add(Text{Text: text[end:at[0]]})
		add(values[0])
		all.Variable, all.secret = all.Variable || values[0].Variable, all.secret || values[0].secret
		end = at[1]
	}
	add(Text{Text: text[end:]})
	if all.Text = literal.String(); all.Variable {
		all.Text = ours.String()
	}
	return b.bound([]Text{all})
}

// bound returns the texts, or nothing if too much has been filled in.
func (b *bundle) bound(list []Text) []Text {
	for i := 0; i < len(list) && b.size <= maxFilled; i++ {
		b.size += len(list[i].Text) + 1
	}
	if b.size > maxFilled {
		b.server.fail("its arguments and variables are larger than %d MiB", maxFilled>>20)
		return nil
	}
	return list
}

package clients

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// EntryName is the name of the bridge's entry in the file of a client.
const EntryName = "mcpbridge"

// A Client is an MCP client: what its config files look like and where they lie.
type Client struct {
	Name    string   // as it is typed
	Title   string   // as its makers write it
	aliases []string // other names that people type

	path     []string // keys that lead to its servers
	newer    []string // keys that lead to them in files of a newer layout
	allowed  []string // keys that lead to the names of those that are not disabled; all are if there are none
	excluded []string // keys that lead to the names of disabled ones

	style     style
	off       member        // disables an entry; without a key, entries are removed instead
	newerOff  member        // the same in a newer layout, in which entries have no last members
	unit      time.Duration // of "timeout"
	variables syntax        // what it fills in
	places    []place       // the first one is that of a client that was never started
}

// A style is how a client writes an entry. A key that is "" has its usual name.
type style struct {
	stdio, http, ws string // values of "type"; "" means without the key, and for ws that it is not supported
	command, args   string // default "command" and "args"; args "-" means that command is an array with all of them
	url             string // key of a URL; "" means that the client takes none
	headers         string // default "headers"
	first, last     []member
}

// A syntax is a set of the ways to write variables.
type syntax int

const (
	braces     syntax = 1 << iota // ${NAME}, ${NAME:-default}
	dollar                        // $NAME
	colon                         // ${env:NAME}, ${workspaceFolder}, ${userHome}, ${input:id}
	curly                         // {env:NAME}, {file:PATH}
	double                        // ${{ secrets.NAME }}, ${{ inputs.NAME }}
	references                    // ${keychain:NAME}, ${file:PATH}, ${command:PROGRAM}: those of mcpbridge itself
)

// A place is where a file of a client lies.
//
// A path begins with ~ (the home folder), @config (the folder of programs' settings, by system), @xdg
// (the same as on Linux, on every system), @local (local settings on Windows), @project or
// $VARIABLE. A * stands for any name.
type place struct {
	on      string   // a system; "" means every one
	dirs    []string // the first one whose variable is set is taken
	files   []string // below it; the first one that exists is taken, else the first
	fileVar string   // variable that names the file itself
	mark    string   // a path that exists where the client is installed; default: the folder
	path    []string // overrides that of the client; @project stands for the project's folder
	title   string   // of the program that the client is a part of
	project bool     // belongs to a project
	exists  bool     // is used only if the file exists
	read    bool     // is only imported from
	bundle  bool     // has the settings of an MCP bundle, whose server is in its manifest
}

// All returns all clients.
func All() []*Client {
	var all []*Client
	for _, c := range table {
		all = append(all, &c)
	}
	return all
}

// Find returns the client with that name or alias. The error names the nearest one.
func Find(name string) (*Client, error) {
	plain := plainName(name)
	var names []string
	for _, c := range All() {
		if plain == plainName(c.Name) || slices.Contains(c.aliases, plain) {
			return c, nil
		}
		names = append(names, c.Name)
	}
	if near := hint.DidYouMean(strings.ToLower(name), names); near != "" {
		return nil, fmt.Errorf("unknown client %s%s", hint.Quote(name), near)
	}
	return nil, fmt.Errorf("unknown client %s (known: %s)", hint.Quote(name), strings.Join(names, ", "))
}

// plainName returns a name without what people spell differently.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -_.", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/clients"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/toolargs"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A commandLineSoFar is a command line that is being typed.
type commandLineSoFar struct {
	last    string // the word to complete
	flags   *pflag.FlagSet
	words   []string    // that are neither flags nor values of flags
	pending *pflag.Flag // whose value last is; nil for another word
	foreign string      // the flag of a tool that stands before last; "" for another word
	config  string      // --config
}

// complete returns candidates for the last word behind others. They need not begin with it.
func (l *commandLineSoFar) complete(ctx context.Context, before []string) []candidate {
	if len(before) > 0 && before[0] == "help" {
		return commandWordsAfter(before[1:])
	}
	command, rest := commandNamed(before)
	if command == nil {
		return append(commandWordsAfter(before), l.help(before)...)
	}
	if slices.Contains(rest, "--") { // a server's command
		return []candidate{files}
	}
	l.flags = flagsOf(ctx, command)
	l.read(rest)
	if l.pending != nil {
		return l.values(l.pending, "")
	}
	arguments := l.arguments(ctx, command.name)
	if l.foreign != "" && arguments != nil && (arguments.TakesValue(l.foreign) || l.last != "") && !strings.HasPrefix(l.last, "-") {
		return wordsOf(arguments.Complete(l.foreign), "")
	}
	if name, _, valued := strings.Cut(l.last, "="); valued && strings.HasPrefix(name, "--") {
		if flag := l.flags.Lookup(name[2:]); flag != nil {
			return l.values(flag, name+"=")
		}
		if arguments != nil {
			return wordsOf(arguments.Complete(name), name+"=")
		}
	}
	if strings.HasPrefix(l.last, "-") {
		return l.flagNames(arguments)
	}
	return l.positional(ctx, command.name)
}

// help completes a line without a command.
func (l *commandLineSoFar) help(before []string) []candidate {
	switch {
	case len(before) > 0:
		return nil
	case strings.HasPrefix(l.last, "-"):
		return candidates("--help", "--version")
	}
	return []candidate{{"help", "describe a command"}}
}

// flagsOf returns the flags of a command: it is run up to where it would parse them.
func flagsOf(ctx context.Context, c *command) (flags *pflag.FlagSet) {
	flags = pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	std := streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	std.inspect = func(f *sourceFlags) { flags = f.FlagSet }
	_ = c.run(ctx, nil, std) // ends there
	return flags
}

// read finds out what the last word is.
func (l *commandLineSoFar) read(words []string) {
	for _, word := range words {
		if l.pending != nil {
			if l.pending.Name == "config" {
				l.config = expandHome(word)
			}
			l.pending = nil
			continue
		}
		foreign := l.foreign
		l.foreign = ""
		name, value, valued := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		flag := l.flags.Lookup(name)
		switch {
		case len(word) == 2 && word[0] == '-' && word[1] != '-':
			if flag = l.flags.ShorthandLookup(word[1:]); flag != nil && takesValue(flag) {
				l.pending = flag
			}
		case !strings.HasPrefix(word, "--") && foreign == "":
			l.words = append(l.words, word)
		case !strings.HasPrefix(word, "--"): // its value
		case flag == nil && !valued:
			l.foreign = word
		case flag != nil && valued && name == "config":
			l.config = value
		case flag != nil && !valued && takesValue(flag):
			l.pending = flag
		}
	}
}

// expandHome returns a word as shells expand it in the line that is run, but not in what they complete.
func expandHome(word string) string {
	rest, ok := strings.CutPrefix(word, "~/")
	if home, err := os.UserHomeDir(); ok && err == nil {
		return filepath.Join(home, rest)
	}
	return word
}

// values returns the values of a flag, behind front.
func (l *commandLineSoFar) values(flag *pflag.Flag, front string) []candidate {
	var words []string
	switch kind, usage := pflag.UnquoteUsage(flag); kind {
	case "FILE":
		return []candidate{files}
	case "DIR":
		return []candidate{folders}
	case "FORMAT":
		for _, f := range toolformat.Formats() {
			words = append(words, string(f))
		}
	case "PROVIDER":
		words = append(configNames(l.config, "providers"), stack.ProviderTypes()...)
	case "PROFILE":
		words = configNames(l.config, "profiles")
	case "SERVER":
		words = serverNames(l.config)
	case "OUTCOME":
		words = outcomes()
	case "DECISION":
		words = decisions()
	case "LEVEL": // of the log or of a model's effort: the help has them
		_, list, _ := strings.Cut(usage, kind+": ")
		words = strings.Split(strings.Replace(list, " or ", ", ", 1), ", ")
	}
	for i := range words {
		words[i] = front + words[i]
	}
	return candidates(words...)
}

// flagNames returns the flags that are not used so far, those of a tool first.
func (l *commandLineSoFar) flagNames(arguments *toolargs.Flags) (all []candidate) {
	if arguments != nil {
		all = wordsOf(arguments.Complete(""), "")
	}
	l.flags.VisitAll(func(flag *pflag.Flag) {
		if _, usage := pflag.UnquoteUsage(flag); !flag.Hidden {
			all = append(all, candidate{"--" + flag.Name, usage})
		}
	})
	return append(all, candidate{"--help", "describe the command"})
}

func wordsOf(words []toolargs.Word, front string) (all []candidate) {
	for _, w := range words {
		all = append(all, candidate{front + w.Text, w.About})
	}
	return all
}

// arguments returns the arguments of the tool or prompt that the line names, or nil.
func (l *commandLineSoFar) arguments(ctx context.Context, command string) *toolargs.Flags {
	if len(l.words) == 0 {
		return nil
	}
	taken := func(name string) bool { return name == "help" || l.flags.Lookup(name) != nil }
	known := knownLists(ctx, l.config)
	switch command {
	case "tools call":
		if raw := find(known.Tools, "name", l.words[0]); raw != nil {
			return toolargs.New(member(raw, "inputSchema"), taken)
		}
	case "prompts get":
		if raw := find(known.Prompts, "name", l.words[0]); raw != nil {
			return toolargs.New(promptSchema(raw), taken)
		}
	}
	return nil
}

// positional returns words that are neither flags nor values of flags.
func (l *commandLineSoFar) positional(ctx context.Context, command string) []candidate {
	first := len(l.words) == 0
	switch command {
	case "convert", "lint", "audit verify", "audit query":
		if first {
			return []candidate{files}
		}
	case "gen":
		return []candidate{folders}
	case "completion":
		if first {
			return candidates(shells...)
		}
	case "connect", "disconnect", "import", "init":
		var names []candidate
		for _, c := range clients.All() {
			names = append(names, candidate{c.Name, c.Title})
		}
		return names
	case "service":
		if first {
			return candidates("install", "uninstall", "status")
		}
	case "remove", "enable", "disable", "login", "logout", "logs", "restart", "stop":
		return candidates(serverNames(l.config)...)
	case "token remove":
		return candidates(tokenNames(l.config)...)
	case "secret rm":
		return candidates(secretNames(l.config)...)
	}
	if !first {
		return nil
	}
	switch command {
	case "secret set":
		return candidates(secretNames(l.config)...)
	case "approvals decide", "approvals show":
		return approvalIDs(ctx, l.config, command == "approvals decide")
	case "pins", "pins accept":
		return candidates(serverNames(l.config)...)
	case "tools call", "policy test":
		return named(knownLists(ctx, l.config).Tools, "name")
	case "prompts get":
		return named(knownLists(ctx, l.config).Prompts, "name")
	case "resources read":
		return named(knownLists(ctx, l.config).Resources, "uri")
	}
	return nil
}

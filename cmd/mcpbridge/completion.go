package main

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// The scripts run `mcpbridge __complete WORD…` with the words behind the program's name up to the
// cursor. Each line of the answer is a word that completes the last one, and behind a tab what it is
// about. The line :files or :folders stands for the names of those.
//
//go:embed completion/bash.sh
var bashCompletion string

//go:embed completion/zsh.sh
var zshCompletion string

//go:embed completion/fish.sh
var fishCompletion string

// shells are those that there is completion for.
var shells = []string{"bash", "zsh", "fish"}

const completionAbout = `Prints a script that makes a shell complete the words of mcpbridge: commands,
flags, servers, tools with their arguments, prompts, resources. For good:

  bash   echo 'source <(mcpbridge completion bash)' >> ~/.bashrc
  zsh    echo 'source <(mcpbridge completion zsh)' >> ~/.zshrc
  fish   mcpbridge completion fish > ~/.config/fish/completions/mcpbridge.fish

Tools are those that a command has listed since the config was changed, else those
of the daemon, if it runs. No server is started to complete a word.`

func runCompletion(_ context.Context, args []string, std streams) error {
	f := newFlags("completion", "completion bash|zsh|fish", completionAbout, std)
	if err := f.parseOwn(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usagef("completion: expected a shell: %s", strings.Join(shells, ", "))
	}
	script, known := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[f.Arg(0)]
	if !known {
		return usagef("completion: unknown shell %s%s", hint.Quote(f.Arg(0)), hint.DidYouMean(f.Arg(0), shells))
	}
	_, err := io.WriteString(std.out, script)
	return err
}

// completeTime bounds the time in which a word is completed.
const completeTime = time.Second

// completeCommand is the hidden command of the scripts.
const completeCommand = "__complete"

// runComplete prints what completes the last word of a command line.
func runComplete(ctx context.Context, args []string, std streams) error {
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	if len(args) == 0 {
		args = []string{""}
	}
	line := &commandLineSoFar{last: args[len(args)-1]}
	var b strings.Builder
	for _, c := range line.complete(ctx, args[:len(args)-1]) {
		switch {
		case c == files || c == folders:
			b.WriteString(c.word + "\n")
		case strings.HasPrefix(c.word, line.last):
			b.WriteString(strings.TrimSuffix(terminal.Inline(c.word)+"\t"+terminal.Fit(terminal.Inline(c.about), 80), "\t") + "\n")
		}
	}
	_, err := io.WriteString(std.out, b.String())
	return err
}

// A candidate is a word that may complete another one.
type candidate struct{ word, about string }

// Candidates that stand for the names of files.
var (
	files   = candidate{word: ":files"}
	folders = candidate{word: ":folders"}
)

func candidates(words ...string) (all []candidate) {
	for _, word := range words {
		all = append(all, candidate{word: word})
	}
	return all
}

// commandWordsAfter returns the first words of commands, or the second ones of a group.
func commandWordsAfter(before []string) (all []candidate) {
	for _, c := range commands() {
		words := strings.Fields(c.name)
		switch {
		case len(before) == 0 && len(words) == 1:
			all = append(all, candidate{c.name, c.about})
		case len(before) == 0 && !slices.ContainsFunc(all, func(c candidate) bool { return c.word == words[0] }):
			all = append(all, candidate{words[0], groupAbout(words[0])})
		case len(before) == 1 && len(words) == 2 && words[0] == before[0]:
			all = append(all, candidate{words[1], c.about})
		}
	}
	return all
}

// groupAbout names the commands of a group.
func groupAbout(word string) string {
	var seconds []string
	for _, c := range group(word) {
		seconds = append(seconds, strings.TrimPrefix(c.name, word+" "))
	}
	return fmt.Sprintf("%s: %s", word, strings.Join(seconds, ", "))
}

// commandNamed returns the command that a line begins with, and the words behind it; nil if there is none.
func commandNamed(words []string) (*command, []string) {
	for _, c := range commands() {
		name := strings.Fields(c.name)
		if len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			return &c, words[len(name):]
		}
	}
	return nil, words
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// mostEntries bounds the entries of a folder that are looked at.
const mostEntries = 1000

// complete returns what the last word of a line may become: a command, a prompt, an argument of a prompt or
// its value, a resource, a URI of a template, a file. A server that does not answer in time adds nothing.
func (c *chat) complete(line string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completeTime)
	defer cancel()
	word := line[strings.LastIndex(line, " ")+1:]
	var words []string
	switch before := strings.Fields(strings.TrimSuffix(line, word)); {
	case c.tools == nil:
	case len(before) == 1 && before[0] == "/prompt":
		list, _ := c.tools.List(ctx, bridge.Prompts)
		words = keysOf(list)
	case len(before) > 1 && before[0] == "/prompt":
		words = c.completeArgument(ctx, before[1], before[2:], word)
	case strings.HasPrefix(word, "@"):
		list, _ := c.tools.List(ctx, bridge.Resources)
		for _, name := range slices.Concat(keysOf(list), c.completeURI(ctx, word[1:]), entriesOf(word[1:])) {
			words = append(words, "@"+name)
		}
	}
	if word == line {
		words = append(words, commandWords()...)
	}
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, word) || !isOneWord(w) })
}

// isOneWord reports whether a text can be typed as a word, and shown on a terminal as it is.
func isOneWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

// completeArgument returns the arguments that a prompt takes besides those given, each with a =, or what its
// server offers as the value of the argument that word names.
func (c *chat) completeArgument(ctx context.Context, prompt string, given []string, word string) (words []string) {
	list, _ := c.tools.List(ctx, bridge.Prompts)
	if list == nil {
		return nil
	}
	item, known := list.Find(prompt)
	if !known {
		return nil
	}
	values := map[string]string{}
	for _, g := range given {
		if key, value, ok := strings.Cut(g, "="); ok {
			values[key] = value
		}
	}
	key, value, hasValue := strings.Cut(word, "=")
	for _, a := range argumentsOf(item.Raw) {
		switch _, isGiven := values[a.Name]; {
		case hasValue && a.Name == key:
			for _, v := range c.valuesOf(ctx, map[string]string{"type": "ref/prompt", "name": prompt}, key, value, values) {
				words = append(words, key+"="+v)
			}
		case !hasValue && !isGiven:
			words = append(words, a.Name+"=")
		}
	}
	return words
}

// valuesOf asks the server of a prompt, or a resource template, for values of an argument that begin with a text.
func (c *chat) valuesOf(ctx context.Context, ref map[string]string, argument, text string, given map[string]string) []string {
	raw, err := json.Marshal(map[string]any{
		"ref":      ref,
		"argument": map[string]string{"name": argument, "value": text},
		"context":  map[string]any{"arguments": given},
	})
	if err != nil {
		return nil
	}
	params, err := wire.SplitParams(raw)
	if err != nil {
		return nil
	}
	reply := c.tools.Do(ctx, &bridge.Request{Method: wire.MethodComplete, Params: &params})
	var result struct {
		Completion struct{ Values []string }
	}
	if reply.Err == nil {
		_ = json.Unmarshal(reply.Result, &result) // of another form it offers nothing
	}
	reply.Free()
	return result.Completion.Values
}

// entriesOf returns the files and folders whose path begins with a text; a folder ends in a slash. Hidden
// ones are left out unless the text names them.
func entriesOf(text string) (paths []string) {
	folder, start := filepath.Split(text)
	f, err := os.Open(cmp.Or(folder, "."))
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(mostEntries)
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, start) && (start != "" || name[0] != '.') {
			if e.IsDir() {
				name += "/"
			}
			paths = append(paths, folder+name)
		}
	}
	slices.Sort(paths)
	return paths
}

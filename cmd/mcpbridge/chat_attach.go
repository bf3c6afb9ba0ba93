package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// usePrompt sends a prompt of a server: /prompt NAME [ARGUMENT=VALUE…]. The words that name no argument are
// together the value of the first argument that is not named.
func (c *chat) usePrompt(ctx context.Context, argument string) error {
	if !c.ready(ctx) {
		return nil
	}
	list, err := listOf(ctx, c.tools, bridge.Prompts)
	if err != nil {
		return err
	}
	name, rest, _ := strings.Cut(argument, " ")
	names := keysOf(list)
	if len(names) == 0 {
		return errors.New("no server offers a prompt")
	}
	item, known := list.Find(name)
	switch {
	case name == "":
		c.console.print(terminal.Clean(strings.Join(names, "\n")))
		return nil
	case !known:
		return fmt.Errorf("unknown prompt %s%s", hint.Quote(name), hint.DidYouMean(name, names))
	}
	arguments, err := promptArguments(item.Raw, rest)
	if err != nil {
		return fmt.Errorf("prompt %s: %w", name, err)
	}
	params, err := callParams(name, arguments)
	if err != nil {
		return err
	}
	reply := c.tools.Do(ctx, &bridge.Request{Method: wire.MethodPromptsGet, Params: params, Target: name})
	if reply.Err != nil {
		return reply.Err
	}
	parts, err := partsOfPrompt(reply.Result)
	if err != nil {
		return err
	}
	c.send(ctx, parts)
	return nil
}

// keysOf returns the names or URIs of a list.
func keysOf(list *bridge.List) []string {
	if list == nil {
		return nil
	}
	var keys []string
	for i := range list.Items {
		keys = append(keys, list.Items[i].Key)
	}
	return keys
}

// promptArgument is an argument that a prompt takes.
type promptArgument struct {
	Name     string
	Required bool
}

// argumentsOf returns the arguments of a prompt, from its definition.
func argumentsOf(definition []byte) []promptArgument {
	var prompt struct{ Arguments []promptArgument }
	_ = json.Unmarshal(definition, &prompt) // nothing else has arguments
	return prompt.Arguments
}

// promptArguments returns the arguments of a prompt as JSON.
func promptArguments(definition []byte, text string) (json.RawMessage, error) {
	taken := argumentsOf(definition)
	values := map[string]string{}
	var plain []string
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		if ok && slices.ContainsFunc(taken, func(a promptArgument) bool { return a.Name == key }) {
			values[key] = value
		} else {
			plain = append(plain, word)
		}
	}
	for _, a := range taken {
		if _, given := values[a.Name]; !given && len(plain) > 0 {
			values[a.Name], plain = strings.Join(plain, " "), nil
		}
		if _, given := values[a.Name]; !given && a.Required {
			return nil, fmt.Errorf("argument %s is missing: /prompt NAME %s=VALUE", a.Name, a.Name)
		}
	}
	if len(plain) > 0 {
		return nil, fmt.Errorf("unexpected %s: it takes no more arguments", hint.Quote(strings.Join(plain, " ")))
	}
	return json.Marshal(values)
}

// partsOfPrompt returns the messages of a prompt as parts of one message, with their roles if not all are the user's.
func partsOfPrompt(result []byte) ([]providers.Part, error) {
	var prompt struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(result, &prompt); err != nil || len(prompt.Messages) == 0 {
		return nil, errors.New("the prompt has no messages")
	}
	var parts []providers.Part
	for _, m := range prompt.Messages {
		if m.Role != "user" {
			parts = append(parts, providers.Part{Type: providers.PartText, Text: m.Role + ":\n"})
		}
		content := providers.Result{Content: &toolformat.Result{JSON: append(append([]byte(`{"content":[`), m.Content...), "]}"...)}}
		for _, b := range content.Blocks() {
			data, err := base64.StdEncoding.DecodeString(b.Data)
			switch {
			case b.Data == "":
				parts = append(parts, providers.Part{Type: providers.PartText, Text: b.Text + "\n"})
			case err != nil:
				return nil, errors.New("the data of the prompt is not base64")
			default:
				parts = append(parts, dataPart(data, b.MimeType, b.URI))
			}
		}
	}
	return parts, nil
}

// dataPart returns data as an image or a file.
func dataPart(data []byte, kind, name string) providers.Part {
	p := providers.Part{Type: providers.PartFile, Data: data, MimeType: kind, Name: name}
	if strings.HasPrefix(kind, "image/") {
		p.Type = providers.PartImage
	}
	return p
}

// mention matches @WORD at the beginning of a word.
var mention = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)@(\S+)`)
})

// mentioned returns what a line mentions: @URI or @NAME of a resource, @URI of a template, and @PATH of a file. Only what a user types on one
// line can: text that is pasted, or comes from a program, may be anyone's.
func (c *chat) mentioned(ctx context.Context, line string) ([]providers.Part, error) {
	if c.console.asker() == nil || strings.Contains(line, "\n") || !strings.Contains(line, "@") {
		return nil, nil
	}
	var parts []providers.Part
	for _, m := range mention().FindAllStringSubmatch(line, -1) {
		found, err := c.attachment(ctx, m[1])
		if err != nil {
			return nil, fmt.Errorf("@%s: %w", m[1], err)
		}
		if len(found) > 0 {
			p, _ := c.console.style()
			c.console.print(p.Dim("attached: " + terminal.Inline(m[1])))
		}
		parts = append(parts, found...)
	}
	return parts, nil
}

// attachment returns the resource or the file of a name; nil if there is neither.
func (c *chat) attachment(ctx context.Context, name string) ([]providers.Part, error) {
	list, err := listOf(ctx, c.tools, bridge.Resources)
	if err != nil {
		return nil, err
	}
	var items []bridge.Item
	if list != nil {
		items = list.Items
	}
	for i := range items {
		it := &items[i]
		if title, _ := wire.Text(wire.Lookup(it.Raw, "name")); it.Key == name || title == name {
			return c.resource(ctx, it.Key)
		}
	}
	if c.isOfTemplate(ctx, name) {
		return c.resource(ctx, name)
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	part, err := filePart(name)
	return []providers.Part{part}, err
}

// resource reads a resource.
func (c *chat) resource(ctx context.Context, uri string) ([]providers.Part, error) {
	params, err := wire.SplitParams(append(wire.AppendString([]byte(`{"uri":`), uri), '}'))
	if err != nil {
		return nil, err
	}
	reply := c.tools.Do(ctx, &bridge.Request{Method: wire.MethodResourcesRead, Params: &params, Target: uri})
	if reply.Err != nil {
		return nil, reply.Err
	}
	var resource struct {
		Contents []struct {
			URI, MimeType string
			Text          *string
			Blob          []byte
		}
	}
	if err := json.Unmarshal(reply.Result, &resource); err != nil {
		return nil, fmt.Errorf("the resource is of an unexpected form: %w", err)
	}
	var parts []providers.Part
	for _, r := range resource.Contents {
		if r.Text != nil {
			parts = append(parts, providers.Part{Type: providers.PartText, Name: r.URI, Text: fmt.Sprintf("<resource uri=%q>\n%s\n</resource>\n", r.URI, *r.Text)})
		} else {
			parts = append(parts, dataPart(r.Blob, r.MimeType, r.URI))
		}
	}
	return parts, nil
}

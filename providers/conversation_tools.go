package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// conversationTools are the tools of a conversation, opened by the first prompt. Which tools
// they are does not change after Conversation.Tools.
type conversationTools struct {
	sources     []bridge.Source
	tools       []bridge.Tool
	undescribed []string // the tools without a description

	mu     sync.Mutex // guards what follows
	loop   *Loop      // nil while closed
	native *bridge.Native
	noted  bool // open has returned its notes
}

func (t *conversationTools) empty() bool { return len(t.sources) == 0 && len(t.tools) == 0 }

// clone returns the same tools, closed, to be added to.
func (t *conversationTools) clone() *conversationTools {
	return &conversationTools{
		sources: slices.Clone(t.sources), tools: slices.Clone(t.tools), undescribed: slices.Clone(t.undescribed),
	}
}

// reservedNames are the names that a tool must not have: commands that people type in a chat.
var reservedNames = []string{"help", "exit", "quit", "print", "input"}

// addTool adds a tool, as Conversation.Tools takes it.
func (t *conversationTools) addTool(added any) error {
	var tool bridge.Tool
	var err error
	switch added := added.(type) {
	case bridge.Tool:
		tool = added
	case bridge.Source:
		t.sources = append(t.sources, added)
		return nil
	default:
		if tool, err = functionTool(added); err != nil {
			return err
		}
	}
	if slices.Contains(reservedNames, tool.Name) {
		return fmt.Errorf("tool name %q is reserved for a chat command", tool.Name)
	}
	if strings.TrimSpace(tool.Description) == "" {
		tool.Description = "Tool: " + tool.Name // as in fluent-llm
		t.undescribed = append(t.undescribed, tool.Name)
	}
	t.tools = append(t.tools, tool)
	return nil
}

// open returns the loop over the tools, and notes about them the first time.
func (t *conversationTools) open(ctx context.Context, c *Conversation) (loop *Loop, notes []string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loop != nil {
		return t.loop, nil, nil
	}
	source, err := t.source(c)
	if err != nil {
		return nil, nil, err
	}
	if t.loop, err = NewToolbox(source).Open(ctx, c.caller); err != nil {
		return nil, nil, err
	}
	c.opened.add(t)
	if !t.noted {
		for _, name := range t.undescribed {
			notes = append(notes, fmt.Sprintf("tool %s has no description: a model may not know what it is for (bridge.Func gives it one)", name))
		}
	}
	t.noted = true
	return t.loop, notes, nil
}

// source returns all tools as one source; nil if there are none.
func (t *conversationTools) source(c *Conversation) (bridge.Source, error) {
	all := slices.Clone(t.sources)
	if len(t.tools) > 0 {
		native, err := bridge.NewNative(bridge.NativeOptions{Log: c.options.Log}, t.tools...)
		if err != nil {
			return nil, err
		}
		t.native = native
		all = append(all, native)
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0], nil
	}
	prefix := ""
	members := make([]bridge.Member, len(all))
	for i, source := range all {
		members[i] = bridge.Member{Name: fmt.Sprintf("tools%d", i+1), Source: source, Prefix: &prefix}
	}
	return bridge.New(bridge.Options{Log: c.options.Log}, members...), nil
}

func (t *conversationTools) close() error {
	t.mu.Lock()
	loop, native := t.loop, t.native
	t.loop, t.native = nil, nil
	t.mu.Unlock()
	var err error
	if loop != nil {
		err = loop.Close()
	}
	if native != nil {
		err = errors.Join(err, native.Close())
	}
	return err
}

// openTools are the open tools of a conversation and of all its continuations.
type openTools struct {
	mu  sync.Mutex // guards all
	all []*conversationTools
}

func (o *openTools) add(t *conversationTools) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, t)
}

func (o *openTools) close() error {
	o.mu.Lock()
	all := o.all
	o.all = nil
	o.mu.Unlock()
	var err error
	for _, t := range all {
		err = errors.Join(err, t.close())
	}
	return err
}

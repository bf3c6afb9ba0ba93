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

// A kit is the tools of a conversation, opened when they are first needed. What it is
// made of does not change.
type kit struct {
	sources []bridge.Source
	tools   []bridge.Tool
	bare    []string // the tools that have no description

	mu      sync.Mutex // guards what follows
	session *Loop      // nil: it is not open
	native  *bridge.Native
	said    bool
}

func (k *kit) empty() bool { return len(k.sources) == 0 && len(k.tools) == 0 }

// again is a kit of the same, to be added to.
func (k *kit) again() *kit {
	return &kit{sources: slices.Clone(k.sources), tools: slices.Clone(k.tools), bare: slices.Clone(k.bare)}
}

// reserved are the names that a tool must not have: what people type in a chat.
var reserved = []string{"help", "exit", "quit", "print", "input"}

// add takes what Conversation.Tools does.
func (k *kit) add(t any) error {
	var tool bridge.Tool
	var err error
	switch t := t.(type) {
	case bridge.Tool:
		tool = t
	case bridge.Source:
		k.sources = append(k.sources, t)
		return nil
	default:
		if tool, err = functionTool(t); err != nil {
			return err
		}
	}
	if slices.Contains(reserved, tool.Name) {
		return fmt.Errorf("tool name %q is reserved: people type it in a chat", tool.Name)
	}
	if strings.TrimSpace(tool.Description) == "" {
		tool.Description = "Tool: " + tool.Name // the words of fluent-llm
		k.bare = append(k.bare, tool.Name)
	}
	k.tools = append(k.tools, tool)
	return nil
}

// open is the session of the kit, and what is to be said of its tools the first time.
func (k *kit) open(ctx context.Context, c *Conversation) (*Loop, []string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.session != nil {
		return k.session, nil, nil
	}
	source, err := k.source(c)
	if err != nil {
		return nil, nil, err
	}
	session, err := NewToolbox(source).Open(ctx, c.caller)
	if err != nil {
		return nil, nil, err
	}
	k.session = session
	c.opened.add(k)
	var notes []string
	if !k.said {
		for _, name := range k.bare {
			notes = append(notes, fmt.Sprintf("tool %s has no description: a model may not know what it is for (bridge.Func gives it one)", name))
		}
	}
	k.said = true
	return k.session, notes, nil
}

// source is all tools as one source; nil when there are none.
func (k *kit) source(c *Conversation) (bridge.Source, error) {
	all := slices.Clone(k.sources)
	if len(k.tools) > 0 {
		native, err := bridge.NewNative(bridge.NativeOptions{Log: c.options.Log}, k.tools...)
		if err != nil {
			return nil, err
		}
		k.native = native
		all = append(all, native)
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0], nil
	}
	none := ""
	members := make([]bridge.Member, len(all))
	for i, source := range all {
		members[i] = bridge.Member{Name: fmt.Sprintf("tools%d", i+1), Source: source, Prefix: &none}
	}
	return bridge.New(bridge.Options{Log: c.options.Log}, members...), nil
}

func (k *kit) close() error {
	k.mu.Lock()
	session, native := k.session, k.native
	k.session, k.native = nil, nil
	k.mu.Unlock()
	var err error
	if session != nil {
		err = session.Close()
	}
	if native != nil {
		err = errors.Join(err, native.Close())
	}
	return err
}

// openings are the kits that a conversation and its kin have opened.
type openings struct {
	mu   sync.Mutex // guards what follows
	kits []*kit
}

func (o *openings) add(k *kit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kits = append(o.kits, k)
}

func (o *openings) close() error {
	o.mu.Lock()
	kits := o.kits
	o.kits = nil
	o.mu.Unlock()
	var err error
	for _, k := range kits {
		err = errors.Join(err, k.close())
	}
	return err
}

package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// conversationTools are the tools of a conversation, opened by the first prompt. Which tools
// they are does not change after Conversation.Tools.
type conversationTools struct {
	sources []bridge.Source
	tools   []bridge.Tool

	mu          sync.Mutex // guards what follows
	loop        *Loop      // nil while closed
	native      *bridge.Native
	undescribed []string // the tools without a description of which open has returned no note
}

func (t *conversationTools) empty() bool { return len(t.sources) == 0 && len(t.tools) == 0 }

// clone returns the same tools, closed, to be added to.
func (t *conversationTools) clone() *conversationTools {
	t.mu.Lock()
	defer t.mu.Unlock()
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
	for _, name := range t.undescribed {
		notes = append(notes, fmt.Sprintf("tool %s has no description: a model may not know what it is for (bridge.Func gives it one)", name))
	}
	t.undescribed = nil
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

// closureName matches the compiler's names of anonymous functions.
var closureName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(func)?\d+$`)
})

// functionName returns a function's name without its package and type parameters.
func functionName(v reflect.Value) string {
	name := runtime.FuncForPC(v.Pointer()).Name()
	name = strings.TrimSuffix(strings.TrimSuffix(name, "-fm"), "[...]")
	return name[strings.LastIndex(name, ".")+1:]
}

// functionTool makes a tool of a Go function, as bridge.Func does for types that are known at
// compile time, and names it after the function.
func functionTool(f any) (bridge.Tool, error) {
	v := reflect.ValueOf(f)
	if f == nil || v.Kind() != reflect.Func || v.IsNil() {
		return bridge.Tool{}, fmt.Errorf("a %T is not a tool: expected a function, a bridge.Tool or a bridge.Source", f)
	}
	name, t := functionName(v), v.Type()
	if t.NumIn() != 2 || t.In(0) != reflect.TypeFor[context.Context]() || t.NumOut() != 2 || t.Out(1) != reflect.TypeFor[error]() || t.IsVariadic() {
		return bridge.Tool{}, fmt.Errorf("function %s is a %s: expected a func(context.Context, In) (Out, error)", name, t)
	}
	if closureName().MatchString(name) {
		return bridge.Tool{}, fmt.Errorf("an anonymous function is not a tool: name it with bridge.Func")
	}
	definition, err := functionDefinition(name, t)
	if err != nil {
		return bridge.Tool{}, fmt.Errorf("function %s: %w", name, err)
	}
	return bridge.FuncOf(definition, func(ctx context.Context, arguments json.RawMessage) (any, error) {
		in := reflect.New(t.In(1))
		if err := json.Unmarshal(arguments, in.Interface()); err != nil {
			return nil, fmt.Errorf("invalid arguments for tool %s: %w", name, err)
		}
		out := v.Call([]reflect.Value{reflect.ValueOf(ctx), in.Elem()})
		err, _ := out[1].Interface().(error)
		return functionResult(out[0]), err
	}), nil
}

// functionDefinition returns the definition of a tool with the schemas of a function's types.
func functionDefinition(name string, t reflect.Type) (definition toolformat.Tool, err error) {
	definition.Name = name
	in, out := t.In(1), t.Out(0)
	if definition.InputSchema, err = toolformat.ArgumentsSchema(in); err != nil {
		return definition, err
	}
	if kind, _ := wire.Text(wire.Lookup(definition.InputSchema, "type")); kind != "object" {
		return definition, fmt.Errorf("argument of type %s: expected a struct with a field for each argument", in)
	}
	if out == reflect.TypeFor[*toolformat.Result]() || out.Kind() == reflect.String {
		return definition, nil
	}
	schema, err := toolformat.ResultSchema(out)
	if err != nil {
		return definition, fmt.Errorf("result: %w", err)
	}
	if string(schema) != "{}" {
		definition.OutputSchema = schema
	}
	return definition, nil
}

// functionResult returns a function's value as bridge.FuncOf takes it: text as a string, and
// an empty slice or map for nil.
func functionResult(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Slice && v.IsNil():
		return reflect.MakeSlice(v.Type(), 0, 0).Interface()
	case v.Kind() == reflect.Map && v.IsNil():
		return reflect.MakeMap(v.Type()).Interface()
	}
	return v.Interface()
}

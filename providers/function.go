package providers

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// closureName matches the compiler's names of anonymous functions.
var closureName = regexp.MustCompile(`^(func)?\d+$`)

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
	if closureName.MatchString(name) {
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

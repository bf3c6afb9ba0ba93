package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// funcTimeout is the default timeout of a Go function.
const funcTimeout = 5 * time.Second

// Func makes a tool of a Go function. The fields of In, a struct, are its arguments, and their tags
// describe them: see toolformat.SchemaFor.
//
// The value returned becomes the tool's result: a string its text; a *toolformat.Result the result
// itself, nil an empty one; any other value structured content, with its type's schema as output
// schema, and the same as text. For errors and panics see Tool.Call. The timeout is 5 s. All fields
// of the Tool may be changed.
func Func[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) (Tool, error) {
	definition := toolformat.Tool{Name: name, Description: description}
	var err error
	if definition.InputSchema, err = toolformat.SchemaFor[In](); err != nil {
		return Tool{}, fmt.Errorf("bridge: tool %s: %w", name, err)
	}
	if kind, _ := wire.Text(wire.Lookup(definition.InputSchema, "type")); kind != "object" {
		return Tool{}, fmt.Errorf("bridge: tool %s: its arguments are a %s; they must be a struct, a field for each", name, reflect.TypeFor[In]())
	}
	if definition.OutputSchema, err = outputSchema(reflect.TypeFor[Out]()); err != nil {
		return Tool{}, fmt.Errorf("bridge: tool %s: its result: %w", name, err)
	}
	return FuncOf(definition, fn), nil
}

// FuncOf is Func with an existing definition, such as mcpbridge gen writes, whose schemas must be
// those of the types.
func FuncOf[In, Out any](definition toolformat.Tool, fn func(context.Context, In) (Out, error)) Tool {
	return Tool{Tool: definition, Timeout: funcTimeout, Call: func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
		var in In
		if err := decode(arguments, &in); err != nil {
			return toolformat.TextResult(fmt.Sprintf("invalid arguments for tool %s: %v", definition.Name, err), true), nil
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return resultOf(reflect.ValueOf(&out).Elem(), definition.OutputSchema != nil)
	}}
}

// outputSchema returns the schema of a function's result; nil for text and for any value.
func outputSchema(out reflect.Type) (json.RawMessage, error) {
	if out == reflect.TypeFor[*toolformat.Result]() || out.Kind() == reflect.String {
		return nil, nil
	}
	schema, err := toolformat.ResultSchema(out)
	if err != nil || string(schema) == "{}" {
		return nil, err
	}
	return schema, nil
}

// decode decodes arguments. Its errors are for the model.
func decode(arguments json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("%s: expected %s, got %s", wrong.Field, wrong.Type, wrong.Value)
	}
	return err
}

// resultOf returns the result for a function's value, which must be addressable for encoding/json
// to call methods of its pointer. A value other than an object is structured content only with an output schema.
func resultOf(out reflect.Value, hasOutput bool) (*toolformat.Result, error) {
	switch v := out.Interface().(type) {
	case nil:
		return nil, nil
	case *toolformat.Result:
		return v, nil
	case string:
		return toolformat.TextResult(v, false), nil
	}
	if out.Kind() == reflect.String {
		return toolformat.TextResult(out.String(), false), nil
	}
	raw, err := encode(out)
	if err != nil {
		return nil, toolformat.AsError(err)
	}
	if !hasOutput && raw[0] != '{' {
		return toolformat.TextResult(string(raw), false), nil
	}
	b := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), string(raw))
	b = append(append(b, `}],"structuredContent":`...), raw...)
	return &toolformat.Result{JSON: append(b, '}')}, nil
}

// encode encodes a result. A nil root becomes an empty one, since an output schema requires
// structured content.
func encode(out reflect.Value) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out.Addr().Interface()); err != nil {
		return nil, err
	}
	raw := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if string(raw) != "null" {
		return raw, nil
	}
	switch out.Kind() {
	case reflect.Slice:
		return []byte("[]"), nil
	case reflect.Map:
		return []byte("{}"), nil
	}
	return nil, fmt.Errorf("the function returned a nil %s without an error", out.Type())
}

package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An AnswerFormat makes a model answer in JSON.
//
// Each provider maps it to what its API has. Where that has nothing, or has it not beside tools, or
// refuses the schema, the loop asks for the answer by a tool that the model must call, and a model
// that cannot call any is told in words. Such answers are held back, checked and asked for once more, too;
// a text that is wrong again is the answer, with a note.
type AnswerFormat struct {
	Schema      json.RawMessage // JSON Schema of the answer; nil means any object
	Name        string          // of the schema
	Description string          // of the schema; may be ""
	Strict      *bool           // whether the schema must hold to the letter; nil means false

	// Checked holds the answer back until it is whole. One that does not follow the schema is
	// asked for once more; another one is an error with the type invalid_answer.
	Checked bool
}

// ErrNoAnswer is the error of a model that cannot be held to an AnswerFormat. It comes with ErrNoTools
// from a model that cannot be held to call a tool either.
var ErrNoAnswer = errors.New("the model has no structured answers, or none beside tools")

// schema returns the schema of the answer.
func (f *AnswerFormat) schema() json.RawMessage {
	if f.Schema == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return f.Schema
}

// PromptFor is Conversation.Prompt for an answer of a type, by the schema that
// toolformat.ResultSchema makes of it.
func PromptFor[T any](ctx context.Context, c *Conversation, text string) (answer T, next *Conversation, err error) {
	schema, err := toolformat.ResultSchema(reflect.TypeFor[T]())
	if err != nil {
		return answer, c, fmt.Errorf("an answer of type %s: %w", reflect.TypeFor[T](), err)
	}
	kind, _ := wire.Text(wire.Lookup(schema, "type"))
	if kind != "object" { // no API takes another root
		schema = fmt.Appendf(nil, `{"type":"object","properties":{"value":%s},"required":["value"],"additionalProperties":false}`, schema)
	}
	before := c.settings
	asks := before
	asks.Answer = &AnswerFormat{Schema: schema, Checked: true}
	_, next, err = c.Settings(asks).Prompt(ctx, text)
	next = next.Settings(before)
	if err != nil {
		return answer, next, err
	}
	if next.run.Stop != StopEnd {
		return answer, next, fmt.Errorf("no answer: the run ended with %s", next.run.Stop)
	}
	raw := json.RawMessage(next.run.Text)
	if kind != "object" {
		raw = wire.Lookup(raw, "value")
	}
	return answer, next, json.Unmarshal(raw, &answer)
}

// jsonIn returns the JSON value that a text consists of, perhaps in a block of code or within prose;
// nil if it has none.
func jsonIn(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	begin, end := strings.IndexAny(text, "{["), strings.LastIndexAny(text, "}]")
	if begin < 0 || end < begin {
		return nil
	}
	if within := []byte(text[begin : end+1]); json.Valid(within) {
		return bytes.TrimSpace(within)
	}
	return nil
}

package providers

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An answering makes the model of a run answer in a format. A nil answering does nothing.
type answering struct {
	format   *AnswerFormat
	way      answerWay
	tool     string // the name of the tool, if that is the way
	checker  *toolformat.Checker
	repaired bool // a wrong answer was asked for again
}

// An answerWay is how the model is made to answer. Each way is tried when the one before it fails.
type answerWay int

const (
	answerNatively answerWay = iota // as its provider has it
	answerByTool                    // the answer is the arguments of a tool
	answerInWords                   // the system prompt says it
)

func (a *answering) is(way answerWay) bool { return a != nil && a.way == way }

// checks reports whether answers are held back and checked.
func (a *answering) checks() bool { return a != nil && (a.way != answerNatively || a.format.Checked) }

// holds reports whether an event of a turn is held back: takeAnswer tells of the whole answer.
func (a *answering) holds(e *Event) bool {
	return a.checks() && (e.Type == EventTextDelta || e.Type == EventArgumentsDelta && a.isCall(e.Call))
}

// tellHeld emits the text of a turn that ends the run without an answer, such as a refusal, if it was held back and need
// not be an answer.
func (r *runner) tellHeld(m *Message) {
	if text := m.Text(); r.answer.checks() && !r.answer.format.Checked && text != "" {
		r.emit(Event{Type: EventTextDelta, Text: text})
	}
}

// isCall reports whether a call is the answer.
func (a *answering) isCall(c *Call) bool { return a.is(answerByTool) && c.Name == a.tool }

// isOnly reports whether calls are the answer and nothing else.
func (a *answering) isOnly(calls []*Call) bool { return len(calls) == 1 && a.isCall(calls[0]) }

// formatRefused matches errors about the format of answers: of OpenAI and its imitators, Anthropic,
// Gemini and Ollama.
var formatRefused = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)response_?format|output_(config|format)|json_schema|json_object|text\.format|structured[ _-]?output|response[ _]?(json[ _]?)?schema|response[ _]?mime[ _]?type|invalid JSON schema in format`)
})

// refused reports whether an error means that the answer must be asked for in another way.
func (a *answering) refused(err error) bool {
	var e *APIError
	switch {
	case !a.is(answerNatively):
		return false
	case errors.Is(err, ErrNoAnswer):
		return true
	}
	return errors.As(err, &e) && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) &&
		formatRefused().MatchString(e.Code+" "+e.Message)
}

// answerOtherwise continues with the next way to get an answer in a format.
func (r *runner) answerOtherwise(err error) error {
	a := r.answer
	a.way = answerByTool
	kind, _ := wire.Text(wire.Lookup(a.format.schema(), "type"))
	if errors.Is(err, ErrNoTools) || r.toolless || r.task.NoTools || kind != "object" { // the arguments of a tool are an object
		a.way = answerInWords
	}
	r.offerTools()
	return a.compile()
}

// compile makes the checker of the answer.
func (a *answering) compile() (err error) {
	if a.checker == nil {
		if a.checker, _, err = toolformat.NewChecker(a.format.schema()); err != nil {
			return toolformat.Errorf(toolformat.Invalid, "response_format: the schema is not valid: %v", err)
		}
	}
	return nil
}

// offeredIn returns a set of tools with that for the answer as the last one.
func (a *answering) offeredIn(set *ToolSet) *ToolSet {
	for a.tool = "final_answer"; set.Find(a.tool) != nil; {
		a.tool += "_"
	}
	about := "Gives the final answer to the user's request."
	if a.format.Description != "" {
		about += " " + a.format.Description
	}
	return merge(set, NewToolSet([]toolformat.Tool{{Name: a.tool, Description: about, InputSchema: a.format.schema()}}))
}

// ask makes a request ask for the answer. With last it is the last turn. A model that thinks cannot be
// forced to call a tool (Anthropic: "Thinking may not be enabled when tool_choice forces tool use").
func (a *answering) ask(req *Request, last bool) {
	words := ""
	switch a.way {
	case answerNatively:
		return
	case answerByTool:
		words = "When you have the answer, call the tool " + a.tool + " with it, once and alone. Do not answer in text."
		s := &req.Settings
		kind, _ := wire.Text(wire.Lookup(s.Body, "thinking", "type")) // as a client of Anthropic's API sends it
		switch thinks := s.Effort != "" && s.Effort != "none" || s.Thinking > 0 || s.Thinking == ThinkingOn || kind != "" && kind != "disabled"; {
		case thinks && req.Choice == ChoiceNone:
			req.Choice = ChoiceAuto
		case thinks:
		case last || len(req.Tools.Tools()) == 1 || req.Choice == ChoiceNone:
			req.Choice = Choice(a.tool)
		case req.Choice == ChoiceAuto:
			req.Choice = ChoiceRequired
		}
	case answerInWords:
		words = "Your final answer must be only a JSON value, without any other text and without a block of code. It must follow this JSON Schema:\n" + string(a.format.schema())
	}
	if req.System != "" {
		words = req.System + "\n\n" + words
	}
	req.System, req.Settings.Answer = words, nil
}

// takeAnswer adds the message of a turn to the conversation. It reports false if the run goes on, since the
// answer is wrong; then the model is asked once more.
func (r *runner) takeAnswer(m *Message, calls []*Call) (done bool, err error) {
	a := r.answer
	if !a.checks() || len(calls) > 0 && !a.isOnly(calls) {
		r.addMessage(*m)
		return true, nil
	}
	raw, wrong := a.read(r, m, calls)
	switch {
	case wrong == nil:
		if text := string(raw); len(calls) > 0 || text != m.Text() {
			m = &Message{Role: RoleAssistant, Parts: []Part{{Type: PartText, Text: text}}}
		}
		r.emit(Event{Type: EventTextDelta, Text: string(raw)})
		r.addMessage(*m)
		return true, nil
	case a.repaired && !a.format.Checked && m.Text() != "": // as of a provider that does not hold its models to a schema
		r.note("the answer does not follow the schema: %v", wrong)
		r.emit(Event{Type: EventTextDelta, Text: m.Text()})
		r.addMessage(textOnly(m))
		return true, nil
	case a.repaired:
		r.addMessage(textOnly(m))
		return false, &APIError{Status: http.StatusOK, Type: "invalid_answer", Message: "the model's answer does not follow the schema: " + wrong.Error()}
	}
	a.repaired = true
	r.note("the answer does not follow the schema, and is asked for again: %v", wrong)
	r.addMessage(*m)
	if len(calls) > 0 {
		r.addMessage(Message{Role: RoleTool, Parts: []Part{resultPart(calls[0], failed(wrong.Error()))}})
	} else {
		r.addMessage(UserText("This is not the answer in the form that was asked for: " + wrong.Error() + "\nAnswer again, with only the JSON."))
	}
	return false, nil
}

// read returns the answer in a turn; wrong says what is wrong with it, for the model.
func (a *answering) read(r *runner, m *Message, calls []*Call) (raw json.RawMessage, wrong error) {
	if len(calls) > 0 {
		return r.set.Arguments(r.provider.Format(), calls[0])
	}
	if raw = jsonIn(m.Text()); raw == nil {
		return nil, errors.New("it is not JSON")
	}
	return raw, a.checker.Check(raw)
}

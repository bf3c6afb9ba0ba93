package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/internal/rounds"
	"github.com/mcpbridge/mcpbridge/bridge/internal/spell"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// ask carries out a request if a person approves it, or has approved the call that it goes on with.
func (s *session) ask(ctx context.Context, req *bridge.Request, c *Call, known *known, ruling Ruling) bridge.Reply {
	model := req.Model // the request is not to be kept
	vet := func(arguments []byte) error { return s.vet(known, model, arguments) }
	call, goesOn := s.opts.Desk.asking.Take(s.caller, req)
	if !goesOn || call.Known.rule != ruling.Rule || call.Known.server != known.server() {
		a := Approval{
			Principal: s.caller.Principal.Name, Client: clientName(s.caller), Model: model, Method: req.Method, Server: known.server(), Target: c.Target,
			Arguments: bytes.Clone(c.Arguments), Rule: ruling.Rule, Reason: ruling.Reason, Edit: ruling.Edit,
		}
		answer, by, failed := s.answer(ctx, req, a, vet)
		if failed.Err != nil {
			return failed
		}
		call = rounds.Call[approved]{Known: approved{answer, by, a.Rule, a.Server}}
	}
	asked, answer, by := req, call.Known.Answer, call.Known.by
	if !answer.Approve {
		return denied(ruling.Rule, answer.Note, by)
	}
	if answer.Arguments != nil {
		var err error
		if req, err = edit(req, answer.Arguments); err != nil {
			return bridge.Failed(toolformat.AsError(err))
		}
		edited := known.call(s.caller, model, match.Arguments(req)) // of another client than that which has asked, perhaps
		if r := known.decide(&edited); r.Verdict == Deny {
			return denied(r.Rule, r.Reason, "")
		}
		if err := vet(answer.Arguments); err != nil { // they may have been set where nobody could know
			return denied("", err.Error(), by)
		}
	}
	if stopped := s.opts.Desk.stopped.Load(); stopped != nil { // meanwhile
		return stopped.refusal()
	}
	reply := s.run(ctx, req, &bridge.Decision{Verdict: string(Allow), Rule: ruling.Rule, By: by})
	switch {
	case rounds.Asks(&reply):
		if len(answer.Arguments) <= maxEnded {
			s.opts.Desk.asking.Keep(s.caller, asked, &reply, call)
		}
	case answer.Arguments != nil && reply.Err == nil:
		reply.Result = noted(reply.Result, answer)
	}
	return reply
}

// approved is a person's word about a call, and the rule that wants it for a server.
type approved struct {
	Answer
	by, rule, server string
}

// answer waits for the answer about an Approval. Without one the reply says why.
func (s *session) answer(ctx context.Context, req *bridge.Request, a Approval, vet func([]byte) error) (answer Answer, by string, failed bridge.Reply) {
	for {
		if stopped := s.opts.Desk.stopped.Load(); stopped != nil { // meanwhile
			return answer, "", stopped.refusal()
		}
		r, fault := s.opts.Desk.ask(ctx, a, vet)
		if fault != nil {
			return answer, "", bridge.Failed(fault)
		}
		s.wait(ctx, req, r)
		answer, by, found, err := s.opts.Desk.use(r)
		switch {
		case ctx.Err() != nil && (err != nil || !found):
			ended := toolformat.Errorf(toolformat.Canceled, "canceled")
			ended.NotRun = true
			return answer, "", bridge.Failed(ended)
		case err == errUndecided:
			return answer, "", s.undecided(r)
		case err != nil:
			return answer, "", bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "%v", err))
		case found:
			return answer, by, failed
		}
	}
}

// edit returns a request with other arguments.
func edit(req *bridge.Request, arguments []byte) (*bridge.Request, error) {
	before := cmp.Or(req.Params, &wire.Params{})
	params, err := wire.SplitParams(before.Append(nil, append(slices.Clip(req.Edits), wire.Edit{Key: wire.Arguments, Value: arguments})...))
	own := *req
	own.Params, own.Edits, own.Take = &params, nil, nil
	return &own, err
}

// vet returns why a call cannot have arguments that a person has set.
func (s *session) vet(known *known, model string, arguments []byte) error {
	c := known.call(s.caller, model, arguments)
	if r := known.decide(&c); r.Verdict == Deny {
		return errors.New(denied(r.Rule, r.Reason, "").Err.Message)
	}
	if s.opts.Vet == nil || c.Item == nil {
		return nil
	}
	return s.opts.Vet(c.Item, arguments)
}

// noted returns a tool's result that says with which arguments it ran.
func noted(result []byte, answer Answer) []byte {
	text := "[run with arguments that the person who approved it has changed: " + string(answer.Arguments) + "]"
	if answer.Note != "" {
		text += " [" + answer.Note + "]"
	}
	block := wire.SetMember([]byte(`{"type":"text"}`), "text", wire.AppendString(nil, text))
	content := []byte{'['}
	for own := range wire.Elements(wire.Lookup(result, "content")) {
		content = append(append(content, own...), ',')
	}
	return wire.SetMember(bytes.Clone(result), "content", append(append(content, block...), ']'))
}

// undecided is the reply to a call that has waited for too long. A model reads it.
func (s *session) undecided(r *request) bridge.Reply {
	var e *toolformat.Error
	switch left := time.Until(r.until); {
	case s.opts.Desk.options().Alone:
		e = toolformat.Errorf(toolformat.Denied, "%s has not run: a person has to approve it (%s), and nobody can be asked here: call it at a terminal, with a client that shows forms, or through mcpbridge serve", r.Target, r.Rule)
	case left <= 0:
		e = toolformat.Errorf(toolformat.Denied, "%s has not run: a person has to approve it (%s), who has not decided in time: make the call again to ask once more", r.Target, r.Rule)
	default:
		e = toolformat.Errorf(toolformat.Denied, "%s has not run: a person has to approve it, who has not decided yet (approval %s, %s). Ask the user to decide (%s), and then make exactly the same call again, within %s",
			r.Target, r.ID, r.Rule, s.opts.Where(r.ID), spell.Duration(left))
	}
	reply := bridge.Failed(e)
	reply.Decision = &bridge.Decision{Verdict: string(Ask), Rule: r.Rule}
	return reply
}

// progressTime is how often a client is told that its call still waits.
const progressTime = 10 * time.Second

// wait waits for the answer to a request, while the client is asked for it if it can be. It returns early
// when ctx ends or the client has waited for long enough.
func (s *session) wait(ctx context.Context, req *bridge.Request, r *request) {
	if r.isDecided() { // since the last time that the call was made
		return
	}
	asking, cancel := context.WithCancel(ctx)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		s.askClient(asking, req, r)
	}()
	defer func() {
		cancel()
		<-asked
	}()
	expired := time.NewTimer(time.Until(r.until))
	defer expired.Stop()
	tick := time.NewTicker(progressTime)
	defer tick.Stop()
	var late <-chan time.Time
	unasked := asked
	for n := 1; ; {
		select {
		case <-r.decided:
			return
		case <-ctx.Done():
			return
		case <-expired.C:
			return
		case <-late:
			return
		case <-unasked: // the client cannot be asked, or its user has not decided
			if s.opts.Desk.options().Alone {
				return
			}
			timer := time.NewTimer(s.opts.Wait)
			defer timer.Stop()
			late, unasked = timer.C, nil
		case <-tick.C:
			s.progress(req, r, n)
			n++
		}
	}
}

// progress tells the client of a request that it still waits, so that the client does too.
func (s *session) progress(req *bridge.Request, r *request, n int) {
	if req.Back == nil || req.Params == nil {
		return
	}
	token := req.Params.Get(wire.MetaProgressToken)
	if token == nil {
		return
	}
	params := wire.SetMember([]byte(fmt.Sprintf(`{"progress":%d}`, n)), "progressToken", token)
	req.Back.Notify(wire.NotificationProgress, wire.SetMember(params, "message", wire.AppendString(nil, "waiting for approval "+r.ID)))
}

// askClient asks the person at the client, if that can show a form, and puts the answer on the desk. Of equal
// calls that wait one asks at a time, as one answer is enough to deny them all.
func (s *session) askClient(ctx context.Context, req *bridge.Request, r *request) {
	elicitation := wire.Lookup(s.caller.Capabilities, "elicitation")
	byURL, byForm := wire.Lookup(elicitation, "url") != nil, wire.Lookup(elicitation, "form") != nil
	ask := s.caller.Ask
	if req.Back != nil {
		ask = req.Back.Ask
	}
	if elicitation == nil || byURL && !byForm || ask == nil {
		s.askHere(ctx, r)
		return
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return
	}
	a := s.opts.Desk.now(r)
	if r.isDecided() {
		return
	}
	answer, fault := ask(ctx, wire.MethodElicit, question(&a))
	if fault != nil || ctx.Err() != nil {
		return
	}
	if own, decided := read(answer, a.Edit, a.Arguments); decided {
		by := "the user of " + s.caller.Principal.Name
		if s.caller.Principal.Name == "" {
			by = "the user"
		}
		s.decide(ctx, r, own, by)
	}
}

// decide puts an answer on the desk, unless somebody else was faster. One with arguments that cannot be sent denies.
func (s *session) decide(ctx context.Context, r *request, answer Answer, by string) {
	for {
		a, err := s.opts.Desk.Decide(r.ID, answer, by)
		if err == nil || a.State != Pending {
			return
		}
		if wrong := (*argumentsError)(nil); errors.As(err, &wrong) {
			answer = Answer{Note: err.Error()}
			continue
		}
		select { // the Book is away
		case <-time.After(againTime):
		case <-ctx.Done():
			return
		}
	}
}

// againTime is after how long an answer is put on the desk again.
const againTime = 500 * time.Millisecond

// askHere asks the person who runs this program, if there is one, and puts the answer on the desk.
func (s *session) askHere(ctx context.Context, r *request) {
	if here := s.opts.Desk.options().Here; here != nil {
		if own, decided := here(ctx, s.opts.Desk.now(r)); decided {
			s.decide(ctx, r, own, "the user")
		}
	}
}

// The form's properties.
const formDecision, formReason, formArguments = "decision", "reason", "arguments"

// question returns the params of the elicitation about an Approval, in which nothing is hidden from the person.
func question(a *Approval) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s", a.Target)
	if a.Server != "" {
		fmt.Fprintf(&b, " of %s", a.Server)
	}
	if len(a.Arguments) > 0 {
		var shown bytes.Buffer
		if json.Indent(&shown, a.Arguments, "", "  ") != nil {
			shown.Write(a.Arguments)
		}
		fmt.Fprintf(&b, " with these arguments?\n\n%s", shown.String())
	} else {
		b.WriteString("?")
	}
	if a.Reason != "" {
		b.WriteString("\n\n" + a.Reason)
	}
	properties := `{"` + formDecision + `":{"type":"string","title":"Decision","enum":["allow","deny"]},"` + formReason + `":{"type":"string","title":"Reason","description":"what the model is told (may be empty)"}`
	if a.Edit {
		properties += `,"` + formArguments + `":{"type":"string","title":"Arguments","description":"JSON, to change what is sent (may be empty)"}`
	}
	params := []byte(`{"requestedSchema":{"type":"object","properties":` + properties + `},"required":["` + formDecision + `"]}}`)
	message, _ := toolformat.Visible(b.String())
	return wire.SetMember(params, "message", wire.AppendString(nil, message))
}

// read reads the answer to a question. One that was put aside decides nothing.
func read(result []byte, edit bool, arguments []byte) (a Answer, decided bool) {
	switch action, _ := wire.Text(wire.Lookup(result, "action")); action {
	case "decline":
		return Answer{}, true
	case "accept":
	default:
		return Answer{}, false
	}
	a.Note, _ = wire.Text(wire.Lookup(result, "content", formReason))
	decision, _ := wire.Text(wire.Lookup(result, "content", formDecision))
	a.Approve = decision == "allow"
	if changed, _ := wire.Text(wire.Lookup(result, "content", formArguments)); edit && strings.TrimSpace(changed) != "" {
		if !isObject([]byte(changed)) || !bytes.Equal(spelled([]byte(changed)), spelled(arguments)) {
			a.Arguments = json.RawMessage(changed)
		}
	}
	return a, true
}

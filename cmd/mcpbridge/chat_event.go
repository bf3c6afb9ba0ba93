package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/markdown"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The sections of a chat's screen.
const (
	secText terminal.Section = iota + 1
	secThinking
	secCalls
	secNotes
)

// A callScreen shows the events of answers. Its maps are used only within updates of the screen.
type callScreen struct {
	*terminal.Screen
	answer   markdown.Stream
	edited   map[string]terminal.Title // calls that run with edited arguments, by ID
	asked    map[string]bool           // calls that needed approval, by ID
	verdicts map[string]string         // "denied" by the IDs of denied calls
	last     providers.Event           // the usage of the last turn
}

func newCallScreen(s *terminal.Screen) *callScreen {
	c := &callScreen{Screen: s, answer: markdown.Stream{Colors: bool(s.Paint)}}
	c.forget()
	return c
}

func (s *callScreen) forget() {
	s.edited, s.asked, s.verdicts = map[string]terminal.Title{}, map[string]bool{}, map[string]string{}
}

func (s *callScreen) event(e providers.Event) {
	s.Update(func(p *terminal.Printer) {
		if e.Type != providers.EventTextDelta && e.Type != providers.EventUsage {
			s.endAnswer(p)
		}
		switch e.Type {
		case providers.EventTurnStart:
			p.Pause(secCalls)
			p.Wait("waiting for the model", s.Now())
		case providers.EventTextDelta:
			p.Clear()
			lines, pending := s.answer.Add(terminal.Clean(e.Text), s.Columns())
			p.Draft(secText, lines, pending)
		case providers.EventThinkingDelta:
			p.Clear()
			p.Stream(secThinking, e.Text, s.Paint.Dim)
		case providers.EventArgumentsDelta:
			p.Pause(secCalls)
			writeCall(p, &e)
		case providers.EventToolCall:
			p.Clear()
		case providers.EventApproval:
			s.decided(p, &e)
		case providers.EventToolStart:
			p.Pause(secCalls)
			p.Add(&terminal.Task{ID: e.Call.ID, Title: s.title(e.Call), Begun: s.Now()})
		case providers.EventToolProgress:
			if t := p.Find(e.Call.ID); t != nil {
				t.Note = progressWords(&e)
			}
		case providers.EventToolResult:
			s.result(p, &e)
		case providers.EventRetry:
			s.remark(p, fmt.Sprintf("retrying in %s: %s", terminal.Duration(e.After), terminal.Inline(e.Text)))
			p.Wait("waiting for the model", s.Now())
		case providers.EventNote:
			s.remark(p, terminal.Inline(e.Text))
		case providers.EventDone:
			s.remark(p, costs(&e, &s.last))
		case providers.EventUsage:
			s.last = e
		case providers.EventThinkingEnd, providers.EventError: // the latter is shown at the end of the answer
		}
	})
}

// endAnswer prints what is left of the model's text.
func (s *callScreen) endAnswer(p *terminal.Printer) {
	if left := s.answer.End(s.Columns()); len(left) > 0 {
		p.Draft(secText, left, nil)
	}
}

// writeCall shows a call that the model is still writing.
func writeCall(p *terminal.Printer, e *providers.Event) {
	t := p.Find(e.Call.ID)
	if t == nil {
		t = &terminal.Task{ID: e.Call.ID, Title: terminal.Title{Name: terminal.Inline(e.Call.Name)}}
		p.Add(t)
	}
	if len(t.Title.Detail) < maxTitle {
		t.Title.Detail += e.Text
	}
}

// maxTitle bounds the arguments of a call in its title, in bytes.
const maxTitle = 2000

func titleOf(call *providers.Call) terminal.Title {
	arguments := call.Arguments[:min(len(call.Arguments), maxTitle)]
	return terminal.Title{Name: terminal.Inline(call.Name), Detail: string(arguments)}
}

// title returns the title of a call as it runs, with the user's edits.
func (s *callScreen) title(call *providers.Call) terminal.Title {
	if t, ok := s.edited[call.ID]; ok {
		return t
	}
	return titleOf(call)
}

func progressWords(e *providers.Event) string {
	text := terminal.Inline(e.Text)
	number := ""
	switch {
	case e.Total > 0:
		number = fmt.Sprintf("%.0f%%", min(100, 100*e.Progress/e.Total))
	case text == "":
		number = fmt.Sprintf("%g", e.Progress)
	}
	return strings.TrimSpace(number + " " + text)
}

func (s *callScreen) remark(p *terminal.Printer, text string) {
	p.Wait("", s.Now())
	p.Line(secNotes, s.Paint.Dim(strings.Join(terminal.Wrap(text, s.Columns()), "\n")))
}

// decided notes a decision other than to run the call unchanged.
func (s *callScreen) decided(p *terminal.Printer, e *providers.Event) {
	switch e.Decision {
	case providers.VerdictDeny:
		s.verdicts[e.Call.ID] = "denied"
	case providers.VerdictEdit:
		s.edited[e.Call.ID] = titleOf(e.Call)
	case providers.VerdictDefer:
		p.Line(secCalls, s.title(e.Call).Line(s.Paint, "…", "deferred: /decide", s.Columns()))
	}
}

// maxFailure bounds the rows of a failure that are shown.
const maxFailure = 3

// result shows a call that has ended.
func (s *callScreen) result(p *terminal.Printer, e *providers.Event) {
	p.Remove(e.Call.ID)
	columns := s.Columns()
	mark, more := s.Paint.Green("✓"), terminal.Duration(e.Took)
	failed := e.Result.Content.IsError()
	if failed {
		mark = s.Paint.Red("✗")
	}
	verdict := s.verdicts[e.Call.ID]
	if e.Took == 0 {
		more = verdict
	}
	p.Line(secCalls, s.title(e.Call).Line(s.Paint, mark, more, columns))
	if !failed || verdict != "" && s.asked[e.Call.ID] { // the user has denied it
		return
	}
	for i, row := range terminal.Wrap(terminal.Clean(e.Result.Text(false)), columns-2) {
		if i == maxFailure {
			p.Line(secCalls, s.Paint.Dim("  /expand shows all"))
			return
		}
		p.Line(secCalls, "  "+s.Paint.Red(terminal.Fit(row, columns-2)))
	}
}

// costs returns the note on what a run cost, how much of the model's context window its last turn fills, and which
// model that was of if another had failed.
func costs(e, last *providers.Event) string {
	turns, u := number(e.Turns, "turn"), &e.Usage
	if u.Input+u.Output == 0 {
		return turns
	}
	text := fmt.Sprintf("%s, %d tokens read", turns, u.Input)
	if u.Cached > 0 {
		text += fmt.Sprintf(" (%d cached)", u.Cached)
	}
	text += fmt.Sprintf(", %d written", u.Output)
	if u.Cost > 0 {
		text += ", " + dollars(u.Cost)
	}
	if last.Window > 0 {
		text += fmt.Sprintf(", window %.0f%% full", 100*float64(last.Usage.Input+last.Usage.Output)/float64(last.Window))
	}
	if last.Model != "" {
		text += ", by " + terminal.Inline(last.Model)
	}
	return text
}

// dollars returns an amount with at least two digits that say something.
func dollars(f float64) string {
	digits := 2
	for limit := 0.1; f < limit && digits < 6; limit /= 10 {
		digits++
	}
	return fmt.Sprintf("$%.*f", digits, f)
}

// question shows a call that needs approval.
func (s *callScreen) question(q *providers.Question) {
	call, columns := q.Call, s.Columns()
	s.Update(func(p *terminal.Printer) {
		s.asked[call.ID] = true
		p.Line(terminal.Alone, s.Paint.Magenta("? ")+s.Paint.Bold(terminal.Inline(call.Name))+summary(s.Paint, q.Tool, columns)+
			indent(readable(call.Arguments, columns-2), columns))
		if q.Reason != "" {
			p.Line(terminal.Alone, s.Paint.Dim("  "+strings.Join(terminal.Wrap(terminal.Clean(q.Reason), columns-2), "\n  ")))
		}
	})
}

// summary returns the first line of a tool's description, cut to the width.
func summary(p terminal.Paint, tool *toolformat.Tool, columns int) string {
	if tool == nil {
		return ""
	}
	about, _, _ := strings.Cut(strings.TrimSpace(terminal.Clean(tool.Description)), "\n")
	if about == "" {
		return ""
	}
	return "\n" + p.Dim("  "+terminal.Fit(terminal.Inline(about), columns-2))
}

// readable returns all arguments, on one line if they fit.
func readable(arguments json.RawMessage, columns int) string {
	line := terminal.VisibleJSON(arguments)
	var b bytes.Buffer
	if uniseg.StringWidth(line) <= columns || json.Indent(&b, []byte(line), "", "  ") != nil {
		return line
	}
	return b.String()
}

// indent indents a text, and breaks lines that would exceed the width.
func indent(s string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		for {
			piece := terminal.Head(line, max(4, columns-2)) // no character is wider than 4
			b.WriteString("\n  " + piece)
			if line = line[len(piece):]; line == "" {
				break
			}
		}
	}
	return b.String()
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// event shows an event of an answer.
func (s *screen) event(e providers.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(func(b *strings.Builder) {
		switch e.Type {
		case providers.EventTurnStart:
			s.pause(b)
			s.wait("waiting for the model")
		case providers.EventTextDelta:
			s.stream(b, secText, e.Text)
		case providers.EventThinkingDelta:
			s.stream(b, secThinking, e.Text)
		case providers.EventArgumentsDelta:
			s.pause(b)
			s.live.write(&e)
		case providers.EventToolCall:
			s.live.calls, s.live.waiting = nil, ""
		case providers.EventApproval:
			s.decided(b, &e)
		case providers.EventToolStart:
			s.enter(b, secCalls)
			s.live.calls = append(s.live.calls, &running{id: e.Call.ID, title: s.title(e.Call), begun: s.now()})
		case providers.EventToolProgress:
			if r := s.live.find(e.Call.ID); r != nil {
				r.note = progressWords(&e)
			}
		case providers.EventToolResult:
			s.result(b, &e)
		case providers.EventRetry:
			s.remark(b, fmt.Sprintf("asks again in %s: %s", span(e.After), inline(e.Text)))
			s.wait("waiting for the model")
		case providers.EventNote:
			s.remark(b, inline(e.Text))
		case providers.EventDone:
			s.remark(b, costs(&e))
		case providers.EventError, providers.EventUsage: // the end of the answer tells
		}
	})
}

// title is a call as it runs, which may be with other arguments than the model's.
func (s *screen) title(call *providers.Call) title {
	if t, ok := s.edited[call.ID]; ok {
		return t
	}
	return titleOf(call)
}

// pause ends what stands above live lines.
func (s *screen) pause(b *strings.Builder) {
	if s.at != secCalls {
		s.leave(b)
	}
}

// wait shows what is waited for, until something comes.
func (s *screen) wait(what string) { s.live.waiting, s.live.since = what, s.now() }

func (s *screen) stream(b *strings.Builder, to section, text string) {
	s.live.calls, s.live.waiting = nil, ""
	s.enter(b, to)
	s.flow.add(clean(text))
	s.pour(b)
}

func (s *screen) remark(b *strings.Builder, text string) {
	s.live.waiting = ""
	s.enter(b, secNotes)
	s.line(b, s.paint.dim(text))
}

// decided shows what becomes of a call that does not run as it was made.
func (s *screen) decided(b *strings.Builder, e *providers.Event) {
	switch e.Decision {
	case string(providers.VerdictDeny):
		s.fates[e.Call.ID] = "denied"
	case string(providers.VerdictEdit):
		s.edited[e.Call.ID] = titleOf(e.Call)
	case string(providers.VerdictDefer):
		s.enter(b, secCalls)
		s.line(b, s.title(e.Call).line(s.paint, "…", "waits: /decide", s.columns()))
	}
}

// maxFailure is how many rows of a failure are shown.
const maxFailure = 3

// result shows a call that has ended.
func (s *screen) result(b *strings.Builder, e *providers.Event) {
	s.enter(b, secCalls)
	s.live.end(e.Call.ID)
	columns := s.columns()
	mark, more := s.paint.green("✓"), span(e.Took)
	failed := e.Result.Content.IsError()
	if failed {
		mark = s.paint.red("✗")
	}
	fate := s.fates[e.Call.ID]
	if e.Took == 0 {
		more = fate
	}
	s.line(b, s.title(e.Call).line(s.paint, mark, more, columns))
	if !failed || fate != "" && s.asked[e.Call.ID] { // whoever said no knows
		return
	}
	for i, row := range broken(clean(e.Result.Text(false)), columns-2) {
		if i == maxFailure {
			s.line(b, s.paint.dim("  /expand shows all"))
			return
		}
		s.line(b, "  "+s.paint.red(fit(row, columns-2)))
	}
}

// costs are what an answer cost.
func costs(e *providers.Event) string {
	turns := "1 turn"
	if e.Turns != 1 {
		turns = fmt.Sprintf("%d turns", e.Turns)
	}
	if e.Usage.Input+e.Usage.Output == 0 {
		return turns
	}
	return fmt.Sprintf("%s, %d tokens read, %d written", turns, e.Usage.Input, e.Usage.Output)
}

// question shows a call that somebody is asked about.
func (s *screen) question(call *providers.Call, tool *toolformat.Tool) {
	columns := s.columns()
	s.say(secNone, s.paint.ask("? ")+s.paint.bold(inline(call.Name))+summary(s.paint, tool, columns)+
		indent(readable(call.Arguments, columns-2), columns))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[call.ID] = true
}

// summary is the first line of a tool's description, as far as there is room.
func summary(p paint, tool *toolformat.Tool, columns int) string {
	if tool == nil {
		return ""
	}
	about, _, _ := strings.Cut(strings.TrimSpace(clean(tool.Description)), "\n")
	if about == "" {
		return ""
	}
	return "\n" + p.dim("  "+fit(inline(about), columns-2))
}

// readable are arguments, all of them, on one line where they fit on it.
func readable(arguments json.RawMessage, columns int) string {
	line := visible(arguments)
	var b bytes.Buffer
	if uniseg.StringWidth(line) <= columns || json.Indent(&b, []byte(line), "", "  ") != nil {
		return line
	}
	return b.String()
}

// indent moves text to the right, and breaks its lines where they would reach the margin.
func indent(s string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		for {
			piece := head(line, max(4, columns-2)) // no character is wider than 4
			b.WriteString("\n  " + piece)
			if line = line[len(piece):]; line == "" {
				break
			}
		}
	}
	return b.String()
}

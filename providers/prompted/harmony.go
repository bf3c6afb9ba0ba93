package prompted

import (
	"bytes"
	"strings"
)

// harmony is the grammar of gpt-oss, whose messages each begin with a header:
//
//	<|channel|>analysis<|message|>I look.<|end|>
//	<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>
//
// It is only read: a server wraps what is written for the model into a message of its own.
const harmony = "harmony"

const (
	messageMark  = "<|message|>"
	messageEnd   = "<|end|>"
	thoughtsName = "analysis"

	recipientMark = "to=" // the prompt may end with what precedes it
)

// The marks of harmony that begin a header or stand behind a message.
var (
	headerMarks = []string{"<|start|>", "<|channel|>"}
	endMarks    = []string{messageEnd, "<|call|>", "<|return|>"}
)

// matchHeader looks for a header of harmony, the call behind it, and the end of a message.
func (s *scanner) matchHeader(w []byte, final bool) finding {
	mark, partly := prefixOf(w, endMarks)
	if mark != "" {
		return finding{verdict: isMarkup, n: len(mark)}
	}
	heads := headerMarks
	if !s.place.begun {
		heads = append(heads[:2:2], recipientMark)
	}
	head, begun := prefixOf(w, heads)
	if head == "" {
		return undecidedIf((partly || begun) && !final)
	}
	near := w[:min(len(w), maxHead)]
	n := bytes.Index(near, []byte(messageMark))
	if n < 0 {
		return undecidedIf(len(near) < maxHead && !final)
	}
	header := string(near[:n])
	n += len(messageMark)
	if role := strings.TrimPrefix(header, headerMarks[0]); s.called && role != header && !strings.HasPrefix(role, "assistant") {
		return finding{verdict: madeUp, n: n}
	}
	_, to, called := strings.Cut(header, recipientMark)
	_, channel, _ := strings.Cut(header, headerMarks[1])
	switch word := to[:wordLen([]byte(to))]; {
	case called && s.isCallable(word):
		return s.matchMessage(w, final, n, word)
	case !called && strings.HasPrefix(channel, thoughtsName):
		s.thought = messageEnd
		return finding{verdict: isThought, n: n}
	case called:
		return finding{verdict: notCall, n: n}
	}
	return finding{verdict: isMarkup, n: n}
}

// isCallable reports whether a word names a tool, or may.
func (s *scanner) isCallable(word string) bool {
	_, known := s.resolve(word)
	return known || s.mayName(word)
}

// matchMessage looks for the arguments of a call, which begin at n.
func (s *scanner) matchMessage(w []byte, final bool, n int, word string) finding {
	n += prefixLen(w[n:], whiteSpace)
	in := form{ends: endMarks}
	switch {
	case n == len(w) && !final:
		return finding{}
	case n == len(w) || w[n] != '{':
		return finding{verdict: notCall, n: n}
	}
	f := s.matchObject(w, final, n, strings.TrimPrefix(word, "functions."), in)
	f.forms = s.only(in)
	return f
}

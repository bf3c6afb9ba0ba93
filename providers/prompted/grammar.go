package prompted

import (
	"slices"
	"strings"
)

// A grammar is how a family of models writes calls and is told of their results. Its templates
// have the letters of placeholders behind %: see render.
type grammar struct {
	name   string
	models []string // parts of the names of its models, see grammarOf

	turn    pair   // around all calls of a turn; none if each stands alone
	call    pair   // around each call
	body    string // a call between its marks: a template; "" means that all is written as for Hermes
	each    string // an argument in body
	quote   string // the quotation mark of strings in %g
	between string // calls of a turn
	result  pair   // around each result
	content string // a result between its marks: a template; "" means that of Hermes
	results pair   // around all results of a turn

	plain bool   // call.open is text that may occur anywhere: it counts at the start of a line, for models of this grammar
	bare  bool   // call.open precedes each reply but is not a part of it, and only tools that exist are called
	words string // stand in place of a call before words for the user

	special bool // marks are tokens that its models write for calls only: indented ones that end a reply are calls, see trial.go
}

// A pair is the marks before and behind something.
type pair struct{ open, end string }

// argumentMarks stand between the name of a tool and its arguments.
var argumentMarks = []string{"[ARGS]", "<|tool_call_argument_begin|>", "<｜tool▁sep｜>", "<|tool▁sep|>", "<tool_sep>", "Action Input:"}

// A syntax is what all grammars together have.
type syntax struct {
	openers []form    // of the grammars that are not plain; one that begins with another is before it
	marks   []string  // of prompts, calls, results and thinking
	starts  [256]bool // the first bytes of marks
}

func newSyntax() *syntax {
	s := &syntax{openers: allForms()}
	s.marks = marksOf(s.openers)
	for _, mark := range s.marks {
		s.starts[mark[0]], s.starts[strings.ToUpper(mark)[0]] = true, true
	}
	return s
}

func allForms() []form {
	var all []form
	for _, f := range variants {
		all = append(all, spellings(f)...)
	}
	for i := range grammars {
		if g := &grammars[i]; !g.plain {
			all = append(all, g.forms()...)
		}
	}
	slices.SortStableFunc(all, func(a, b form) int { return len(b.open) - len(a.open) })
	return slices.CompactFunc(all, func(a, b form) bool { return a.open == b.open })
}

// forms returns the forms in which calls of a grammar are read, without the brackets of lists.
func (g *grammar) forms() (all []form) {
	for _, m := range []pair{g.turn, g.call} {
		f := form{open: strings.TrimRight(m.open, "[\n"), plain: g.plain, special: g.special}
		if end := strings.TrimLeft(m.end, "]\n"); end != "" {
			f.ends = []string{end}
		}
		if f.open != "" {
			all = append(all, spellings(f)...)
		}
	}
	return all
}

// spellings returns a form, and the one that conversions of DeepSeek's models make of it: with bars
// of ASCII.
func spellings(f form) (all []form) {
	f.ends = bothBars(f.ends)
	for _, f.open = range bothBars([]string{f.open}) {
		all = append(all, f)
		f.special = false
	}
	return all
}

// bothBars adds to texts with wide bars those with bars of ASCII.
func bothBars(texts []string) []string {
	all := slices.Clone(texts)
	for _, text := range texts {
		if narrow := strings.ReplaceAll(text, "｜", "|"); narrow != text {
			all = append(all, narrow)
		}
	}
	return all
}

// grammarOf returns the grammar of a name, or else the one of a model: the first with a part of the
// model's name, as plainName has it. nil means that the name is unknown.
func grammarOf(name, model string) *grammar {
	model = plainName(model)
	for i := range grammars {
		g := &grammars[i]
		if g.name == name || name == "" && slices.ContainsFunc(g.models, func(part string) bool { return strings.Contains(model, part) }) {
			return g
		}
	}
	if name == "" {
		return &grammars[0]
	}
	return nil
}

// plainName returns the name of a model in lower case, with hyphens for its separators and at its end.
func plainName(model string) string {
	return plainNames.Replace(strings.ToLower(model)) + "-"
}

var plainNames = strings.NewReplacer(".", "-", "_", "-", " ", "-")

// Grammars returns the names for Options.Grammar.
func Grammars() (names []string) {
	for i := range grammars {
		names = append(names, grammars[i].name)
	}
	return names
}

// written returns the grammar in which calls and results are written.
func (g *grammar) written() *grammar {
	hermes := &grammars[0]
	if g.body == "" {
		return hermes
	}
	all := *g
	if all.content == "" {
		all.result, all.content = hermes.result, hermes.content
	}
	return &all
}

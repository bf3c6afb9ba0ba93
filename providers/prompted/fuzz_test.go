package prompted

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// FuzzScanner: a text in pieces has the same result as the whole text, in each grammar. Text that is
// not a call is never lost, and arguments are JSON.
func FuzzScanner(f *testing.F) {
	for _, c := range append(scannerCases, abstractCases...) {
		f.Add(c.text, []byte{2}, uint16(1000))
		f.Add(c.text, []byte{7, 0, 30}, uint16(40))
	}
	for i := range grammars {
		limit := uint16(1<<12/len(grammars)*len(grammars) + i)
		f.Add(example(&grammars[i]), []byte{3}, limit)
		f.Add("So:\n\n      "+example(&grammars[i]), []byte{3}, limit)
	}
	f.Fuzz(func(t *testing.T, text string, cuts []byte, most uint16) { holdsTogether(t, text, cuts, most) })
}

// example returns two calls in a grammar.
func example(g *grammar) string {
	w := writer{grammar: g.written(), history: &history{}, req: request()}
	call := &providers.Call{Name: "add", Arguments: json.RawMessage(`{"a":1,"b":"x"}`)}
	return string(w.appendCalls(nil, []*providers.Call{call, call}))
}

// FuzzForms does the same with texts made of fragments of forms.
func FuzzForms(f *testing.F) {
	f.Add([]byte{0, 30, 16, 1, 33}, []byte{2}, uint16(1000))
	f.Fuzz(func(t *testing.T, picks, cuts []byte, most uint16) {
		holdsTogether(t, assembled(picks), cuts, most)
	})
}

// assembled makes a text of fragments.
func assembled(picks []byte) string {
	parts := fragments()
	var text strings.Builder
	for _, p := range picks {
		text.WriteString(parts[int(p)%len(parts)])
	}
	return text.String()
}

const thinkOpen, thinkEnd = "<think>", "</think>"

// fragments are parts of forms.
func fragments() []string {
	all := []string{
		paris, `{"name": "add"`, `, "arguments": {"a": 1}}`, `{"arguments":`, `{'name': 'add'`, `"`, `'`, `\`, `{`, `}`, `[`, `]`, `(`, `)`, `,`, `;`, `:`, `=`, "\n", " ", "\t",
		fenceMark, "```json\n", "```tool_code\n", "```python\n", "~~~", "`", "“", "”", "‘", "’", "„", "»", "::\n\n", ".. ", "<code>", "</code>", "<textarea", "</pre>", "\n\n", "> ", "    ", "- ", "<!--", "-->", "'", `"""`, "add", "get_weather", "add(", "print(", "a=1", "x", "é", "1", "null", `<`, `|`, `</`, `>`, "<b>",
		"add>", "a>", `"add">`, `"a" string="false">`, idMark, "functions.", ":0", "call:add{", "a:", thinkOpen, thinkEnd, ">>>", "all\n", "to=functions.add", "assistant", "commentary", "Action: ", `"tool_calls": [`, `"function": `, `{"id": "x",`,
	}
	for _, o := range testSyntax().openers {
		all = append(all, o.open[:len(o.open)/2])
	}
	return append(all, testSyntax().marks...)
}

// holdsTogether compares the results of a text in pieces and as a whole. The limit of calls
// selects a grammar too.
func holdsTogether(t *testing.T, text string, cuts []byte, most uint16) {
	limit, g := 16+int(most), &grammars[int(most)%len(grammars)]
	whole := scannedIn(g, limit, text)
	if got := scannedIn(g, limit, portions(text, cuts)...); got != whole {
		t.Fatalf("%s: %q in portions:\n%s\nwhole:\n%s", g.name, text, got, whole)
	}
	if g.name == harmony || g.words != "" {
		return // some marks are neither text nor a call
	}
	for _, fault := range lost(g, limit, text) {
		t.Errorf("%s: %q: %s", g.name, text, fault)
	}
}

// lost returns what of a text is neither emitted nor part of a call.
func lost(g *grammar, limit int, text string) (faults []string) {
	type found struct {
		piece
		at int
	}
	var s *scanner
	var all []found
	s = newScannerIn(g, limit, func(p piece) { all = append(all, found{p, len(text) - len(s.held)}) })
	s.write(text)
	s.close()
	say := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for i, p := range all {
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1].at
		} else if s.ended {
			break
		}
		source := text[p.at:end]
		switch {
		case p.kind == providers.PartCall && !json.Valid(p.call.arguments):
			say("arguments that are no JSON: %q", p.call.arguments)
		case p.kind == providers.PartCall:
			name, wire := p.call.name, testTools().WireName(format, p.call.name)
			joined := strings.NewReplacer(`"`, "", "'", "").Replace(letters(source)) // adjacent strings are one in Python
			if source != "" && testTools().Find(name) != nil && !strings.Contains(joined, letters(name)) && !strings.Contains(source, wire) {
				say("the call of %s stands for %q", name, source)
			}
		case p.kind == providers.PartThinking && unmarked(source) == unmarked(p.text):
		case squeezed(source) != squeezed(p.text):
			say("%q became %q", source, p.text)
		}
	}
	if len(all) == 0 && strings.Trim(text, whiteSpace) != "" && unmarked(text) != "" {
		say("nothing came of %q", text)
	}
	return faults
}

// unmarked returns thoughts without their marks.
func unmarked(text string) string {
	text = squeezed(strings.ToLower(text))
	for _, t := range thoughts {
		text = strings.NewReplacer(strings.ToLower(t.open), "", strings.ToLower(t.ends[0]), "").Replace(text)
	}
	return text
}

func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(whiteSpace, r) {
			return -1
		}
		return r
	}, text)
}

// FuzzAround puts calls into texts: texts and calls stay the same.
func FuzzAround(f *testing.F) {
	f.Add("before", " ", "after\n", []byte{3})
	f.Add("é\n\n", "t", "\t tool_call", []byte{0})
	f.Fuzz(func(t *testing.T, before, between, after string, cuts []byte) {
		if all := strings.ToLower(before + between + after); strings.ContainsAny(all, "<{[`|~>\\\"'“”„«»‹›‘’‚「『\t\r") || strings.Contains(all, "    ") || strings.Contains(all, "::") || strings.Contains(all, ".. ") || strings.Contains(all, "tool_call:") {
			t.Skip() // may begin a form itself, or quote
		}
		var want []string
		for i, text := range []string{before, between, after} {
			if strings.Trim(text, whiteSpace) != "" {
				want = append(want, fmt.Sprintf("%q", text))
			}
			if i < 2 {
				want = append(want, inParis)
			}
		}
		const call = "<tool_call>" + paris + "</tool_call>"
		got := scanned(1<<20, portions(before+call+between+call+after, cuts)...)
		if got != strings.Join(want, "\n") {
			t.Errorf("%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// FuzzLiteral: what toJSON returns is JSON.
func FuzzLiteral(f *testing.F) {
	for _, s := range []string{`{'a': (1, 2,), "b": True, c: None}`, `"a" 'b'`, `{"a":"\ud83d\ude00\x"`, `[1.5e3, -0]`, `'é` + "\x00\xff'"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if raw, ok := toJSON(in); ok && !json.Valid(raw) {
			t.Errorf("%q became %q", in, raw)
		}
	})
}

// portions cuts a text into pieces whose lengths are those in cuts plus one, repeated.
func portions(text string, cuts []byte) []string {
	if len(cuts) == 0 {
		cuts = []byte{0}
	}
	var all []string
	for i := 0; text != ""; i++ {
		n := min(len(text), 1+int(cuts[i%len(cuts)]))
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

package markdown

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// texts are rendered with 30 columns. ⟨…⟩ stands for an escape sequence.
var texts = []struct{ name, source, colored, plain string }{
	{"a heading", "# One *two*\ntext", "⟨1⟩One⟨0⟩ ⟨1;3⟩two⟨0⟩\n\ntext", "# One *two*\n\ntext"},
	{"emphasis", "a **b *c* d** ~~e~~ `f  g`\\* &amp; &copy;", "a ⟨1⟩b⟨0⟩ ⟨1;3⟩c⟨0⟩ ⟨1⟩d⟨0⟩ ⟨9⟩e⟨0⟩ ⟨35⟩f g⟨0⟩* & ©", "a **b *c* d** ~~e~~ `f g`* & ©"},
	{"words", "one two three four five six seven", "one two three four five six\nseven", ""},
	{"a long word", "see https://example.com/a/very/long/path now", "see\nhttps://example.com/a/very/lon\ng/path now", ""},
	{"wide characters", "漢字漢字漢字漢字漢字漢字漢字漢字 x", "漢字漢字漢字漢字漢字漢字漢字漢\n字 x", ""},
	{"lines", "one\ntwo  \nthree", "one\ntwo\nthree", ""},
	{"links", "[a b](http://x) <http://y> [http://z](http://z) ![pic](p.png)", "⟨4⟩a b⟨0⟩ ⟨2⟩(http://x)⟨0⟩ ⟨4⟩http://y⟨0⟩\n⟨4⟩http://z pic⟨0⟩ ⟨2⟩(p.png)⟨0⟩", "a b (http://x) http://y\nhttp://z pic (p.png)"},
	{"where links lead", "See [the docs][1], [2].\n\n[1]: http://x\n[2]: http://y", "See [the docs][1], [2].\n\n[1]: http://x\n[2]: http://y", ""},
	{"a list", "- a\n- b\n  continued\n  1. c\n  2. d\n- [x] e", "• a\n• b\n  continued\n  1. c\n  2. d\n• [x] e", ""},
	{"a loose list", "3. a\n\n   b\n\n4. c", "3. a\n\n   b\n\n4. c", ""},
	{"a quotation", "> a\n> - b\n\nc", "⟨2⟩│ ⟨0⟩a\n⟨2⟩│ ⟨0⟩\n⟨2⟩│ ⟨0⟩• b\n\nc", "│ a\n│\n│ • b\n\nc"},
	{"code", "```go\nfunc\tmain() { a very long line of code }\n\n```\nx", "⟨2⟩```go⟨0⟩\n⟨35⟩func\tmain() { a very long line of code }⟨0⟩\n\n⟨2⟩```⟨0⟩\n\nx", "```go\nfunc\tmain() { a very long line of code }\n\n```\n\nx"},
	{"code without an end", "```\na", "⟨2⟩```⟨0⟩\n⟨35⟩a⟨0⟩\n⟨2⟩```⟨0⟩", "```\na\n```"},
	{"indented code", "    a\n    b", "    ⟨35⟩a⟨0⟩\n    ⟨35⟩b⟨0⟩", "    a\n    b"},
	{"a table", "| a | b |\n|--|--:|\n| one | 2 |\n| three four | **5** |", "⟨1⟩a⟨0⟩         ⟨2⟩ │ ⟨0⟩⟨1⟩b⟨0⟩\n⟨2⟩───────────┼──⟨0⟩\none       ⟨2⟩ │ ⟨0⟩2\nthree four⟨2⟩ │ ⟨0⟩⟨1⟩5⟨0⟩", "a          │     b\n───────────┼──────\none        │     2\nthree four │ **5**"},
	{"a wide table", "| a | b |\n|:-:|---|\n| one two three four | five six seven eight |", "      ⟨1⟩a⟨0⟩      ⟨2⟩ │ ⟨0⟩⟨1⟩b⟨0⟩\n⟨2⟩──────────────┼───────────────⟨0⟩\none two three⟨2⟩ │ ⟨0⟩five six seven\n    four     ⟨2⟩ │ ⟨0⟩eight", "      a       │ b\n──────────────┼───────────────\none two three │ five six seven\n    four      │ eight"},
	{"a rule behind a table behind text", "a **b**\n| c |\n|---|\n| d |\n---\ne", "a ⟨1⟩b⟨0⟩\n\n⟨1⟩c⟨0⟩\n⟨2⟩─⟨0⟩\nd\n\n⟨2⟩──────────────────────────────⟨0⟩\n\ne", "a **b**\n\nc\n─\nd\n\n──────────────────────────────\n\ne"},
	{"a rule", "a\n\n---\n\nb", "a\n\n⟨2⟩──────────────────────────────⟨0⟩\n\nb", "a\n\n──────────────────────────────\n\nb"},
	{"HTML", "<b>x</b> y\n\n<div>\nz\n</div>", "<b>x</b> y\n\n⟨35⟩<div>⟨0⟩\n⟨35⟩z⟨0⟩\n⟨35⟩</div>⟨0⟩", "<b>x</b> y\n\n<div>\nz\n</div>"},
	{"control characters", "a&#27;[2J &#x9b;31m `\x1b[1m` \u202e", "a�[2J �31m ⟨35⟩�[1m⟨0⟩ �", "a�[2J �31m `�[1m` �"},
	{"nothing", " \n\n", "", ""},
}

var escape = regexp.MustCompile("\x1b\\[([0-9;]*)m")

func TestRender(t *testing.T) {
	for _, c := range texts {
		want := c.plain
		if want == "" {
			want = c.colored
		}
		if got := strings.Join(Render(c.source, 30, false), "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
		got := escape.ReplaceAllString(strings.Join(Render(c.source, 30, true), "\n"), "⟨$1⟩")
		if got != c.colored {
			t.Errorf("%s in colors:\n%s\nwant\n%s", c.name, got, c.colored)
		}
	}
}

// A text in pieces comes out as a whole one does, whatever is final on the way.
func TestStream(t *testing.T) {
	whole := ""
	for _, c := range texts {
		whole += c.source + "\n\n"
	}
	all := append(slices.Clone(texts), struct{ name, source, colored, plain string }{name: "all", source: whole})
	for _, line := range []string{"#one #two", "-5 degrees", "*one* two", "+1", "2.5 m", "3)x", "***one*** two", "___one___", "```one``` two", "<path of it", "**one**", "***\tone", "-\t-\t-one", "1.5", "####### x"} {
		for _, before := range []string{"a\n", "- a\n", "- a\n- b\n", "1. a\n", "# a\n", "```\na\n```\n", "> a\n", "a\n\n"} {
			all = append(all, struct{ name, source, colored, plain string }{name: before + line, source: before + line + "\nb"})
		}
	}
	for _, source := range []string{"-\n  a\n- b", "-\n    a", "1.\n   - a\n2. b", "> -\n>   a", "1. a\n\n1. b", "a\n| b | c |\n|-|-1|\n| 2 | 3 |", "a\n| b |\n|-|\n| c |\n---\nd", "a\n| b |\n|-|\n- c", "| a |\n|-|\n==b"} {
		all = append(all, struct{ name, source, colored, plain string }{name: source, source: source})
	}
	for _, c := range all {
		for _, size := range []int{1, 2, 3, 7} {
			s := Stream{Colors: true}
			var got []string
			for piece := range slices.Chunk([]rune(c.source), size) {
				final, _ := s.Add(string(piece), 30)
				got = append(got, final...)
			}
			got = append(got, s.End(30)...)
			if want := Render(c.source, 30, true); !slices.Equal(got, want) {
				t.Errorf("%s in pieces of %d:\n%s\nwant\n%s", c.name, size, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// Lines come as soon as nothing can change them.
func TestStreamFinal(t *testing.T) {
	s := Stream{}
	for _, step := range []struct{ text, final, pending string }{
		{"One", "", "One"},
		{" **two", "", "One **two"},
		{"**.\n\n", "", "One **two**."},
		{"- a\n", "One **two**.", "\n• a"},
		{"- b", "\n• a", "• b"},
		{"\n\n```go\nx", "• b\n\n```go", "x"},
		{" = 1\ny", "x = 1", "y"},
		{"\n```\n", "y", ""},
		{"Done.", "```", "\nDone."},
	} {
		final, pending := s.Add(step.text, 30)
		if got := strings.Join(final, "\n"); got != step.final {
			t.Errorf("%q: final %q, want %q", step.text, got, step.final)
		}
		if got := strings.Join(pending, "\n"); got != step.pending {
			t.Errorf("%q: pending %q, want %q", step.text, got, step.pending)
		}
	}
	if got := strings.Join(s.End(30), "\n"); got != "\nDone." {
		t.Errorf("at the end %q", got)
	}
	if got := s.End(30); got != nil {
		t.Errorf("after it %q", got)
	}
}

// Long code is complete, and a block that is too long to be parsed, too.
func TestStreamLong(t *testing.T) {
	for _, lines := range []int{1000, 4000} {
		var want []string
		s := Stream{}
		var got []string
		add := func(text string) {
			final, _ := s.Add(text, 80)
			got = append(got, final...)
		}
		add("```\n")
		for i := range lines {
			want = append(want, fmt.Sprintf("line %d is some code", i))
			add(want[i][:7])
			add(want[i][7:] + "\n")
		}
		add("```\n\nThe end.")
		got = append(got, s.End(80)...)
		got = slices.DeleteFunc(got, func(line string) bool { return !strings.HasPrefix(line, "line") })
		if !slices.Equal(got, want) {
			t.Errorf("%d lines of %d: %q", len(got), lines, got[max(0, len(got)-3):])
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, c := range texts {
		f.Add(c.source, 30, 3)
	}
	f.Fuzz(func(t *testing.T, source string, columns, size int) {
		columns, size = min(max(columns, 0), 200), min(max(size, 1), 100)
		source = source[:min(len(source), 4000)]
		s := Stream{Colors: true}
		var all []string
		for piece := range slices.Chunk([]rune(source), size) {
			final, pending := s.Add(string(piece), columns)
			all = append(append(all, final...), pending...)
		}
		for _, line := range append(all, s.End(columns)...) {
			plain := escape.ReplaceAllString(line, "")
			if strings.ContainsFunc(plain, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) || terminal.Clean(plain) != plain {
				t.Errorf("%q has the line %q", source, line)
			}
		}
	})
}

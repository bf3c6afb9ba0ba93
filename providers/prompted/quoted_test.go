package prompted

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

const (
	addCall = `<tool_call>{"name":"add","arguments":{}}</tool_call>`
	bareAdd = `{"name": "add", "arguments": {}}`
)

// quotedTexts only quote calls.
var quotedTexts = map[string]string{
	"inline code":                         "Write `" + addCall + "` to add.",
	"inline code in a list":               "- `" + addCall + "` adds\n- nothing else",
	"inline code of two backticks":        "Write `` " + addCall + " ` `` to add.",
	"inline code over lines":              "Write `\n" + addCall + "\n` to add.",
	"inline code with a backtick":         "Write `<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":\"`\"}}</tool_call>` or `" + addCall + "`.",
	"inline code behind a lone backtick":  "It`s so:\n`" + addCall + "` adds.",
	"inline code behind a list item":      "- a ` here\n- `" + addCall + "`",
	"inline code behind an escaped tick":  "a \\` and `" + addCall + "`",
	"inline code like a fence":            "```" + addCall + "```",
	"inline JSON":                         "Use `" + bareAdd + "` to add.",
	"inline code that begins a line":      "`" + addCall + "`",
	"inline function":                     "`<function=add></function>` or `<function=add>{}</function>`",
	"inline Mistral":                      "`[TOOL_CALLS]add{\"a\": 1}`",
	"inline python":                       "`[add(a=1)]`",
	"block quote":                         "So:\n\n> " + addCall + "\n\nbut no.",
	"block quote in a list":               "- > " + addCall,
	"block quote over lines":              "> <tool_call>\n> " + bareAdd + "\n> </tool_call>\n",
	"block quote that goes on":            "> <tool_call>\n" + bareAdd + "\n</tool_call>\n",
	"indented code":                       "    " + addCall + "\n\nis indented code.",
	"indented code with a tab":            "So:\n\n\t" + addCall,
	"indented code in a list":             "- So:\n\n      " + addCall,
	"indented code behind a marker":       "-     " + addCall,
	"indented code over lines":            "    <tool_call>\n" + bareAdd + "\n    </tool_call>",
	"indented block of code":              "    ```json\n    " + bareAdd + "\n    ```",
	"python string":                       "```python\nprompt = \"\"\"" + addCall + "\"\"\"\n```",
	"xml with a comment":                  "```xml\n<!-- a sample -->\n" + addCall + "\n```",
	"nested fence":                        "````markdown\n```json\n" + bareAdd + "\n```\n````",
	"nested fence of equal length":        "```markdown\n```json\n" + bareAdd + "\n```\n",
	"markdown fence":                      "```markdown\nWrite `" + addCall + "` to add.\n```",
	"plain fence with a tag":              "```\n" + addCall + "\n```",
	"JSON fence with a tag":               "```json\n" + addCall + "\n```",
	"fence of tildes":                     "~~~\n" + addCall + "\n~~~",
	"JSON fence of tildes":                "~~~json\n" + bareAdd + "\n~~~",
	"fence in a list":                     "1. So:\n   ```xml\n   " + addCall + "\n   ```\n",
	"fence behind a marker":               "- ```xml\n  " + addCall + "\n  ```\n",
	"fence that another character closes": "~~~\n```\n" + addCall + "\n~~~",
	"fence that a shorter one closes":     "````\n```\n" + addCall + "\n````",
	"fence whose end is indented":         "```xml\n     ```\n" + addCall + "\n```",
	"fence without an end":                "```xml\n" + addCall,
	"fence with words behind its end":     "```xml\n``` no\n" + addCall + "\n```",
	"other JSON, then a tag, in a fence":  "```json\n{\"a\": 1}\n" + addCall + "\n```",
	"quotation marks":                     `In the docs: "<function=add></function>" is the syntax.`,
	"quotation with a call":               `The docs say "write ` + addCall + `" and more.`,
	"quotation with two calls":            `"` + addCall + addCall + `"`,
	"quotation over lines":                "\"<tool_call>\n" + bareAdd + "\n</tool_call>\"",
	"quotation behind a lone mark":        "He said \"so\nand \"" + addCall + "\"",
	"single quotation marks":              `It's '` + addCall + `', isn't it?`,
	"prefix of a string":                  `p = f"` + addCall + `"`,
	"prefix of a single-quoted string":    `p = f'` + addCall + `'`,
	"curly quotation marks":               "the “" + addCall + "” and ‘" + addCall + "’ and «" + addCall + "» and „" + addCall + "“",
	"triple quotation marks":              "p = \"\"\"\n\n" + addCall + "\n\"\"\"",
	"unclosed function":                   "The XML <function=add> is how Llama does it.",
	"unclosed function at the end":        "The XML <function=add>",
	"comment":                             "<!-- for example\n\n" + addCall + " -->",
	"code element":                        "Write <code>" + addCall + "</code>.",
	"pre element with an attribute":       "<pre class=\"x\">\n\n" + addCall + "\n</pre>",
	"code element with an attribute":      "Write <code lang=xml>" + addCall + "</code>.",
	"blockquote element":                  "<blockquote cite='x'>\n\n" + addCall + "\n</blockquote>",
	"CDATA":                               "<![CDATA[" + addCall + "]]>",
	"guillemets that point inwards":       "Schreibe »" + addCall + "« dafür.",
	"pre element":                         "<PRE>\n\n" + addCall + "\n</PRE>",
	"table":                               "| tool | call |\n|---|---|\n| add | " + bareAdd + " |\n| add | " + addCall + " |",
	"javascript":                          "```js\nawait client.callTool(" + bareAdd + ")\n```",
	"definition":                          `{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}}`,
	"definition without a description":    `{"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}`,
	"quotation without spaces":            `他说"请写` + addCall + `来添加"。`,
	"corner brackets":                     "写「" + addCall + "」和『" + addCall + "』。",
	"thought in a reply":                  "Hm.\n<think>I could\n\n" + addCall + "</think>\nNo.",
	"block quote with triple quotes":      "> \"\"\"\n> \"\"\"" + addCall,
	"block quote in a comment":            "<!--\n> -->" + addCall + "\n",
	"escaped":                             `\<tool_call>{"name":"add","arguments":{}}\</tool_call>`,
	"JSON with JSON":                      "{\"tools\":\n[" + bareAdd + "]}",
	"a list of JSON in a program":         "messages = [\n" + bareAdd + "\n]",
	"two names, bare":                     `{"name": "add", "tool": "get_weather", "arguments": {}}`,
	"cut JSON with JSON":                  "{\"name\": \"add\", \"arguments\": {\"a\":\n" + bareAdd,

	"second paragraph of a quotation":       "The page says \"so.\n\n" + addCall + "\n\nand so\" and more.",
	"third paragraph of a quotation":        "\"a\n\nb\n\n" + addCall + addCall + "\n" + bareAdd + "\"",
	"quotation that ends on its own line":   "\"\n\n" + addCall + "\n\n\"\n",
	"quotation that ends in brackets":       "(it says \"a.\n\n" + addCall + "\n\nb.\").",
	"quotation that ends with the text":     "\"a\n\n" + addCall + "\n\nb.\"",
	"block of code in a quotation":          "\"a:\n\n```json\n" + bareAdd + "\n```\n\nb.\"",
	"block of code in a paragraph's string": "\"a:\n```json\n" + bareAdd + "\n```\nb.\"",
	"list item in a quotation":              "\"a:\n- " + addCall + "\n- b.\"",
	"second paragraph of curly marks":       "It says “so.\n\n" + addCall + "\n\nand so”.",
	"second paragraph of corner brackets":   "「好。\n\n" + addCall + "\n\n好」",
	"second line of single curly marks":     "It says ‘so\n" + addCall + "\nit isn’t so’.",
	"second line behind an apostrophe":      "It says ‘it isn’t so: " + addCall + "’.",
	"second paragraph of a code element":    "<code>\n\n" + addCall + "\n\n</code>",
	"curly marks in a string":               `It says "a “b” ` + addCall + `".`,
	"element in a string":                   `It says "a <code>b</code> ` + addCall + `".`,
	"two calls on lines of a string":        "\"\n" + bareAdd + "\n" + bareAdd + "\n\"",
	"Swedish marks":                         "Skriv ”" + addCall + "” så.",
	"Swedish marks over paragraphs":         "Skriv ”så.\n\n" + addCall + "\n\nså” nu.",
	"Swedish single marks":                  "Skriv ’" + addCall + "’ så.",
	"Finnish guillemets":                    "Kirjoita »" + addCall + "» niin.",
	"Polish marks":                          "Napisz „" + addCall + "” tak.",
	"single guillemets":                     "Schreib ›" + addCall + "‹ oder ‹" + addCall + "›.",
	"low single marks":                      "Schreib ‚" + addCall + "‘.",
	"lazy line of a block quote":            "> Write\nthis: " + addCall + "\n",
	"lazy call in a block quote":            "> Write\n" + addCall + "\nto add.",
	"lazy calls in a block quote":           "> Write\nor so\n" + addCall + "\n" + bareAdd + " to add.",
	"samp element":                          "<samp>" + addCall + "</samp>",
	"kbd element":                           "Type <KBD class=x>\n" + addCall + "</KBD>",
	"textarea element":                      "<textarea\nrows=3>\n\n" + addCall + "</textarea>",
	"xmp element":                           "<xmp>\n\n" + addCall + "\n</xmp>",
	"verbatim":                              "\\begin{verbatim}\n\n" + addCall + "\n\\end{verbatim}",
	"lstlisting":                            "\\begin{lstlisting}[language=XML]\n" + addCall + "\n\\end{lstlisting}",
	"literal block":                         "So::\n\n  " + addCall + "\n\n  " + addCall + "\n",
	"literal block of an indented line":     "  So::\n\n   " + bareAdd + "\n   ```json\n   " + bareAdd + "\n   ```\n",
	"code-block directive":                  ".. code-block:: xml\n   :linenos:\n\n   " + addCall + "\n",
}

// What is only quoted is text, to the last byte.
func TestQuoted(t *testing.T) {
	for name, text := range quotedTexts {
		t.Run(name, func(t *testing.T) {
			want := fmt.Sprintf("%q", text)
			for _, pieces := range [][]string{{text}, portions(text, nil)} {
				if got := scanned(1<<20, pieces...); got != want {
					t.Errorf("%d pieces:\n%s\nwant\n%s", len(pieces), got, want)
				}
			}
		})
	}
}

// What ends before a call does not quote it.
func TestBehindQuotes(t *testing.T) {
	for name, text := range map[string]string{
		"inline code":              "I use `add`, and ``a ` b``: ",
		"lone backtick":            "It`s so.\n\n",
		"block quote":              "> quoted\n",
		"indented code":            "    code\n",
		"fence":                    "```python\nx\n```\n",
		"longer end of a fence":    "```python\nx\n`````\t\n",
		"fence of tildes":          "~~~ a `b`\nx\n~~~\n",
		"fence in a list":          "10. a\n    ```\n    x\n    ```\nb\n",
		"fence behind a marker":    "- ```xml\n  x\n  ```\n",
		"quotation marks":          "He said \"so\" and 'so' and “so”: ",
		"lone quotation mark":      "He said \"so.\n\n",
		"inches":                   `A 5" screen: `,
		"apostrophes":              "It's the users' tool, isn't it? ",
		"lone apostrophe":          "Get 'em.\n",
		"comment":                  "<!-- a ---> b\n",
		"comment over lines":       "<!-- a\n\n--> b\n\n",
		"quotation marks in a row": "a \"\"\n\"b\n\n",
		"code element without end": "The <code> element\n \t\n",
		"code element":             "<code>a</code> ",
		"blockquote element":       "<blockquote>\n\na</blockquote>\n",
		"guillemets":               "« a » and »a« ",
		"lone guillemet":           "Home » Items\n",
		"pre element":              "<pre>\n\na</pre>\n",
		"table":                    "| a |\n|---|\n| b |\n",
		"list":                     "1. ",
		"nested list":              "- - ",
		"number":                   "2 and ",
		"long number":              "2026",
		"emphasis":                 "**now:** ",
		"bullets that are none":    "-a *b* --- ",
		"triple quotation marks":   "\"\"\"a\"\"\" ",
		"thought in a reply":       "Hm. <think>no</think> ",
		"words without spaces":     `他说"好"。`,
		"brackets in a string":     "\"[\" {a}\n",
		"an open bracket":          "[a\n\n",
		"a tag in inline code":     "I write `<tool_call>`:\n",
		"a tag in a quotation":     "I write \"<tool_call>\":\n",
		"a quotation with a call":  "Not \"" + addCall + "\" but ",
		"a quotation of a list":    "\"a:\n- b.\"\n- ",
		"quotation of paragraphs":  "\"a\n\nb.\" And ",
		"curly marks":              "“a\n\nb.” And ",
		"lone mark, then others":   "He said \"so.\n\n\"Yes\", he said: ",
		"lone curly mark":          "He said “so.\n\n",
		"Polish marks":             "„tak” i ",
		"English curly marks":      "“It’s so.” “It isn’t.” ",
		"a curly apostrophe":       "The users’ 5” tool isn’t: ",
		"inward guillemets":        "»a« b »c» ",
		"block quote that goes on": "> quoted\nand so\n",
		"block quote that ended":   "> quoted\n>\nNow: ",
		"heading":                  "> quoted\n# Now\nHere: ",
		"code in a block quote":    "> ```\n> x\n> ```\nNow: ",
		"verbatim":                 "\\begin{verbatim}\nx\n\\end{verbatim} ",
		"verbatim without end":     "Use \\begin{verbatim} here.\n\n",
		"elements":                 "<samp>a</samp> <kbd>b</kbd> <textarea>c</textarea> <barcode> ",
		"element without end":      "A <textarea> is it.\n\n",
		"literal block":            "So::\n\n  a\n\nb ",
		"scopes of C++":            "a::b and c:: d ",
		"directive":                ".. note:: a\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			want := fmt.Sprintf("%q", text) + "\n" + inParis
			whole := text + "<tool_call>" + paris + "</tool_call>"
			for _, pieces := range [][]string{{whole}, portions(whole, nil)} {
				if got := scanned(1<<20, pieces...); got != want {
					t.Errorf("%d pieces:\n%s\nwant\n%s", len(pieces), got, want)
				}
			}
		})
	}
}

// A mark that is open for longer than its paragraph does not quote a call unless what follows closes
// it.
func TestDoubtful(t *testing.T) {
	const call = "<tool_call>" + paris + "</tool_call>"
	for name, c := range map[string]struct{ before, after string }{
		"nothing else":              {"He said \"so.\n\n", ""},
		"a mark that opens":         {"He said \"so.\n\n", "\n\nIt is \"so\" now."},
		"another mark":              {"He said \"so.\n\n", "\n\nIt’s “so” now."},
		"a mark of another kind":    {"He said “so.\n\n", "\n\nIt is “so” now.\""},
		"a lone apostrophe":         {"Get 'em.\n\n", "\n\nThe users' tool."},
		"a code element":            {"A <code> is it.\n\n", "\n\nIt is <code>so</code>."},
		"a block quote":             {"> quoted\n", "\n\nIt is so."},
		"a block quote and a fence": {"> quoted\n", "\n```\nIt is so.\n```"},
		"a block quote and a list":  {"> quoted\n", "\n- It is so."},
		"two kinds of marks":        {"He «said \"so.\n\n", "\n\n«It» is \"so\" now."},
		"a lone mark, then another": {"He said \"so.\n\nAnd \"so.\n\n", "\n\nSo."},
	} {
		t.Run(name, func(t *testing.T) {
			want := fmt.Sprintf("%q\n%s", c.before, inParis)
			if c.after != "" {
				want += fmt.Sprintf("\n%q", c.after)
			}
			whole := c.before + call + c.after
			for _, pieces := range [][]string{{whole}, portions(whole, nil)} {
				if got := scanned(1<<20, pieces...); got != want {
					t.Errorf("%d pieces:\n%s\nwant\n%s", len(pieces), got, want)
				}
			}
		})
	}
}

// Indented calls in special tokens of the model's own grammar are calls if they end the reply and nothing but
// their indentation quotes them. Otherwise they are code.
func TestIndented(t *testing.T) {
	for i := range grammars {
		g := &grammars[i]
		calls := example(g)
		indented := strings.ReplaceAll("\n"+calls, "\n", "\n    ")
		cut := strings.TrimRight(indented, whiteSpace)
		want := scannedIn(g, 1<<20, calls)
		for name, c := range map[string]struct {
			text string
			most int
			call bool
		}{
			"behind words":           {text: "I look.\n" + indented, call: true},
			"before white space":     {text: "I look.\n" + indented + " \n\t\n", call: true},
			"with tabs":              {text: "I look.\n" + strings.ReplaceAll(indented, "    ", "\t\t"), call: true},
			"in a list item":         {text: "1.  I look.\n" + indented, call: true},
			"behind a lone mark":     {text: "He said \"so.\n" + indented, call: true},
			"behind a quoted one":    {text: "So:\n" + indented + "\n\nis one. Another:\n" + indented},
			"before words":           {text: "So:\n" + indented + "\n\nit is."},
			"before a word":          {text: "So:\n" + indented + "\n}"},
			"before a mark":          {text: "So:\n" + indented + "<"},
			"before another form":    {text: "So:\n" + indented + "\n    " + addCall},
			"twice":                  {text: "So:\n" + indented + "\n" + indented},
			"cut":                    {text: "So:\n" + cut[:len(cut)-1]},
			"of an unknown tool":     {text: "So:\n" + strings.ReplaceAll(indented, "add", "sub")},
			"longer than the limit":  {text: "So:\n" + indented + strings.Repeat(" ", len(calls)), most: len(calls)},
			"in a block quote":       {text: "> So:\n" + strings.ReplaceAll(indented, "\n", "\n> ")},
			"behind a block quote":   {text: "> So:" + indented},
			"in a fence":             {text: "So:\n```text\n" + indented + "\n```\n"},
			"in an open fence":       {text: "So:\n```text\n" + indented},
			"in a comment":           {text: "<!-- So:\n" + indented},
			"in an element":          {text: "<pre>\n" + indented},
			"in a string":            {text: "p = \"\"\"\n" + indented},
			"in a quotation":         {text: "He said \"so:" + indented},
			"in a code span":         {text: "So: `" + indented},
			"in a literal block":     {text: "So::\n" + indented},
			"behind a list's marker": {text: "-     " + strings.TrimSpace(indented)},
		} {
			most := cmp.Or(c.most, 1<<20)
			got := scannedIn(g, most, c.text)
			if bytewise := scannedIn(g, most, portions(c.text, nil)...); bytewise != got {
				t.Errorf("%s, %s: byte by byte\n%s\nwhole\n%s", g.name, name, bytewise, got)
			}
			switch {
			case !g.special && (g.plain || g.turn.open == "" && g.call.open == ""):
				// its marks are words, or those of messages
			case g.special && c.call && !strings.HasSuffix(got, "\"\n"+want):
				t.Errorf("%s, %s:\n%s\nwant\n%s", g.name, name, got, want)
			case !(g.special && c.call) && got != fmt.Sprintf("%q", c.text):
				t.Errorf("%s, %s: not all is text:\n%s", g.name, name, got)
			}
		}
	}
}

// A call that a trial finds to be quoted is passed on with the first byte that shows it.
func TestIndentedShown(t *testing.T) {
	g := grammarOf("deepseek-v4", "")
	quoted := strings.ReplaceAll("So:\n\n"+example(g), "\n", "\n    ") + "\n\n"
	var shown strings.Builder
	s := newScannerIn(g, 1<<20, func(p piece) { shown.WriteString(p.text) })
	s.write(quoted)
	if before := shown.String(); before != "So:\n    \n    " {
		t.Errorf("%q is passed on before it is known whether it is a call", before)
	}
	s.write("I")
	if got := shown.String(); got != quoted+"I" {
		t.Errorf("%q, want %q", got, quoted+"I")
	}
}

// quotations quote a text, whatever it says.
var quotations = map[string]func(text string) string{
	"code span": func(text string) string {
		ticks := strings.Repeat("`", 1+longestRun(text, '`'))
		return "So: " + ticks + " " + unbroken(text) + " " + ticks + " it is."
	},
	"fence": func(text string) string {
		ticks := strings.Repeat("`", max(3, 1+longestRun(text, '`')))
		return "So:\n" + ticks + "text\n" + text + "\n" + ticks + "\nit is."
	},
	"fence of tildes": func(text string) string {
		tildes := strings.Repeat("~", max(3, 1+longestRun(text, '~')))
		return tildes + "\n" + text + "\n" + tildes
	},
	"block quote": func(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") },
	"indented code": func(text string) string {
		return "So:\n\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n\nit is." // see TestIndented
	},
	"table":   func(text string) string { return "| a | " + unbroken(text) + " |" },
	"comment": func(text string) string { return "<!-- " + strings.ReplaceAll(text, "--", "- ") + " -->" },
}

// callQuotations quote a call. Another text can have their end in it.
var callQuotations = map[string]func(call string) string{
	"string":               func(call string) string { return `So: f("` + call + `") and "` + call + `".` },
	"single-quoted string": func(call string) string { return "So: f('" + call + "')." },
	"triple-quoted string": func(call string) string { return "p = \"\"\"\n" + call + "\n\"\"\"" },
	"curly quotes":         func(call string) string { return "So: “use " + call + "”." },
	"string over lines":    func(call string) string { return "So \"\n" + call + "\n\"." },
	"pre element":          func(call string) string { return "<pre>\n" + call + "\n\n" + call + "</pre>" },
	"block of code":        func(call string) string { return "```python\n" + call + "\n```" },
	"paragraphs":           func(call string) string { return "So: \"a\n\n" + call + "\n\nb\"." },
	"curly paragraphs":     func(call string) string { return "So: “a\n\n" + call + "\n\nb”." },
	"textarea element":     func(call string) string { return "<textarea>\n\n" + call + "\n</textarea>" },
	"verbatim":             func(call string) string { return "\\begin{verbatim}\n\n" + call + "\n\\end{verbatim}" },
	"literal block":        func(call string) string { return "So::\n\n  " + call },
	"lazy lines":           func(call string) string { return "> a\nb\n" + call + "\nc " + call },
}

func unbroken(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// longestRun returns the length of the longest run of a character.
func longestRun(text string, c byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if run++; text[i] != c {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// checkQuotations verifies that a text makes no calls in any quotation, and is kept. Its length
// selects a grammar.
func checkQuotations(t *testing.T, text string, cuts []byte) {
	g := &grammars[len(text)%len(grammars)]
	for name, quote := range quotations {
		quoted := quote(text)
		var kept strings.Builder
		s := newScannerIn(g, 1<<20, func(p piece) {
			if p.kind == providers.PartCall {
				t.Errorf("%s, as %s: a call of %s in\n%s", name, g.name, p.call.name, quoted)
			}
			kept.WriteString(p.text)
		})
		for _, p := range portions(quoted, cuts) {
			s.write(p)
		}
		s.close()
		if kept.String() != quoted {
			t.Errorf("%s, as %s:\n%q became\n%q", name, g.name, quoted, kept.String())
		}
	}
}

// FuzzQuoted: a text that is quoted makes no call, however it is quoted.
func FuzzQuoted(f *testing.F) {
	for _, c := range append(scannerCases, abstractCases...) {
		f.Add(c.text, []byte{2})
	}
	f.Add(addCall, []byte{0})
	f.Fuzz(func(t *testing.T, text string, cuts []byte) { checkQuotations(t, text, cuts) })
}

// FuzzQuotedForms does the same with texts made of fragments of forms.
func FuzzQuotedForms(f *testing.F) {
	f.Add([]byte{0, 30, 16, 1, 33}, []byte{2})
	f.Fuzz(func(t *testing.T, picks, cuts []byte) { checkQuotations(t, assembled(picks), cuts) })
}

// FuzzQuotedCall: a call that is quoted in a text makes no call, whatever the text is, unless
// the text makes one itself.
func FuzzQuotedCall(f *testing.F) {
	f.Add("It's \"so\":\n- a `b`\n", "\nand so\n", []byte{3})
	f.Fuzz(func(t *testing.T, before, after string, cuts []byte) {
		if all := strings.ToLower(before + after); strings.ContainsAny(all, "<{[|") || strings.Contains(all, "tool_") {
			t.Skip() // may begin a form itself
		}
		for _, mark := range []string{"```", "~~~", `"""`, "'''"} {
			if strings.Contains(before, mark) {
				t.Skip() // may stay open, so that the mark of a quotation closes it
			}
		}
		for _, call := range []string{addCall, bareAdd, "[add(a=1)]", "<function=add></function>", `[TOOL_CALLS]add{"a":1}`} {
			all := maps.Clone(quotations)
			maps.Copy(all, callQuotations)
			for name, quote := range all {
				text := before + "\n\n" + quote(call) + "\n" + after
				if got := scanned(1<<20, portions(text, cuts)...); strings.Contains(got, "\nadd {") || strings.HasPrefix(got, "add {") {
					t.Errorf("%s: a call in\n%s", name, text)
				}
			}
		}
	})
}

// A call that is cut never runs: it is text, or its arguments cannot be used.
func TestCut(t *testing.T) {
	for _, form := range []string{
		`<tool_call>{"name":"add","arguments":{"a":1,"more":[1,2,{"b":"x"}]}}</tool_call>`,
		`{"name":"add","arguments":{"a":1,"more":[1,2,{"b":"x"}]}}`,
		`[{"name":"add","arguments":{"a":1}},{"name":"add","arguments":{"a":2}}]`,
		`[TOOL_CALLS][{"name":"add","arguments":{"a":1}},{"name":"add","arguments":{"a":2}}]`,
		`[TOOL_CALLS]add[ARGS]{"a":1,"b":[1,2]}`,
		"<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n2\n</parameter>\n</function>\n</tool_call>",
		`<function=add>{"a":1,"b":[1,2]}`,
		`[add(a=1, b=[1, 2]), add(a=3)]`,
		"```tool_code\nadd(a=1, b=[1, 2])\n```",
		"```json\n{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}\n```",
		`<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a":1,"b":2}<|tool_call_end|>`,
		`<｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a":1,"b":2}<｜tool▁call▁end｜>`,
	} {
		whole := scanned(1<<20, form)
		if !strings.HasPrefix(whole, "add {") {
			t.Errorf("%s is not a call: %s", form, whole)
		}
		for n := range form {
			for line := range strings.SplitSeq(scanned(1<<20, form[:n]), "\n") {
				if strings.HasPrefix(line, "add {") && !strings.HasPrefix(whole, line) {
					t.Errorf("%s runs\n%s", form[:n], line)
				}
			}
		}
	}
}

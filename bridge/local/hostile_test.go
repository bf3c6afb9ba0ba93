package local

import (
	"context"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// hostile returns arguments that a shell, a splitter or a program might not read as plain text.
func hostile() []string {
	return []string{
		"", " ", "a b", " a", "a ", "a  b", "\t", "a\tb", "\n", "a\nb", "a\r\nb", "\r", "\v\f",
		`'`, `"`, `''`, `""`, `'a' 'b'`, `"a" "b"`, `a"b`, `a'b`, "`id`", `\`, `\\`, `a\`, `\"`, `\'`, `"\`, `\n`, `\x00`, `^`, `^&`,
		"$(id)", "${HOME}", "$HOME", "$0", "$$", "$*", "$@", "$'a'", "%PATH%", "%0", "!1", "!!", "~", "~root", "~/x",
		"*", "?", "[a-z]*", "{a,b}", "/*", "../../etc/passwd", "/etc/passwd", "..", ".", "a/../b", "C:\\x", "\\\\host\\share", "file:///etc/passwd",
		"; id", "a;id", "| id", "|| id", "&& id", "& id", "> /tmp/x", ">> x", "< /etc/passwd", "2>&1", "<<EOF", "<(id)", "# x", "(id)", "{ id; }",
		"a --option", "a -o", "=x", "@file", "+x", ":x", ",", "a,b", "A=B id", "PATH=/tmp",
		"{x}", "{{x}}", "{y}", "{", "}", "{}", "%s", "%n%n", "%d", "$1", "\\1", "\x1b[2J", "\x07", "\u007f", "\u0085", "\u2028", "\u202e", "\ufeff", "ä", "🙂", "\U0010ffff",
		"\u2212x", "\u2013x", "\u2014help", "\uff0dx", strings.Repeat("a", 60_000), strings.Repeat(" x", 1000), "null", "true", "1", "[1]", `{"a":1}`,
	}
}

// dashed returns arguments that would be options.
func dashed() []string {
	return []string{"-", "--", "-o", "-rf", "--help", "--output=/etc/passwd", "-oProxyCommand=id", "--upload-pack=id", "-e id", "-\n", "-1", "--\nx", "-$(id)", "- x", "--exec=id"}
}

// TestHostileArguments: an argument stays in its element and on standard input, and no element is
// added or removed.
func TestHostileArguments(t *testing.T) {
	if n := len(hostile()) + len(dashed()); n < 130 {
		t.Fatalf("%d arguments", n)
	}
	b := open(t, Options{})
	var harmless []string
	for _, x := range hostile() {
		if !isOption(runtime.GOOS, x) { // /etc/passwd on Windows
			harmless = append(harmless, x)
		}
	}
	for texts := range slices.Chunk(harmless, 10) { // for one command, as starting one is slow
		checkArguments(t, b, texts, []string{"{x}", "--name={x}", "a{x}b{x}"}, []string{"{x}"})
	}
	for texts := range slices.Chunk(dashed(), 10) {
		checkArguments(t, b, texts, []string{"--name={x}"}, []string{"{x}"})
	}
	tool := sourcetest.Tool(t, b, spec("received", "", "{x}"))
	for _, x := range dashed() {
		if r, err := tool.Call(t.Context(), json.RawMessage(object(x))); err == nil || !strings.Contains(err.Error(), "option") {
			t.Errorf("%q: %v, %v", x, r, err)
		}
	}
}

// checkArguments runs a command with elements for each text, before and after "--".
func checkArguments(t *testing.T, b bridge.Backend, texts, before, after []string) {
	t.Helper()
	command, want, arguments := []string{"first"}, []string{"first"}, map[string]string{}
	add := func(elements []string) {
		for i, x := range texts {
			name := "{x" + strconv.Itoa(i) + "}"
			for _, element := range elements {
				command = append(command, strings.ReplaceAll(element, "{x}", name))
				want = append(want, strings.ReplaceAll(element, "{x}", x))
			}
			arguments[strings.Trim(name, "{}")] = x
		}
	}
	add(before)
	command, want = append(command, "--"), append(want, "--")
	add(after)
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	var got received
	r := sourcetest.Do(t, sourcetest.Tool(t, b, spec("received", `"maxBytes":10000000`, append(command, "last")...)), string(raw))
	if json.Unmarshal(r.Structured(), &got) != nil || !slices.Equal(got.Argv, append(want, "last")) || got.Stdin != string(raw)+"\n" {
		t.Errorf("%.60q: got %.300s", texts, r.JSON)
	}
}

// object returns the arguments {"x": x}.
func object(x string) string {
	b, _ := json.Marshal(map[string]string{"x": x})
	return string(b)
}

// TestRefusedArguments: an argument that an argument vector cannot hold is refused.
func TestRefusedArguments(t *testing.T) {
	b := open(t, Options{})
	for _, c := range []struct{ element, arguments, want string }{
		{"{x}", `{"x":"\u0000"}`, "NUL"},
		{"--n={x}", `{"x":"a\u0000b"}`, "NUL"},
		{"--n={x}", `{"x":["a\u0000"]}`, ""}, // JSON text, in which the NUL is \u0000
		{"{x}", `{"x":"` + strings.Repeat("a", maxElement+1) + `"}`, "at most"},
		{"{x}", `{}`, "missing argument: x"},
		{"{x}", `{"x":null}`, "missing argument: x"},
		{"{x}", `{"X":"a"}`, "missing argument: x"},
		{"{x}", `{"x":-5}`, "option"},
		{"{x}{y}", `{"x":"","y":"-o"}`, "option"},
		{"{x}{y}", `{"x":"-","y":"o"}`, "option"},
		{"{x}.txt", `{"x":"-o"}`, "option"},
	} {
		r, err := sourcetest.Tool(t, b, spec("argv", "", c.element)).Call(t.Context(), json.RawMessage(c.arguments))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 200) {
			t.Errorf("%s %.60s: %v, %v", c.element, c.arguments, r, err)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ element, arguments, want string }{
		{"plain", `{}`, "plain"},
		{"", `{}`, ""},
		{"{x}", `{"x":1.50}`, "1.50"},
		{"{x}", `{"x":12345678901234567890}`, "12345678901234567890"},
		{"{x}", `{"x":true}`, "true"},
		{"{x}", `{"x":["a b",1]}`, `["a b",1]`},
		{"{x}", `{"x":{"a":"b"}}`, `{"a":"b"}`},
		{"{x}", `{"x":"{y}","y":"no"}`, "{y}"},
		{"{user.id}-{a-b}", `{"user.id":1,"a-b":2}`, "1-2"},
		{"{{x}}", `{"x":1}`, "{x}"},
		{"{{x}", `{"x":1}`, "{1"},
		{"{x}}", `{"x":1}`, "1}"},
		{"{{{x}}}", `{"x":1}`, "{{x}}"},
		{"{print $1}", `{}`, "{print $1}"},
		{"{}", `{}`, "{}"},
		{"{1}", `{"1":2}`, "{1}"},
		{"{a:{b:1}}", `{}`, "{a:{b:1}}"},
		{"-n{x}", `{"x":"-1"}`, "-n-1"},
		{"-n{x}", `{}`, "(left out)"},
		{"-n{x}", `{"x":null}`, "(left out)"},
		{"{x}", `{"x":"a","x":"b"}`, "b"},
	} {
		got, ok, err := parseTemplate(c.element).expand(maps.Collect(wire.Members([]byte(c.arguments))), false)
		if !ok {
			got = "(left out)"
		}
		if err != nil || got != c.want {
			t.Errorf("%s %s: got %q, %v, want %q", c.element, c.arguments, got, err, c.want)
		}
	}
}

// FuzzExpand: an argument cannot add a NUL, become an option or change the fixed text.
func FuzzExpand(f *testing.F) {
	for _, x := range append(hostile(), dashed()...) {
		if len(x) < 1000 {
			f.Add("{x}", x)
			f.Add("a{x}{{x}}b", x)
			f.Add(x, "-x")
		}
	}
	f.Fuzz(func(t *testing.T, element, x string) {
		c := &command{args: []template{parseTemplate(element)}, dashes: 1}
		args, err := c.expand(json.RawMessage(object(x)))
		if err != nil || len(args) == 0 {
			return
		}
		if len(args) != 1 || !strings.Contains(element, "\x00") && strings.Contains(args[0], "\x00") {
			t.Fatalf("%q %q: %q", element, x, args)
		}
		if args[0] != "" && args[0][0] == '-' && element[0] != '-' {
			t.Fatalf("%q %q became the option %q", element, x, args[0])
		}
		x = string([]rune(x)) // in JSON, each byte that is not UTF-8 is U+FFFD
		if element == "{x}" && args[0] != x {
			t.Fatalf("%q became %q", x, args[0])
		}
	})
}

// TestHostileCancelled: a call that is canceled before it begins runs nothing.
func TestHostileCancelled(t *testing.T) {
	tool := sourcetest.Tool(t, open(t, Options{}), spec("argv", ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := tool.Call(ctx, json.RawMessage(`{}`)); err == nil {
		t.Errorf("%s", r.JSON)
	}
}

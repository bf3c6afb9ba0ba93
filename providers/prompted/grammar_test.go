package prompted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Texts of each family, and what is read of them, as golden files.
func TestFamilies(t *testing.T) {
	for i := range grammars {
		g := &grammars[i]
		t.Run(g.name, func(t *testing.T) {
			path := filepath.Join("testdata", "families", g.name+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var files []txtar.File
			for _, file := range archive.Files {
				title, ok := strings.CutSuffix(file.Name, ": text")
				if !ok {
					continue
				}
				text := strings.TrimSuffix(string(file.Data), "\n")
				read := scannedIn(g, 1<<20, text)
				if bytewise := scannedIn(g, 1<<20, portions(text, nil)...); bytewise != read {
					t.Errorf("%s: byte by byte\n%s\nwhole\n%s", title, bytewise, read)
				}
				files = append(files, file, txtar.File{Name: title + ": read", Data: []byte(read + "\n")})
			}
			providertest.Golden(t, *update, path, files...)
		})
	}
}

// No text of testdata/texts.txtar means a call, whatever the grammar is. All of it stays text.
func TestNoCalls(t *testing.T) {
	text, err := os.ReadFile("testdata/texts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := txtar.Parse(text).Files
	if len(files) < 200 {
		t.Errorf("%d texts, want 200", len(files))
	}
	for _, file := range files {
		text := string(file.Data)
		for i := range grammars {
			g := &grammars[i]
			want := fmt.Sprintf("%q", text)
			if g.words != "" && text == g.words {
				continue
			}
			for _, pieces := range [][]string{{text}, portions(text, nil)} {
				if got := scannedIn(g, 1<<20, pieces...); got != want {
					t.Errorf("%s, as %s, in %d pieces:\n%s\nwant\n%s", file.Name, g.name, len(pieces), got, want)
				}
			}
		}
	}
}

func TestGrammarOf(t *testing.T) {
	for model, want := range map[string]string{
		"deepseek-ai/DeepSeek-V3.2-Exp": "deepseek-dsml", "deepseek-v4-flash": "deepseek-v4", "DeepSeek-V3.1-Terminus": "deepseek-v3.1",
		"deepseek-ai/DeepSeek-V3-0324": "deepseek-v3", "deepseek-r1:8b": "deepseek-v3", "moonshotai/Kimi-K2-Thinking": "kimi",
		"zai-org/GLM-4.6": "glm", "glm-4.7-flash:q4_K_M": "glm", "glm-4-9b-chat": "hermes", "MiniMaxAI/MiniMax-M2.1": "minimax",
		"gemma4:12b": "gemma4", "google/gemma-4-31B-it": "gemma4", "medgemma-4b-it": "hermes", "gemma3": "hermes",
		"LFM2-8B-A1B": "lfm2", "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama4", "gpt-oss:20b": "harmony",
		"command-a-03-2025": "command-a", "internlm2_5-7b-chat": "internlm", "NVIDIA-Nemotron-Nano-9B-v2": "nemotron",
		"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B": "qwen-coder", "Qwen3-Coder-Next": "qwen-coder", "functionary-medium-v3.2": "functionary",
		"swiss-ai/Apertus-8B-Instruct-2509": "apertus", "Hermes-2-Pro-Mistral-7B": "hermes", "mistral-small3.2": "mistral", "": "hermes",
	} {
		if got := grammarOf("", model); got == nil || got.name != want {
			t.Errorf("%s: %v, want %s", model, got, want)
		}
	}
	if g := grammarOf("react", "gpt-oss"); g == nil || g.name != "react" {
		t.Errorf("a name does not override the model: %v", g)
	}
	_, err := New(&behind{}, Options{Grammar: "hermess"}).Turn(t.Context(), request(), nil)
	if err == nil || !strings.Contains(err.Error(), `unknown grammar "hermess" (known: hermes, qwen-coder,`) {
		t.Errorf("an unknown grammar: %v", err)
	}
}

// The docs name each grammar.
func TestDocs(t *testing.T) {
	docs, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Grammars() {
		if !strings.Contains(string(docs), "`"+name+"`") {
			t.Errorf("docs/config.md does not name the grammar %s", name)
		}
	}
}

// A model that repeats a result, whose tool wrote calls or results in it, makes no call and no result.
func TestRepeatedResults(t *testing.T) {
	for i := range grammars {
		g := &grammars[i]
		w := g.written()
		for _, text := range []string{example(g), "a\n" + example(g) + w.result.open + "x" + w.result.end, `["` + w.call.open + w.turn.open + `"]`} {
			sent := string(testSyntax().resultJSON(text))
			got := scannedIn(g, 1<<20, "The result:\n"+sent)
			if want := fmt.Sprintf("%q", "The result:\n"+sent); got != want {
				t.Errorf("%s:\n%s\nwant\n%s", g.name, got, want)
			}
		}
	}
}

// scannedIn is scanned in a grammar.
func scannedIn(g *grammar, most int, portions ...string) string {
	return emitted(func(out func(piece)) *scanner {
		return newScannerIn(g, most, out)
	}, portions...)
}

// Each grammar reads the calls that it writes.
func TestWritten(t *testing.T) {
	calls := []*providers.Call{
		{Name: "get_weather", Arguments: []byte(`{"location":"Rome, \"it's\" <b> {[\\]} \n é"}`)},
		{Name: "add", Arguments: []byte(`{"a":-1.5,"b":[true,null,{"x":"y"}]}`)},
		{Name: "add", Arguments: []byte(`{}`)},
	}
	for i := range grammars {
		g := &grammars[i]
		w := writer{grammar: g.written(), history: &history{}, req: request()}
		text := "I look.\n" + string(w.appendCalls(nil, calls))
		var got []string
		for line := range strings.SplitSeq(scannedIn(g, 1<<20, portions(text, []byte{4})...), "\n") {
			if name, arguments, ok := strings.Cut(line, " {"); ok && !strings.HasPrefix(line, `"`) {
				line = name + " " + sorted([]byte("{"+arguments))
			}
			got = append(got, line)
		}
		want := fmt.Sprintf("%q\n", "I look.\n")
		for _, c := range calls {
			want += fmt.Sprintf("%s %s\n", c.Name, sorted(c.Arguments))
		}
		if all := strings.Join(got, "\n") + "\n"; all != want {
			t.Errorf("%s:\n%s\nis read as\n%s\nwant\n%s", g.name, text, all, want)
		}
	}
}

// An argument in tags is JSON where its property may be that as well as a string.
func TestUnions(t *testing.T) {
	set := providers.NewToolSet([]toolformat.Tool{{Name: "put", InputSchema: json.RawMessage(`{"type":"object","properties":{
		"text":{"type":"string"},"maybe":{"type":["string","null"]},"whole":{"anyOf":[{"type":"string"},{"type":"integer"}]},
		"value":{"oneOf":[{"type":"string"},{"type":"object"},{"type":["array","boolean"]}]},"any":{}}}`)}})
	for argument, want := range map[string]string{
		`text>5`: `"5"`, `text>null`: `"null"`, `any>5`: `"5"`,
		`maybe>null`: `null`, `maybe>None`: `"None"`, `maybe>"null"`: `"\"null\""`,
		`whole>5`: `5`, `whole>1.5`: `"1.5"`, `whole>05`: `"05"`, `whole>`: `""`,
		"value>\n{\"a\": 1}\n": `{"a": 1}`, `value>[1]`: `[1]`, `value>true`: `true`, `value>{a`: `"{a"`, `value>7`: `"7"`,
	} {
		s := emitted(func(out func(piece)) *scanner {
			return newScanner(testSyntax(), grammarOf("qwen-coder", ""), toolsOf(&providers.Request{Tools: set}), 1<<20, out)
		}, "<tool_call><function=put><parameter="+argument+"</parameter></function></tool_call>")
		key, _, _ := strings.Cut(argument, ">")
		if s != `put {"`+key+`":`+want+`}` {
			t.Errorf("%q: %s, want %s", argument, s, want)
		}
	}
	for attribute, want := range map[string]string{``: `5`, ` string="true"`: `"5"`, ` string="false"`: `5`} { // DeepSeek's models say which
		s := emitted(func(out func(piece)) *scanner {
			return newScanner(testSyntax(), grammarOf("deepseek-dsml", ""), toolsOf(&providers.Request{Tools: set}), 1<<20, out)
		}, `<｜DSML｜invoke name="put"><｜DSML｜parameter name="whole"`+attribute+`>5</｜DSML｜parameter></｜DSML｜invoke>`)
		if s != `put {"whole":`+want+`}` {
			t.Errorf("%s: %s, want %s", attribute, s, want)
		}
	}
}

// A call with a parameter that is given again and again takes no time that grows with its square.
func TestManyParameters(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"p":{"type":["string","null"]}`)
	for i := range 300 {
		schema = fmt.Appendf(schema, `,"q%d":{}`, i)
	}
	set := providers.NewToolSet([]toolformat.Tool{{Name: "put", InputSchema: append(schema, "}}"...)}})
	n := 0
	s := newScanner(testSyntax(), grammarOf("qwen-coder", ""), toolsOf(&providers.Request{Tools: set}), 1<<20, func(piece) { n++ })
	begun := time.Now()
	s.write("<tool_call><function=put>" + strings.Repeat("<parameter=p>1</parameter>", 20_000) + "</function></tool_call>")
	s.close()
	if took := time.Since(begun); n != 1 || took > time.Minute { // it took more than two
		t.Errorf("%d calls in %s", n, took)
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
)

// What a prompt takes along: words, what is piped in, files of each type.
func TestPromptParts(t *testing.T) {
	dir := t.TempDir()
	file := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	png := file("a.png", "\x89PNG\r\n\x1a\n")
	large, err := os.Create(filepath.Join(dir, "large"))
	if err == nil {
		err = large.Truncate(maxInput + 1)
		large.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, words, in string
		files           []string
		want            string // type and what there is of each part
		fails           string
	}{
		{"words", "Where is it?", "", nil, `text "Where is it?"`, ""},
		{"piped", "", " Where? \n", nil, `text "Where?"`, ""},
		{"piped, named", "-", "Where?", nil, `text "Where?"`, ""},
		{"both", "Sum up:", "a\nb\n", nil, `text "Sum up:\n\na\nb"`, ""},
		{"files", "Look:", "", []string{png, file("a.txt", "so"), file("a.pdf", "%PDF-1.7"), file("a.wav", "RIFF\x24\x00\x00\x00WAVEfmt "), file("a.svg", "<svg/>"), file("a.json", "{}")},
			`text "Look:" | image image/png a.png | text "<file name=\"a.txt\">\nso\n</file>" | file application/pdf a.pdf | file audio/ a.wav | text "<file name=\"a.svg\">\n<svg/>\n</file>" | text "<file name=\"a.json\">\n{}\n</file>"`, ""},
		{"a file alone", "", "", []string{png}, "image image/png a.png", ""},
		{"misnamed", "", "", []string{file("b.txt", "\x89PNG\r\n\x1a\n")}, "image image/png b.txt", ""},
		{"nothing", "", "", nil, "", "ask: expected a prompt, as in: "},
		{"noise", "", "", []string{file("noise", "\x00\x01\xfe")}, "", "application/octet-stream is not text, an image, a PDF or audio"},
		{"noise piped", "", "\x00\xfe", nil, "", "ask: standard input is not text: attach files with --file"},
		{"too large", "", "", []string{large.Name()}, "", ": larger than 32 MiB"},
		{"missing", "", "", []string{filepath.Join(dir, "none")}, "", "ask: --file "},
		{"a folder", "", "", []string{dir}, "", "is a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts, err := promptParts(t.Context(), strings.Fields(c.words), c.files, strings.NewReader(c.in))
			if c.fails != "" {
				if code := exitCode(t.Context(), err, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.fails) || code != exitUsage && c.name != "a folder" {
					t.Errorf("%v (exit code %d), want %s", err, code, c.fails)
				}
				return
			}
			var got []string
			for _, p := range parts {
				switch p.Type {
				case providers.PartText:
					got = append(got, fmt.Sprintf("text %q", p.Text))
				default:
					kind, _, _ := strings.Cut(p.MimeType, "wav") // x-wav, vnd.wave, …: as the system calls it
					kind, _, _ = strings.Cut(kind, "x-")
					kind, _, _ = strings.Cut(kind, "vnd.")
					got = append(got, fmt.Sprintf("%s %s %s", p.Type, kind, p.Name))
				}
			}
			if all := strings.Join(got, " | "); err != nil || all != c.want {
				t.Errorf("%s, %v\nwant %s", all, err, c.want)
			}
		})
	}
}

// What the flags and the config say reaches the model; a client function does not.
func TestAskSays(t *testing.T) {
	model := chatDouble(t, chatSays("Yes."), chatSays("Yes."))
	file := filepath.Join(t.TempDir(), config.FileName)
	text := fmt.Sprintf(`{
		"tools": [{"name":"chart","description":"Draws.","parameters":{"type":"object"}}, {"name":"CurrentTime","description":"The time.","input_schema":{"type":"object"},"kind":"local"}],
		"providers": {"double":{"type":"openai","baseUrl":%q,"model":"m","maxTokens":77,"temperature":0.5,"topP":0.25,"body":{"seed":3}}},
		"loop": {"system":"Be brief."}}`, model.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runWith("ask", "Is it?", "--config", file); code != exitDone || out != "Yes.\n" || errs != "" {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	asked := model.Last(t).Body
	for _, want := range []string{`"model":"m"`, `"content":"Be brief."`, `Is it?`, `"temperature":0.5`, `"top_p":0.25`, `"seed":3`, `:77`, `"name":"CurrentTime"`} {
		if !strings.Contains(asked, want) {
			t.Errorf("%s is missing in\n%s", want, asked)
		}
	}
	if strings.Contains(asked, "chart") {
		t.Errorf("the model is told of a client function: %s", asked)
	}
	if code, _, errs := runWith("ask", "Is it?", "--config", file, "--system", "Be kind.", "--model", "other", "--effort", "high", "--tools", "Current*,x"); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	if asked = model.Last(t).Body; !strings.Contains(asked, `"content":"Be kind."`) || !strings.Contains(asked, `"model":"other"`) || strings.Contains(asked, "brief") || !strings.Contains(asked, `"reasoning_effort":"high"`) {
		t.Errorf("the flags do not win: %s", asked)
	}
	for flags, want := range map[string]string{
		"--effort very":   `--effort "very": expected one of none, minimal`,
		"--thinking much": `--thinking "much": expected on, off or a number`,
		"--tools [":       `--tools "[": expected a pattern`,
		"--thinking on":   "thinking: the API of double has no such parameter",
	} {
		if code, _, errs := runWith(append([]string{"ask", "Is it?", "--config", file}, strings.Fields(flags)...)...); code == exitDone || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s", flags, code, errs)
		}
	}
}

// An answer without a word is said to be one.
func TestNothingSaid(t *testing.T) {
	model := chatDouble(t, chatSays(""), chatSays(""), chatSays(""))
	flags := []string{"--provider", "openai", "--base-url", model.URL, "--model", "m"}
	if code, out, errs := runWith(append([]string{"ask", "Is it?"}, flags...)...); code != exitDone || out != "" || !strings.Contains(errs, emptyAnswer) {
		t.Errorf("ask: exit code %d\n%s%s", code, out, errs)
	}
	if code, out, errs := runWith(append([]string{"ask", "Is it?", "--json"}, flags...)...); code != exitDone || strings.Contains(out+errs, emptyAnswer) {
		t.Errorf("ask --json: exit code %d\n%s%s", code, out, errs)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{"chat", "--no-history"}, flags...), streams{in: strings.NewReader("Is it?\n"), out: &out, err: &errs})
	if code != exitDone || !strings.Contains(errs.String(), emptyAnswer) {
		t.Errorf("chat: exit code %d\n%s%s", code, out.String(), errs.String())
	}
}

// Ctrl-C while the model thinks ends the command at once.
func TestAskInterrupted(t *testing.T) {
	for _, flag := range []string{"--json=false", "--json"} {
		ctx, interrupt := context.WithCancel(t.Context())
		model := sourcetest.NewAPI(t, func(_ http.ResponseWriter, r *http.Request) {
			interrupt()
			<-r.Context().Done()
		})
		var out, errs bytes.Buffer
		code := run(ctx, []string{"ask", "Go!", flag, "--provider", "openai", "--base-url", model.URL, "--model", "m"}, streams{in: strings.NewReader(""), out: &out, err: &errs})
		if code != exitInterrupted || len(model.Requests()) != 1 {
			t.Errorf("%s: exit code %d\n%s%s", flag, code, out.String(), errs.String())
		}
		if flag == "--json" && !strings.Contains(out.String(), `"code":"canceled"`) {
			t.Errorf("the last event: %s", out.String())
		}
	}
}

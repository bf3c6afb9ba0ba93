package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
)

// secretMark is in every value of the cases that must not be told.
const secretMark = "s3cr3t"

// TestConfigGolden loads each testdata/*.txtar. A file there is a list of cases, each three sections or four:
//
//	-- a name/mcpbridge.json --  the config
//	-- a name/env --             KEY=VALUE lines: the whole environment
//	-- a name/file/… --          files beside the config
//	-- a name/want --            what comes of it, as [describeConfig] says it
//
// With UPDATE_GOLDEN=1 in the environment the want sections are written anew.
func TestConfigGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases := map[string]map[string][]byte{}
		for _, f := range archive.Files {
			name, file, _ := strings.Cut(f.Name, "/")
			if cases[name] == nil {
				cases[name] = map[string][]byte{}
			}
			cases[name][file] = f.Data
		}
		base := strings.TrimSuffix(filepath.Base(path), ".txtar")
		got := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			t.Run(base+"/"+name, func(t *testing.T) {
				got[name] = loadCase(t, cases[name])
				if want := string(cases[name]["want"]); got[name] != want && os.Getenv("UPDATE_GOLDEN") == "" {
					t.Errorf("got:\n%s\nwant:\n%s", got[name], want)
				}
			})
		}
		if os.Getenv("UPDATE_GOLDEN") != "" {
			updateGolden(t, path, archive, got)
		}
	}
}

func updateGolden(t *testing.T, path string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	for i, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, "/want"); ok {
			archive.Files[i].Data = []byte(got[name])
		}
	}
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// loadCase loads one case in a folder of its own, which the result calls $DIR.
func loadCase(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if rest, ok := strings.CutPrefix(name, "file/"); ok {
			to := filepath.Join(dir, rest)
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	env, err := envfile.Parse(files["env"])
	if err != nil {
		t.Fatal(err)
	}
	types := []string{"anthropic", "openai", "openai-responses", "gemini", "ollama", "prompted", TypeReplay}
	c, err := Loader{Getenv: getenvOf(env), ProviderTypes: types}.Parse(filepath.Join(dir, FileName), bytes.TrimSuffix(files["mcpbridge.json"], []byte("\n")))
	told := fmt.Sprint(err)
	if c != nil {
		told += strings.Join(c.Warnings, "\n")
		for _, s := range c.Servers {
			told += fmt.Sprint(s.Fault)
		}
		for _, p := range c.Providers {
			told += fmt.Sprint(p.Fault)
		}
	}
	if strings.Contains(told, secretMark) {
		t.Errorf("a secret is told:\n%s", told)
	}
	out := strings.ReplaceAll(describeConfig(c, err), dir+string(filepath.Separator)+FileName, FileName)
	return filepath.ToSlash(strings.ReplaceAll(out, dir, "$DIR"))
}

func getenvOf(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// describeConfig is the error, or every field that is not zero, a line each.
func describeConfig(c *Config, err error) string {
	var out strings.Builder
	if err != nil {
		fmt.Fprintln(&out, err)
		return out.String()
	}
	for i := range c.Warnings {
		fmt.Fprintln(&out, "warning", c.Warnings[i])
	}
	describe(&out, "", reflect.ValueOf(*c))
	return out.String()
}

func describe(out *strings.Builder, path string, v reflect.Value) {
	if v.IsZero() || !v.CanInterface() || path == "Path" || path == "Dir" || path == "Warnings" {
		return
	}
	switch x := v.Interface().(type) {
	case error, time.Duration, netip.Prefix:
		fmt.Fprintf(out, "%s: %v\n", path, x)
		return
	case []Server:
		for _, s := range x {
			describe(out, s.Name, reflect.ValueOf(s))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Struct {
			describe(out, path, v.Elem())
			return
		}
		fmt.Fprintf(out, "%s: %#v\n", path, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Name" {
				describe(out, strings.TrimPrefix(path+"."+name, "."), v.Field(i))
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			if of := v.MapIndex(k); of.Kind() == reflect.String {
				fmt.Fprintf(out, "%s[%s]: %q\n", path, k, of)
			} else {
				describe(out, fmt.Sprintf("%s[%s]", path, k), of)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			fmt.Fprintf(out, "%s: %q\n", path, v)
			return
		}
		for i := range v.Len() {
			describe(out, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	default:
		fmt.Fprintf(out, "%s: %#v\n", path, v)
	}
}

func TestLoadPlaces(t *testing.T) {
	here, home := t.TempDir(), t.TempDir()
	t.Chdir(here)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	t.Setenv("AppData", home)

	_, err := Load("")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no config found at mcpbridge.json or "+home) ||
		!strings.Contains(err.Error(), "--upstream URL") {
		t.Errorf("no config anywhere: %v", err)
	}
	users, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, listen string) string {
		t.Helper()
		data := fmt.Appendf(nil, `{"listen": %q}`, listen)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	load := func(path string) *Config {
		t.Helper()
		c, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mine := write(filepath.Join(users, "mcpbridge", FileName), "127.0.0.1:1")
	if c := load(""); c.Path != mine || c.Dir != filepath.Dir(mine) || c.Listen != "127.0.0.1:1" {
		t.Errorf("the user's config: %+v", c)
	}
	write(FileName, "127.0.0.1:2")
	if c := load(""); c.Path != FileName || !filepath.IsAbs(c.Dir) || c.Listen != "127.0.0.1:2" {
		t.Errorf("this folder's config: %+v", c)
	}
	if c := load(write(filepath.Join("sub", "my.json"), ":3")); c.Path != filepath.Join("sub", "my.json") || filepath.Base(c.Dir) != "sub" {
		t.Errorf("a named config: %+v", c)
	}
	if _, err := Load("absent.json"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "absent.json") {
		t.Errorf("a named config that is not there: %v", err)
	}
	if _, err := Load(here); err == nil {
		t.Error("a folder is loaded")
	}
}

func TestConfigTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.json")
	if err := os.WriteFile(path, bytes.Repeat([]byte(" "), maxFileSize+10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.HasSuffix(err.Error(), "big.json: larger than 16 MiB") {
		t.Error(err)
	}
}

// TestConfigHostile: large files made to be slow or to break the parser end soon, with an error.
func TestConfigHostile(t *testing.T) {
	const size = 1 << 20
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, size/len(unit)) + after
	}
	var unset strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&unset, "${A%d}", i)
	}
	for name, data := range map[string]string{
		"nested arrays":      fill("", "[", ""),
		"nested objects":     fill("", `{"a":`, ""),
		"many unknown keys":  fill(`{`, `"comand":1,`, `}`),
		"one long key":       fill(`{"`, "mcpServers", `":1}`),
		"long string":        fill(`{"listen":"`, "x", `"}`),
		"variables unclosed": fill(`{"listen":"`, "${", `"}`),
		"variables empty":    fill(`{"listen":"`, "${}", `"}`),
		"glob":               fill(`{"mcpServers":{"a":{"url":"http://a","include":["`, "*[", `"]}}}`),
		"servers":            fill(`{"mcpServers":{`, `"a":{},`, `}}`),
		"unset variables":    `{"mcpServers":{"a":{"command":"` + unset.String() + `"}},"x":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Loader{Getenv: getenvOf(nil)}.Parse("", []byte(data))
			if err == nil {
				t.Fatal("loads")
			}
			if text := err.Error(); len(text) > 10_000 || strings.Count(text, "\n") > maxShown {
				t.Errorf("an error of %d bytes", len(text))
			}
		})
	}
}

func TestConfigManyErrors(t *testing.T) {
	data := `{"limits":{` + strings.Repeat("\"sessions\":\"x\",\n", 25) + `}}`
	_, err := Loader{}.Parse("", []byte(data))
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != maxShown+1 || lines[maxShown] != "mcpbridge.json: and 29 more" { // 25 of type, 24 of twice
		t.Errorf("%d lines, last %q", len(lines), lines[len(lines)-1])
	}
}

// TestConfigZeroEnv: no getenv means the process's own environment.
func TestConfigZeroEnv(t *testing.T) {
	t.Setenv("MCPBRIDGE_TEST_LISTEN", "127.0.0.1:9")
	c, err := Loader{}.Parse("", []byte(`{"listen":"${MCPBRIDGE_TEST_LISTEN}"}`))
	if err != nil || c.Listen != "127.0.0.1:9" {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, "/mcpbridge.json") {
				f.Add(file.Data)
			}
		}
	}
	env := getenvOf(map[string]string{"HOME": "/home/me", "SECRET": secretMark, "EMPTY": "", "DOLLAR": "a${$"})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Loader{Getenv: env}.Parse("fuzz.json", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("%v, %v: neither or both", c, err)
		}
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "fuzz.json:") {
					t.Fatalf("an error without a place: %q", line)
				}
			}
			return
		}
		for _, s := range c.Servers {
			if s.Name == "" || s.Line < 1 {
				t.Fatalf("server %+v", s)
			}
			ways := 0
			for _, way := range []string{s.Command, s.URL, s.Lender} {
				if way != "" {
					ways++
				}
			}
			if s.Fault == nil && ways != 1 {
				t.Fatalf("reached in %d ways: %+v", ways, s)
			}
		}
	})
}

// TestConfigEncoding: what is not UTF-8 is said where it begins, and that nesting has an end.
func TestConfigEncoding(t *testing.T) {
	nested := func(levels int) string {
		return `{"inputs":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
	}
	for data, want := range map[string]string{
		"{\"a\ufffdb\":\n\"\xff\"}":   "mcpbridge.json:2:2: not UTF-8: save the file as UTF-8",
		"\xff\xfe{\x00}\x00":          "mcpbridge.json:1:1: not UTF-8: save the file as UTF-8",
		nested(maxNesting):            "",
		nested(maxNesting + 1):        "mcpbridge.json:1:110: nested deeper than 100 levels",
		"{} // a\u2028b\n":            "mcpbridge.json:1:8: a line comment with a Unicode line separator in it",
		`{"listen":":1" /* " { */}`:   "",
		"{\"x\": 1} /":                "mcpbridge.json:1:10: expected the end of the file",
		"{\"listen\":\"a\\ud800:1\"}": "",
	} {
		_, err := Loader{}.Parse("", []byte(data))
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("%q: got %s, want %s", data, got, want)
		}
	}
}

func TestAutoToken(t *testing.T) {
	c, err := Loader{}.Parse("a.json", []byte(`{"mcpServers": {}, "tokens": "auto"}`))
	if err != nil || !c.AutoToken || c.Tokens != nil || c.Principals() != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
}

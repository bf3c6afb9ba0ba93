package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
)

// keep makes a state folder with a secret.
func keep(t *testing.T, name, value string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("LOCALAPPDATA", os.Getenv("XDG_STATE_HOME"))
	t.Setenv(secret.KeyVariable, strings.Repeat("k", 32))
	save(t, name, value)
}

func save(t *testing.T, name, value string) {
	t.Helper()
	s, err := secret.Of(secret.Config)
	if err == nil {
		err = s.Save(name, []byte(value))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// References are filled in where variables are, only by a loader that looks them up, and their files are
// those of the config.
func TestReferences(t *testing.T) {
	keep(t, "GITHUB", "kept-by-the-keychain-"+secretMark)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("file-"+secretMark+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const text = `{"mcpServers": {
		"a": {"url": "http://x/${keychain:GITHUB}", "headers": {"Authorization": "Bearer ${file:token}"}},
		"b": {"command": "x", "env": {"A": "$${keychain:GITHUB}"}},
		"c": {"command": "x", "disabled": true, "args": ["${keychain:NONE}"]}},
		"tokens": {"me": "${keychain:GITHUB}"},
		"apis": {"r": {"type": "rest", "url": "http://x", "headers": {"X-A": "${file:token}"}}}}`
	path := filepath.Join(dir, FileName)
	c, err := Loader{References: &References{}}.Parse(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	kept, read := "kept-by-the-keychain-"+secretMark, "file-"+secretMark
	if s := c.Servers[0]; s.Fault != nil || s.URL != "http://x/"+kept || s.Headers["Authorization"] != "Bearer "+read || len(s.Secrets) != 2 {
		t.Errorf("%+v", s)
	}
	if s := c.Servers[1]; s.Env["A"] != "${keychain:GITHUB}" || len(s.Secrets) != 0 {
		t.Errorf("%+v", s)
	}
	if c.Tokens["me"] != kept || !strings.Contains(string(c.APIs[0].Config), read) || !slices.Equal(c.APIs[0].Secrets, []string{read}) {
		t.Errorf("%v %s", c.Tokens, c.APIs[0].Config)
	}
	store, _ := secret.Of(secret.Config)
	for _, file := range []string{filepath.Join(dir, "token"), store.Path()} {
		if !slices.Contains(c.Files(), file) {
			t.Errorf("%s is not among %q", file, c.Files())
		}
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %q", c.Warnings)
	}
	if c, err = (Loader{}).Parse(path, []byte(text)); err != nil || c.Servers[0].Headers["Authorization"] != "Bearer "+standIn {
		t.Errorf("without references: %+v, %v", c, err)
	}
}

// A reference without a value makes its server fail, and the reason says what to do.
func TestReferenceFaults(t *testing.T) {
	keep(t, "GITHUB", "x")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, maxSecretFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for reference, want := range map[string]string{
		"${keychain:OTHER}":     "${keychain:OTHER}: no such secret (mcpbridge secret set OTHER)",
		"${keychain:A:-b}":      "expected a name of letters, digits, _, - and .; ",
		"${file:none}":          filepath.Join(dir, "none") + ": ",
		"${file:}":              "${file:}",
		"${file:.}":             "not a regular file",
		"${file:big}":           "larger than 1 MiB",
		"${file:empty}":         "it is empty",
		"${command:}":           "expected a program",
		"${command:'a}":         "the quote ' is not closed",
		"${command:no-such-it}": `command \"no-such-it\" not found in PATH`,
	} {
		c, err := Loader{References: &References{}}.Parse(filepath.Join(dir, FileName), []byte(`{"mcpServers": {"a": {"command": "x", "args": ["`+reference+`"]}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Servers[0].Fault; got == nil || !strings.Contains(strings.ReplaceAll(got.Error(), `"`, `\"`), want) {
			t.Errorf("%s: %v", reference, got)
		}
	}
}

// A command runs once for all that share References, in the folder of the config, without a shell.
func TestCommandReference(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of this test are those of a POSIX shell")
	}
	t.Setenv(secret.KeyVariable, "hidden-from-commands")
	dir := t.TempDir()
	r := &References{}
	load := func(command string) (*Config, error) {
		text := `{"mcpServers": {"a": {"command": "x", "args": ["${command:` + command + `}"]}}}`
		c, err := Loader{References: r}.Parse(filepath.Join(dir, FileName), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c, c.Servers[0].Fault
	}
	for _, want := range []string{"1", "1"} {
		if c, err := load(`sh -c 'echo x >> runs; grep -c x runs'`); err != nil || c.Servers[0].Args[0] != want {
			t.Errorf("got %+v, want %s", c.Servers[0], want)
		}
	}
	r.Forget()
	if c, _ := load(`sh -c 'echo x >> runs; grep -c x runs'`); c.Servers[0].Args[0] != "2" || !slices.Equal(c.Servers[0].Secrets, []string{"2"}) {
		t.Errorf("got %+v", c.Servers[0])
	}
	if c, err := load(`sh -c 'echo =$` + secret.KeyVariable + `='`); err != nil || c.Servers[0].Args[0] != "==" {
		t.Errorf("got %+v", c.Servers[0])
	}
	for command, want := range map[string]string{
		`sh -c 'echo locked >&2; echo ` + secretMark + `; exit 3'`: "sh: exit status 3: locked",
		`true`:                        "it is empty",
		`sh -c 'yes | head -c 70000'`: "prints more than 64 KiB",
		`yes`:                         "prints more than 64 KiB",
	} {
		if _, err := load(command); err == nil || !strings.HasSuffix(err.Error(), want) || strings.HasSuffix(err.Error(), secretMark) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// A command that takes long keeps no other load waiting, nor Forget.
func TestSlowCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of this test are those of a POSIX shell")
	}
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	r := &References{}
	load := func(command string) string {
		text := `{"mcpServers": {"a": {"command": "x", "args": ["${command:` + command + `}"]}}}`
		c, err := Loader{References: r}.Parse(filepath.Join(dir, FileName), []byte(text))
		if err != nil || c.Servers[0].Fault != nil {
			t.Errorf("%s: %v, %v", command, err, c.Servers[0].Fault)
			return ""
		}
		return c.Servers[0].Args[0]
	}
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}
	var slow sync.WaitGroup
	slow.Go(func() {
		if got := load("cat pipe"); got != "done" {
			t.Errorf("got %q", got)
		}
	})
	out, err := os.OpenFile(pipe, os.O_WRONLY, 0) // when it is read from
	if err != nil {
		t.Fatal(err)
	}
	if got := load("echo quick"); got != "quick" {
		t.Errorf("got %q", got)
	}
	r.Forget()
	if _, err := out.WriteString("done\n"); err != nil {
		t.Error(err)
	}
	out.Close()
	slow.Wait()
}

func TestSplitWords(t *testing.T) {
	for text, want := range map[string][]string{
		`op read "op://a/b c"`:   {"op", "read", "op://a/b c"},
		` a  'b "c\d' e\ f "" `:  {"a", `b "c\d`, "e f", ""},
		`"a\"b\\c\d" C:\x\y 'z'`: {`a"b\c\d`, `C:\x\y`, "z"},
		`a"b"'c'`:                {"abc"},
		`$X | y`:                 {"$X", "|", "y"},
	} {
		if got, err := splitWords(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", `""`, `a "b`, `a 'b`} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// The command of a provider's token runs each time, and is no secret itself.
func TestTokenCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of this test are those of a POSIX shell")
	}
	dir := t.TempDir()
	parse := func(provider string) (*Config, error) {
		text := `{"providers": {"p": {"type": "openai", "baseUrl": "https://a.example", ` + provider + `}}}`
		return Loader{References: &References{}}.Parse(filepath.Join(dir, FileName), []byte(text))
	}
	cfg, err := parse(`"tokenCommand": "sh -c 'echo x >> runs; grep -c x runs'"`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1", "2"} {
		if token, err := cfg.Providers[0].Token(); err != nil || token != want {
			t.Errorf("%q, %v, want %s", token, err, want)
		}
	}
	if cfg, err = parse(`"tokenCommand": "true"`); err != nil {
		t.Fatal(err)
	}
	if token, err := cfg.Providers[0].Token(); err == nil || err.Error() != "true prints nothing" {
		t.Errorf("%q, %v", token, err)
	}
	for text, want := range map[string]string{
		`"tokenCommand": "x", "apiKey": "k"`:  `has both "apiKey" and "tokenCommand": remove one`,
		`"credentials": "aws", "apiKey": "k"`: `"credentials" needs a "baseUrl", and neither "apiKey" nor "tokenCommand"`,
		`"credentials": "oracle"`:             `credentials: unknown value "oracle" (known: aws, azure, google)`,
		`"tokenCommand": "x 'y"`:              "tokenCommand: ",
		`"tokenCommand": ""`:                  "tokenCommand: ",
		`"tokenCommand": ["x"]`:               "tokenCommand: expected a string",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

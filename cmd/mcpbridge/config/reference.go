package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
)

const (
	maxSecretFile  = 1 << 20  // bytes
	maxOutput      = 64 << 10 // bytes of what a command prints
	maxComplaint   = 500      // bytes of what it prints on standard error
	commandTime    = 30 * time.Second
	commandLinger  = time.Second // for the output of what a command has started
	withoutDefault = "${keychain:NAME}, ${file:PATH} and ${command:PROGRAM ARG…} have no default"
)

// standIn is the value of a reference that is not looked up. It is as long as a token must be.
const standIn = "value-of-a-reference"

// References look up ${keychain:NAME}, ${file:PATH} and ${command:PROGRAM ARG…}. Those that share one
// get the same values: a command runs once, and once more after Forget. The zero References is ready, and
// may be used by many goroutines.
type References struct {
	mu      sync.Mutex // guards what follows; held for no work that can take long
	store   *secret.Store
	outputs map[string]func() (string, error) // of commands, by folder and text: the first call runs it
}

// Forget has the commands run again.
func (r *References) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outputs = nil
}

// isReference reports whether ${expr} is a reference.
func isReference(expr string) (kind, what string, is bool) {
	kind, what, is = strings.Cut(expr, ":")
	return kind, what, is && (kind == "keychain" || kind == "file" || kind == "command")
}

// refer returns the value of a reference, or reports why it has none.
func (d *decoder) refer(n node, kind, what string) (value string, ok bool) {
	r := d.loader.References
	if r == nil {
		return standIn, true
	}
	var err error
	switch kind {
	case "keychain":
		value, err = d.keychain(r, what)
	case "file":
		if value, ok = d.secretFile(n, what); !ok {
			return "", false
		}
	case "command":
		value, err = r.output(what, d.dir, d.loader.searchPath())
	}
	if err == nil && value == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		d.lacks(n, "${%s:%s}: %v", kind, hint.Shorten(what), err)
		return "", false
	}
	d.filledIn = append(d.filledIn, value)
	return value, true
}

// keychain returns a secret of the user's store.
func (d *decoder) keychain(r *References, name string) (string, error) {
	if !secret.IsName(name) {
		return "", fmt.Errorf("expected %s; %s", secret.NameRule, withoutDefault)
	}
	store, err := r.secrets()
	if err != nil {
		return "", err
	}
	if !slices.Contains(d.envFiles, store.Path()) {
		d.envFiles = append(d.envFiles, store.Path())
	}
	text, err := store.Load(name)
	if err == nil && text == nil {
		err = fmt.Errorf("no such secret (mcpbridge secret set %s)", name)
	}
	return string(text), err
}

// secrets returns the user's store.
func (r *References) secrets() (*secret.Store, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == nil {
		store, err := secret.Of(secret.Config)
		if err != nil {
			return nil, err
		}
		r.store = store
	}
	return r.store, nil
}

// secretFile returns the text of a file, without the end of its last line.
func (d *decoder) secretFile(n node, what string) (string, bool) {
	if what == "" {
		d.lacks(n, "${file:}: expected a path")
		return "", false
	}
	path, ok := d.absolute(n, what, true)
	if !ok {
		return "", false
	}
	d.envFiles = append(d.envFiles, path)
	text, err := file.ReadRegular(path, maxSecretFile)
	if err == nil && !utf8.Valid(text) {
		err = errors.New("not text in UTF-8")
	}
	if err != nil {
		d.lacks(n, "${file:%s}: %s: %v", hint.Shorten(what), path, err)
		return "", false
	}
	if !strings.HasPrefix(path, "/run/secrets/") { // a container's own
		d.guardSecret(n, path)
	}
	return withoutEnd(text), true
}

// withoutEnd returns a text without the end of its last line.
func withoutEnd(text []byte) string {
	return string(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")))
}

// searchPath returns where commands are looked up.
func (l Loader) searchPath() string {
	path, _ := l.Getenv("PATH")
	return path
}

// output returns what a command prints, without the end of its last line. One that fails runs again when it is
// next asked for.
func (r *References) output(command, dir, searchPath string) (string, error) {
	words, err := splitWords(command)
	if err != nil {
		return "", err
	}
	key := dir + "\x00" + command
	r.mu.Lock()
	run := r.outputs[key]
	if run == nil {
		if r.outputs == nil {
			r.outputs = map[string]func() (string, error){}
		}
		outputs := r.outputs // of before the next Forget
		run = sync.OnceValues(func() (string, error) {
			text, err := runFor(words, dir, searchPath)
			if err != nil {
				r.mu.Lock()
				defer r.mu.Unlock()
				delete(outputs, key)
			}
			return withoutEnd(text), err
		})
		outputs[key] = run
	}
	r.mu.Unlock()
	return run()
}

// readTokenCommand reads a command that prints a token, and returns what runs it. It runs each time, as tokens expire.
func readTokenCommand(d *decoder, n node) (func() (string, error), bool) {
	text, ok := readText(d, n)
	if !ok {
		return nil, false
	}
	words, err := splitWords(text)
	if err != nil {
		d.wrongf(n, "%v", err)
		return nil, false
	}
	dir, searchPath := d.dir, d.loader.searchPath()
	return func() (string, error) {
		token, err := runFor(words, dir, searchPath)
		if err == nil && withoutEnd(token) == "" {
			err = fmt.Errorf("%s prints nothing", words[0])
		}
		return withoutEnd(token), err
	}, true
}

// runFor runs a command and returns its output. It gets the environment of this process without the key of
// the secrets.
func runFor(words []string, dir, searchPath string) ([]byte, error) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, secret.KeyVariable+"=") })
	env = append(env, "PATH="+searchPath)
	path, err := process.Command{Path: words[0], Env: env, Dir: dir}.Lookup()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	out, complaint := &start{most: maxOutput, only: true}, &start{most: maxComplaint}
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, env, out, complaint, commandLinger
	switch err = cmd.Run(); {
	case errors.Is(err, exec.ErrWaitDelay): // it has ended, and something that it has started has not
		err = nil
	case ctx.Err() != nil:
		err = fmt.Errorf("not done after %s", commandTime)
	case errors.Is(err, fs.ErrPermission):
		err = errors.New("not executable")
	}
	switch said := strings.TrimSpace(strings.ToValidUTF8(string(complaint.text), "?")); {
	case out.more:
		return nil, fmt.Errorf("%s prints more than %d KiB", filepath.Base(words[0]), maxOutput>>10)
	case err != nil && said != "":
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(words[0]), err, said)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", filepath.Base(words[0]), err)
	case !utf8.Valid(out.text):
		return nil, fmt.Errorf("%s does not print text in UTF-8", filepath.Base(words[0]))
	}
	return out.text, nil
}

// A start keeps the start of what is written.
type start struct {
	most int
	only bool // more is an error of the writer, which a command does not survive
	text []byte
	more bool
}

func (s *start) Write(p []byte) (int, error) {
	kept := p[:min(len(p), s.most-len(s.text))]
	s.text, s.more = append(s.text, kept...), s.more || len(kept) < len(p)
	if s.more && s.only {
		return len(kept), io.ErrShortWrite
	}
	return len(p), nil
}

// splitWords splits a command into its words, as a shell does without its variables, patterns and
// operators: '…' has no escapes, and elsewhere a backslash does something before a quote, a backslash or,
// outside of quotes, a blank.
func splitWords(text string) (words []string, err error) {
	var word []byte
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		blank := c == ' ' || c == '\t' || c == '\n'
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text) && (strings.IndexByte(`"'\`, text[i+1]) >= 0 || quote == 0 && text[i+1] == ' '):
			i++
			word, inWord = append(word, text[i]), true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote == 0 && blank && inWord:
			words, word, inWord = append(words, string(word)), nil, false
		case quote == 0 && blank:
		default:
			word, inWord = append(word, c), true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	case inWord:
		words = append(words, string(word))
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("expected a program and its arguments")
	}
	return words, nil
}

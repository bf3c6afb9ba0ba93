package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ergochat/readline"
)

// Keys that the line editor does not get unchanged.
const (
	keyInterrupt = 0x03 // Ctrl-C
	keyEnd       = 0x04 // Ctrl-D
	keySuspend   = 0x1a // Ctrl-Z: suspending would leave the terminal in raw mode
	keyEscape    = 0x1b
	pasteBegin   = "\x1b[200~"
	pasteEnd     = "\x1b[201~"
)

// Private-use characters stand for line breaks and for pasted tabs in the edited line: the editor
// ends a line with the one key, and completes a word with the other.
const (
	lineBreak = '\ue000'
	pastedTab = '\ue001'
)

var (
	reserved   = strings.NewReplacer(string(lineBreak), "\ufffd", string(pastedTab), "\ufffd")
	toEditor   = strings.NewReplacer("\n", string(lineBreak), "\t", string(pastedTab))
	fromEditor = strings.NewReplacer(string(lineBreak), "\n", string(pastedTab), "\t")
	asShown    = strings.NewReplacer(string(lineBreak), "␤", string(pastedTab), "⇥")
)

const (
	maxAhead  = 1 << 20 // bytes of unread input
	maxPaste  = 1 << 20 // bytes of a paste
	maxPastes = 100     // long pastes that are kept
	maxInline = 200     // bytes of a paste that is shown in full
)

// keyboard reads a terminal in raw mode. It reads all the time, so that Ctrl-C works while no line
// is edited; other input waits.
//
// A paste stays together: its line breaks do not end the line. Of a long paste only the size is
// shown.
type keyboard struct {
	bell func()

	mu      sync.Mutex // guards the fields below
	arrived sync.Cond
	ahead   []byte        // input for the editor
	replies []byte        // replies of the terminal, which precede the input
	cancel  func()        // the effect of Ctrl-C; nil passes it to the editor
	rest    []byte        // the beginning of an incomplete key
	paste   *bytes.Buffer // the paste that is being read; nil without one
	pastes  []paste       // long pastes, the latest last
	count   int           // long pastes so far
	closed  bool

	asking   bool      // a single key is awaited: pastes and escape sequences are dropped
	answered bool      // the key before was the answer: an Enter after it is dropped
	typed    time.Time // when the last key came; zero if it was a control key or an answer
	word     time.Time // when the last letter of a word came that is not an answer
}

type paste struct {
	label string // shown in its place
	text  string
}

// newKeyboard reads a terminal until its end. A read cannot be canceled, so the last one ends with
// the program.
func newKeyboard(in io.Reader, bell func()) *keyboard {
	k := &keyboard{bell: bell}
	k.arrived.L = &k.mu
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := in.Read(buffer)
			k.take(buffer[:n])
			if err != nil {
				k.close()
				return
			}
		}
	}()
	return k
}

// close ends the input.
func (k *keyboard) close() { k.change(func() { k.closed = true }) }

// change changes the fields that mu guards.
func (k *keyboard) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
	k.arrived.Broadcast()
}

// onInterrupt sets the effect of Ctrl-C; nil passes it to the editor.
func (k *keyboard) onInterrupt(cancel func()) { k.change(func() { k.cancel = cancel }) }

// begin drops replies to the previous line.
func (k *keyboard) begin() { k.change(func() { k.replies = nil }) }

// reply adds a reply of the terminal.
func (k *keyboard) reply(s string) { k.change(func() { k.replies = append(k.replies, s...) }) }

// Read implements io.Reader. It returns at most one line, so that the editor buffers no other.
func (k *keyboard) Read(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.replies) == 0 && len(k.ahead) == 0 {
		if k.closed {
			return 0, io.EOF
		}
		k.arrived.Wait()
	}
	if len(k.replies) > 0 {
		n := copy(p, k.replies)
		k.replies = k.replies[n:]
		return n, nil
	}
	n := len(k.ahead)
	if end := bytes.IndexByte(k.ahead, '\r'); end >= 0 {
		n = end + 1
	}
	n = copy(p, k.ahead[:n])
	k.ahead = k.ahead[n:]
	return n, nil
}

// take adds input.
func (k *keyboard) take(typed []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.paste == nil && len(typed) > 0 && len(k.rest) == 1 && typed[0] != '[' && typed[0] != 'O' {
		k.rest = nil // Escape by itself
	}
	b := append(k.rest, typed...)
	k.rest = nil
	for len(b) > 0 {
		n := k.pasted(b)
		if k.paste == nil && n == 0 {
			n = k.key(b)
		}
		if n == 0 { // more of it must come
			k.rest = bytes.Clone(b)
			break
		}
		b = b[n:]
	}
	k.arrived.Broadcast()
}

// pasted consumes the beginning of b that belongs to a paste, and returns its length.
func (k *keyboard) pasted(b []byte) int {
	if k.paste == nil {
		if bytes.HasPrefix(b, []byte(pasteBegin)) {
			k.paste = new(bytes.Buffer)
			return len(pasteBegin)
		}
		return 0
	}
	n := bytes.IndexByte(b, keyEscape)
	switch {
	case n < 0:
		n = len(b)
	case bytes.HasPrefix(b[n:], []byte(pasteEnd)):
		k.keep(b[:n])
		k.insert(k.paste.String())
		k.paste = nil
		return n + len(pasteEnd)
	case n == 0 && strings.HasPrefix(pasteEnd, string(b)):
		return 0
	case n == 0:
		n = 1
	}
	k.keep(b[:n])
	return n
}

// keep adds to the paste, up to maxPaste.
func (k *keyboard) keep(b []byte) { k.paste.Write(b[:min(len(b), maxPaste-k.paste.Len())]) }

// insert inserts a paste into the line.
func (k *keyboard) insert(text string) {
	if k.asking {
		k.bell()
		return
	}
	cut := len(text) >= maxPaste
	text = strings.Trim(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
	if breaks := strings.Count(text, "\n"); len(text) > maxInline || breaks > 3 {
		k.count++
		p := paste{label: pasteLabel(k.count, breaks, text, cut), text: text}
		k.pastes = append(k.pastes[max(0, len(k.pastes)-maxPastes+1):], p)
		text = p.label
	}
	k.push([]byte(toEditor.Replace(reserved.Replace(Clean(text)))))
}

// pasteLabel returns the text that represents a long paste.
func pasteLabel(n, breaks int, text string, cut bool) string {
	size := fmt.Sprintf("%d characters", utf8.RuneCountInString(text))
	if breaks > 0 {
		size = fmt.Sprintf("%d lines", breaks+1)
	}
	if cut {
		size += fmt.Sprintf(", cut after %d KiB", maxPaste>>10)
	}
	return fmt.Sprintf("[paste %d: %s]", n, size)
}

// expand replaces the labels of pastes in an edited line with their texts.
func (k *keyboard) expand(line string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	line = fromEditor.Replace(line)
	for _, p := range k.pastes {
		line = strings.ReplaceAll(line, p.label, p.text)
	}
	return line
}

// key consumes a special key, or all bytes before the next one, and returns the length.
func (k *keyboard) key(b []byte) int {
	switch b[0] {
	case keyInterrupt:
		if k.cancel != nil {
			k.ahead = nil
			k.cancel()
		} else {
			k.push(b[:1])
		}
		return 1
	case keySuspend:
		return 1
	case '\n': // Ctrl-J
		k.push([]byte(string(lineBreak)))
		return 1
	case keyEscape:
		return k.escape(b)
	}
	n := bytes.IndexAny(b, "\x03\x1a\n\x1b")
	if n < 0 {
		n = len(b)
	}
	k.push(b[:n])
	return n
}

// escape consumes a key that begins with Escape, which alone has no effect.
func (k *keyboard) escape(b []byte) int {
	switch {
	case len(b) == 1, len(b) < len(pasteBegin) && strings.HasPrefix(pasteBegin, string(b)):
		return 0
	case k.asking:
		return sequenceSize(b)
	case b[1] == '\r' || b[1] == '\n': // Alt-Enter
		k.push([]byte(string(lineBreak)))
		return 2
	case b[1] < ' ' || b[1] == 0x7f: // Escape, and then another key
		return 1
	}
	k.push(b[:2])
	return 2
}

// push passes bytes to the editor, up to maxAhead.
func (k *keyboard) push(b []byte) {
	if len(k.ahead)+len(b) > maxAhead {
		k.bell()
		return
	}
	k.ahead, k.typed = append(k.ahead, b...), time.Now()
	if len(b) > 0 && b[len(b)-1] < ' ' { // such a key, as Enter or Ctrl-C, is in no word
		k.typed = time.Time{}
	}
}

// errInterrupted is Ctrl-C while a line is edited.
var errInterrupted = errors.New("interrupted")

// An editor edits lines in a terminal that is in raw mode.
type editor struct {
	keys    *keyboard
	lines   *readline.Instance
	resized func() // makes lines query the size of the terminal
}

// queryCursor asks for the cursor's position, which is always the beginning of a line.
const queryCursor = "\x1b[6n"

// A completer returns what the last word of a line may become. A word that ends in = or / goes on; any other
// is followed by a blank.
type completer func(line string) []string

// Do implements readline.AutoCompleter: it returns what is missing of each word, and the length of what there is.
func (c completer) Do(line []rune, at int) (rest [][]rune, length int) {
	before := string(line[:at])
	word := before[strings.LastIndex(before, " ")+1:]
	for _, whole := range c(before) {
		if !strings.HasSuffix(whole, "=") && !strings.HasSuffix(whole, "/") {
			whole += " "
		}
		rest = append(rest, []rune(strings.TrimPrefix(whole, word)))
	}
	return rest, len([]rune(word))
}

// newEditor returns an editor of the input of keys, which is shown on out.
func newEditor(keys *keyboard, out io.Writer, size func() (columns, rows int), complete func(line string) []string) (*editor, error) {
	e := &editor{keys: keys, resized: func() {}}
	var err error
	e.lines, err = readline.NewFromConfig(&readline.Config{
		Stdin:              e,
		Stdout:             &rawOutput{out: out, keys: keys},
		Stderr:             io.Discard,
		FuncIsTerminal:     func() bool { return true },
		FuncMakeRaw:        func() error { return nil },
		FuncExitRaw:        func() error { return nil },
		FuncGetSize:        size,
		FuncOnWidthChanged: func(look func()) { e.resized = look },
		Painter: func(line []rune, _ int) []rune { // as it is shown
			return []rune(asShown.Replace(string(line)))
		},
		AutoComplete:           completer(complete),
		HistoryLimit:           1000,
		DisableAutoSaveHistory: true,
		Undo:                   true,
	})
	return e, err
}

// Read implements io.Reader, the input of lines. It queries the terminal's size with each key.
func (e *editor) Read(p []byte) (int, error) {
	n, err := e.keys.Read(p)
	e.resized()
	return n, err
}

// read lets the user edit a line, which begins as prefill. The error is errInterrupted after Ctrl-C
// or the end of ctx, and io.EOF after Ctrl-D in an empty line.
func (e *editor) read(ctx context.Context, prompt, prefill string) (string, error) {
	e.keys.begin()
	stop := context.AfterFunc(ctx, func() { e.keys.reply(string(rune(keyInterrupt))) })
	defer stop()
	e.resized()
	e.lines.SetPrompt(prompt)
	line, err := e.lines.ReadLineWithDefault(prefill)
	if errors.Is(err, readline.ErrInterrupt) {
		err = errInterrupted
	}
	return line, err
}

// rawOutput writes to a terminal in raw mode, where a line feed does not return the carriage.
type rawOutput struct {
	out  io.Writer
	keys *keyboard
}

func (r *rawOutput) Write(p []byte) (int, error) {
	s := string(p)
	if s == queryCursor {
		r.keys.reply("\x1b[1;1R")
		return len(p), nil
	}
	_, err := io.WriteString(r.out, strings.ReplaceAll(s, "\n", "\r\n"))
	return len(p), err
}

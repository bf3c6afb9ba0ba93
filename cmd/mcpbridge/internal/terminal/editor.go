package terminal

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/ergochat/readline"
)

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

// newEditor returns an editor of the input of keys, which is shown on out.
func newEditor(keys *keyboard, out io.Writer, size func() (columns, rows int), complete []string) (*editor, error) {
	e := &editor{keys: keys, resized: func() {}}
	var words []*readline.PrefixCompleter
	for _, word := range complete {
		words = append(words, readline.PcItem(word))
	}
	var err error
	e.lines, err = readline.NewFromConfig(&readline.Config{
		Stdin:                  typed{e},
		Stdout:                 &rawOutput{out: out, keys: keys},
		Stderr:                 io.Discard,
		FuncIsTerminal:         func() bool { return true },
		FuncMakeRaw:            func() error { return nil },
		FuncExitRaw:            func() error { return nil },
		FuncGetSize:            size,
		FuncOnWidthChanged:     func(look func()) { e.resized = look },
		Painter:                showBreaks,
		AutoComplete:           readline.NewPrefixCompleter(words...),
		HistoryLimit:           1000,
		DisableAutoSaveHistory: true,
		Undo:                   true,
	})
	return e, err
}

// showBreaks returns a line as it is shown.
func showBreaks(line []rune, _ int) []rune {
	return []rune(strings.ReplaceAll(string(line), string(lineBreak), string(breakSign)))
}

// typed is the input of the editor, which queries the terminal's size with each key.
type typed struct{ *editor }

func (t typed) Read(p []byte) (int, error) {
	n, err := t.keys.Read(p)
	t.resized()
	return n, err
}

// read lets the user edit a line, which begins as prefill. The error is errInterrupted after Ctrl-C
// or the end of ctx, and io.EOF after Ctrl-D in an empty line.
func (e *editor) read(ctx context.Context, prompt, prefill string) (string, error) {
	e.keys.begin()
	stop := context.AfterFunc(ctx, e.keys.interrupt)
	defer stop()
	e.resized()
	e.lines.SetPrompt(prompt)
	line, err := e.lines.ReadLineWithDefault(prefill)
	if errors.Is(err, readline.ErrInterrupt) {
		err = errInterrupted
	}
	return line, err
}

// remember adds a line to the history.
func (e *editor) remember(line string) {
	// It cannot fail without a file.
	_ = e.lines.SaveToHistory(strings.ReplaceAll(line, "\n", string(lineBreak)))
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

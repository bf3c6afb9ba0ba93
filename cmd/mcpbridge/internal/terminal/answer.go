package terminal

import (
	"context"
	"io"
	"strings"
	"time"
)

// typing is how long a pause must be to end a word.
const typing = 500 * time.Millisecond

// ask begins a question: keys typed before it are dropped.
func (k *keyboard) ask() { k.change(func() { k.ahead, k.word, k.asking = nil, k.typed, true }) }

// answer waits for one of keys, lower case letters, after ask. Another letter begins a word, which
// is not an answer: its letters are dropped up to Enter or a pause. So is the rest of a word that
// began before ask. The error is errInterrupted after Ctrl-C, io.EOF after Ctrl-D, and the cause of
// ctx after its end.
func (k *keyboard) answer(ctx context.Context, keys string) (byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer func() { k.asking = false }()
	defer context.AfterFunc(ctx, func() { k.change(func() {}) })()
	for {
		for len(k.ahead) == 0 {
			switch {
			case ctx.Err() != nil:
				return 0, context.Cause(ctx)
			case k.closed:
				return 0, io.EOF
			}
			k.arrived.Wait()
		}
		pressed := k.ahead[0]
		k.ahead = k.ahead[1:]
		lower := pressed | 0x20
		switch {
		case pressed == keyInterrupt:
			return 0, errInterrupted
		case pressed == keyEnd:
			return 0, io.EOF
		case pressed == '\r':
			k.word = time.Time{}
		case time.Since(k.word) < typing:
			k.word = time.Now()
		case lower >= 'a' && strings.IndexByte(keys, lower) >= 0:
			k.answered, k.typed = true, time.Time{}
			return lower, nil
		default:
			k.word = time.Now()
			k.bell()
		}
	}
}

// dropEnter drops an Enter that was typed after an answer that needed none.
func (k *keyboard) dropEnter() {
	k.change(func() {
		if k.answered && len(k.ahead) > 0 && k.ahead[0] == '\r' {
			k.ahead = k.ahead[1:]
		}
		k.answered = false
	})
}

// maxSequence bounds an escape sequence, in bytes.
const maxSequence = 64

// sequenceSize returns the length of the escape sequence that b begins with (ECMA-48), or 0 if more
// of it must come.
func sequenceSize(b []byte) int {
	switch b[1] {
	case 'O':
		if len(b) < 3 {
			return 0
		}
		return 3
	case '[':
		for i, c := range b[2:] {
			if c >= 0x40 && c <= 0x7e {
				return i + 3
			}
		}
		if len(b) < maxSequence {
			return 0
		}
		return len(b)
	}
	return 2
}

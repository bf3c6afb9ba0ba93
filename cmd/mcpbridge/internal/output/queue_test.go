package output_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
)

// A line that is too long for a Queue is counted, also where no other one comes after it.
func TestQueueLongLine(t *testing.T) {
	for _, before := range []string{"", "first\n"} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			q := output.NewQueue(w)
			io.WriteString(q, before)
			synctest.Wait() // it is being written
			io.WriteString(q, strings.Repeat("x", 1<<20)+"\n")
			var got strings.Builder
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.Copy(&got, r)
			}()
			q.Close()
			w.Close()
			<-done
			if want := before + "mcpbridge: a line of the log is left out here: it was too long, or not read in time\n"; got.String() != want {
				t.Errorf("got %q, want %q", got.String(), want)
			}
		})
	}
}

// What is written to a Queue arrives in order. A stream that is not read holds up neither Write nor, for
// long, Close, and is told what it has missed.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		q := output.NewQueue(w)
		q.Close()
		line := strings.Repeat("x", 1023) + "\n"
		const lines = 3000
		for range lines {
			if _, err := io.WriteString(q, line); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		began := time.Now()
		q.Close()
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("Close waited %v for a stream that is not read", waited)
		}
		var got strings.Builder
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(&got, r)
		}()
		synctest.Wait()
		io.WriteString(q, "last\n")
		q.Close()
		w.Close()
		<-done
		want := strings.Repeat(line, 1+1024) + "mcpbridge: 1975 lines of the log are left out here: they were not read in time\nlast\n"
		if got.String() != want {
			t.Errorf("%d bytes came, want %d: …%q", got.Len(), len(want), got.String()[max(0, got.Len()-200):])
		}
	})
}

package daemon

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestJournal plays the scripts of testdata/journal.txtar.
func TestJournal(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/journal.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range archive.Files {
		t.Run(script.Name, func(t *testing.T) {
			p := player{t, newJournal(), nil}
			for line := range strings.Lines(string(script.Data)) {
				p.play(strings.TrimSuffix(line, "\n"))
			}
			p.done()
		})
	}
}

type player struct {
	*testing.T
	*journal
	got [][]byte // lines that are yet to be expected
}

func (p *player) play(line string) {
	p.Helper()
	in, want, other := strings.Cut(line, " =>")
	if want = strings.TrimPrefix(want, " "); !other && len(in) > 2 {
		want = in[2:]
	}
	switch {
	case line == "lost":
		p.done()
		p.got = p.lost()
	case line == "again":
		p.done()
		p.got = p.again()
	case line == "fail":
		p.done()
		p.got = p.fail("gone")
	case strings.HasPrefix(line, "> "):
		p.done()
		forward, requests, refused := p.fromClient([]byte(in[2:]))
		p.sent(requests)
		p.got = refused
		if string(forward) != want {
			p.Errorf("%s\n gave the daemon %s", line, forward)
		}
	case strings.HasPrefix(line, "< "):
		p.done()
		if told := p.fromDaemon([]byte(in[2:])); string(told) != want {
			p.Errorf("%s\n gave the client %s", line, told)
		}
	case len(p.got) == 0:
		p.Fatalf("expected %s and nothing came", line)
	default:
		if string(p.got[0]) != line {
			p.Errorf("expected %s\n got %s", line, p.got[0])
		}
		p.got = p.got[1:]
	}
}

// done fails the test if more lines came than were expected.
func (p *player) done() {
	p.Helper()
	for _, line := range p.got {
		p.Errorf("and %s", line)
	}
	p.got = nil
}

// FuzzJournal holds that no message of either side can break a shim.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`), []byte(`[{"id":1}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"daemon-2:1","result":{}}`), []byte(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))
	f.Fuzz(func(t *testing.T, client, daemon []byte) {
		j := newJournal()
		for range 2 {
			_, requests, _ := j.fromClient([]byte(string(client)))
			j.fromDaemon([]byte(string(daemon)))
			j.sent(requests)
			j.repeated()
			j.lost()
			j.again()
		}
		j.fail("")
		if !j.idle() {
			t.Error("a request waits for ever")
		}
	})
}

// TestSentToTheSecond holds that a request which only the second daemon got is a repeated one for the third.
func TestSentToTheSecond(t *testing.T) {
	j := newJournal()
	j.fromClient([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}`)) // it cannot be sent
	j.lost()
	if ids := j.repeated(); len(ids) != 0 {
		t.Errorf("%q ran before any daemon had them", ids)
	}
	j.again()
	j.lost()
	if ids := j.repeated(); len(ids) != 1 || ids[0] != "1" {
		t.Errorf("repeated %q, expected 1", ids)
	}
}

// TestJournalIsCheap holds that little is allocated for a call: garbage costs a shim as much CPU time as all else
// that it does itself.
func TestJournalIsCheap(t *testing.T) {
	j := newJournal()
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"x"}}}`)
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	if n := testing.AllocsPerRun(100, func() {
		_, requests, _ := j.fromClient(call)
		j.sent(requests)
		j.fromDaemon(answer)
	}); n > 3 {
		t.Errorf("%g allocations for a call, expected that of what waits, its id and the list of them", n)
	}
}

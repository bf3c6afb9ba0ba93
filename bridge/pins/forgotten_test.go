package pins_test

import (
	"errors"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// What is held back is forgotten once the server lists it no more, and so is not accepted.
func TestNotOfferedAnyMore(t *testing.T) {
	for _, perCaller := range []bool{false, true} {
		src, kept := &server{about: `{"instructions":"Be kind."}`}, &store{}
		p := pins.New(src, pins.Options{Store: kept, PerCaller: perCaller})
		s := open(t, p, nil)
		defined := func(about string, tools ...string) {
			src.set(bridge.Tools, tools...)
			list(t, s, bridge.Tools)
			src.about = `{"instructions":"` + about + `"}`
			s.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover})
		}
		held := func() string {
			text, _ := kept.Read()
			book, err := pins.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			return names(book.Held())
		}
		defined("Be kind.", tool("a", "adds"), tool("b", "begins"))
		defined("Be evil.", tool("a", "poison"), tool("b", "poison"), tool("c", "new"))
		if got := held(); got != "[a b c instructions]" {
			t.Errorf("%s are held back", got)
		}
		defined("Be kind.", tool("a", "adds"))
		want := map[bool]string{false: "[]", true: "[a b c instructions]"}[perCaller]
		if got := held(); got != want {
			t.Errorf("%s are held back, want %s", got, want)
		}
		if got := names(kept.accept(t, "")); got != want {
			t.Errorf("%s are accepted, want %s", got, want)
		}
		if perCaller {
			continue
		}
		if got := call(s, wire.MethodToolsCall, "a"); got != `"a"` || len(p.Problems()) > 0 {
			t.Errorf("%s, %v", got, p.Problems())
		}
		defined("Be kind.", tool("a", "adds"), tool("c", "new"))
		if got := held(); got != "[c]" {
			t.Errorf("%s are held back once it is there again", got)
		}
	}
}

// What another program has forgotten, as its server does not list it, is noted again where it is listed.
func TestForgottenElsewhere(t *testing.T) {
	kept, one, two := &store{}, &server{}, &server{}
	one.set(bridge.Tools, tool("a", "adds"))
	two.set(bridge.Tools, tool("a", "adds"))
	a := open(t, wrap(one, kept), nil)
	list(t, a, bridge.Tools)
	one.set(bridge.Tools, tool("a", "adds"), tool("c", "counts"))
	list(t, a, bridge.Tools)
	list(t, open(t, wrap(two, kept), nil), bridge.Tools)
	if got := names(kept.accept(t, "")); got != "[]" {
		t.Errorf("%s are accepted", got)
	}
	list(t, a, bridge.Tools)
	if got := names(kept.accept(t, "")); got != "[c]" {
		t.Errorf("%s are accepted", got)
	}
}

// counting counts the changes of a store.
type counting struct {
	store
	n int
}

func (c *counting) Update(change func([]byte) ([]byte, error)) error {
	c.n++
	return c.store.Update(change)
}

// Of callers that see different lists not each changes what is held back.
func TestListsOfCallers(t *testing.T) {
	for _, perCaller := range []bool{false, true} {
		src, kept := &server{}, &counting{}
		s := open(t, pins.New(src, pins.Options{Store: kept, PerCaller: perCaller}), nil)
		look := func(about string, tools ...string) {
			src.set(bridge.Tools, tools...)
			list(t, s, bridge.Tools)
			src.about = `{"instructions":"` + about + `"}`
			s.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover})
		}
		all := func() {
			look("Be kind.", tool("a", "adds"))
			look("Be brief.", tool("a", "adds roots"), tool("c", "counts"))
			look("Be wordy.", tool("a", "adds samples"))
		}
		for range 3 {
			all()
		}
		before, text := kept.n, string(kept.text)
		all()
		if kept.n != before || string(kept.text) != text {
			t.Errorf("it is written %d times: %s, was %s", kept.n-before, kept.text, text)
		}
		if got := names(kept.accept(t, "")); got != "[a c instructions]" {
			t.Errorf("%s are accepted", got)
		}
	}
}

// Of callers that see different definitions nothing is kept for each look.
func TestTwoLists(t *testing.T) {
	src := &server{}
	src.set(bridge.Tools, tool("a", "adds"))
	s := open(t, wrap(src, &store{}), nil)
	list(t, s, bridge.Tools)
	src.set(bridge.Tools, tool("a", "poison"))
	one := src.lists[bridge.Tools]
	first, _ := s.List(t.Context(), bridge.Tools)
	src.set(bridge.Tools, tool("a", "evil"))
	list(t, s, bridge.Tools)
	src.lists[bridge.Tools] = one
	if again, _ := s.List(t.Context(), bridge.Tools); again != first {
		t.Error("the same list is shown as another one")
	}
}

// What is accepted while the store cannot be written stays that, and is kept as soon as it can be.
func TestKeptLater(t *testing.T) {
	for _, c := range []struct {
		changed bool
		away    bool // for a while, before it has room
		unread  bool // for a while, too
	}{{}, {changed: true}, {changed: true, away: true}, {changed: true, unread: true}} {
		src, kept := &server{}, &full{err: errFull}
		src.set(bridge.Tools, tool("a", "adds"))
		p := wrap(src, kept)
		s := open(t, p, nil)
		first := list(t, s, bridge.Tools)
		if all := p.Problems(); len(all) != 1 || all[0].LeftOut || !strings.Contains(all[0].Text, "no space") || p.Held() > 0 {
			t.Errorf("problems: %v, %d held back", all, p.Held())
		}
		if c.away {
			kept.err = pins.ErrAway
			list(t, s, bridge.Tools)
		}
		if c.changed {
			src.set(bridge.Tools, tool("a", "poison"))
		}
		if c.unread {
			kept.unread = errFull
			if got := list(t, s, bridge.Tools); got != `{"tools":[]}` {
				t.Errorf("it is not known what was accepted, and the tools are %s", got)
			}
		}
		kept.err, kept.unread = nil, nil
		if got := list(t, s, bridge.Tools); got != first {
			t.Errorf("the store has room, and the tools become %s", got)
		}
		if want := map[bool]int{true: 1}[c.changed]; len(p.Problems()) != want || p.Held() != want {
			t.Errorf("problems: %v, %d held back", p.Problems(), p.Held())
		}
		src.set(bridge.Tools, tool("a", "poison"))
		if got := list(t, open(t, wrap(src, kept), nil), bridge.Tools); got != first {
			t.Errorf("another program accepts %s", got)
		}
	}
}

// What one could not keep another one knows, and the next one, which wraps the server once the config has changed.
func TestMemory(t *testing.T) {
	src, kept, memory := &server{}, &full{err: errFull}, &pins.Memory{}
	next := func() bridge.Session {
		return open(t, pins.New(src, pins.Options{Store: kept, Memory: memory}), nil)
	}
	src.set(bridge.Tools, tool("a", "adds"))
	other := next()
	first := list(t, next(), bridge.Tools)
	src.set(bridge.Tools, tool("a", "poison"))
	for range 2 {
		for _, s := range []bridge.Session{other, next()} {
			if got := list(t, s, bridge.Tools); got != first {
				t.Errorf("the tools become %s", got)
			}
		}
		kept.err = nil
	}
	kept.accept(t, "a")
	if got := list(t, next(), bridge.Tools); !strings.Contains(got, "poison") {
		t.Errorf("accepted, and the tools are %s", got)
	}
}

var errFull = errors.New("no space left on device")

// full is a store that cannot be written, or read, while it has an error.
type full struct {
	store
	err, unread error
}

func (f *full) Read() ([]byte, error) {
	if f.unread != nil {
		return nil, f.unread
	}
	return f.store.Read()
}

func (f *full) Update(change func([]byte) ([]byte, error)) error {
	if f.err != nil {
		return f.err
	}
	return f.store.Update(change)
}

// Lists that come at the same time while the store cannot be written are all known.
func TestKeptTogether(t *testing.T) {
	src, kept := &server{}, &slow{full: full{err: errFull}, begun: make(chan bool, 9), end: make(chan bool)}
	src.set(bridge.Tools, tool("a", "adds"))
	src.set(bridge.Prompts, tool("b", "asks"))
	s := open(t, wrap(src, kept), nil)
	var work sync.WaitGroup
	for _, kind := range []bridge.ListKind{bridge.Tools, bridge.Prompts} {
		work.Go(func() {
			if _, err := s.List(t.Context(), kind); err != nil {
				t.Error(err)
			}
		})
		if kind == bridge.Tools {
			<-kept.begun
		}
	}
	for waits := regexp.MustCompile(`(?s)sync.*Mutex.*Lock.*pins\.\(\*Pins\)\.note`); !slices.ContainsFunc(goroutines(), waits.MatchString); {
		runtime.Gosched()
	}
	close(kept.end)
	work.Wait()
	kept.err = nil
	src.set(bridge.Tools, tool("a", "poison"))
	if got := list(t, s, bridge.Tools); strings.Contains(got, "poison") {
		t.Errorf("%s is accepted", got)
	}
}

// slow is a store whose Update waits for the end.
type slow struct {
	full
	begun, end chan bool
}

func (s *slow) Update(change func([]byte) ([]byte, error)) error {
	s.begun <- true
	<-s.end
	return s.full.Update(change)
}

// goroutines returns the stacks of all.
func goroutines() []string {
	text := make([]byte, 1<<20)
	return strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n")
}

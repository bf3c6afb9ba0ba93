package mcpclient_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// childMode is the variable that makes the test binary a server on stdio.
const childMode = "MCPCLIENT_TEST_CHILD"

func TestMain(m *testing.M) {
	peer.Main()
	switch mode := os.Getenv(childMode); mode {
	case "":
		os.Exit(m.Run())
	case "deaf":
		deaf()
	case "era":
		eraChild(`{"name":"who"},{"name":"end"},{"name":"task"}`, eraTake)
	case "sampling":
		eraChild(`{"name":"sample"},{"name":"both"},{"name":"elicit"}`, func(_ *peer.Server, _ string, c *peer.Call) { samplingTake(c) })
	case "proxied":
		listProxied(os.Args[1], mcpclient.Transport(os.Args[2]))
	case "unread":
		newScript().ServeLines(stdio{&closingReader{bufio.NewReader(os.Stdin)}, openWriter{os.Stdout}})
		stopped := make(chan os.Signal, 1)
		signal.Notify(stopped, syscall.SIGTERM)
		<-stopped
	case "crash":
		fmt.Fprintln(os.Stderr, "SECRET of a call")
		os.Exit(3)
	}
}

// script is a server of the legacy era that does wrong things, by the tool that is called.
type script struct {
	*peer.Server
	heard  chan string      // responses to questions of no call
	pause  func(*peer.Call) // lets a part of a call's timeout pass
	closed atomic.Bool      // close-once has been called
}

// newScript makes a script that pauses until its client has answered a ping.
func newScript() *script {
	s := &script{Server: peer.NewServer(peer.Legacy), heard: make(chan string, 10), pause: func(c *peer.Call) { c.Ask(peer.Question{Method: "ping", Params: "{}"}) }}
	s.Tools = `{"name":"ok","inputSchema":{}},{"name":"close","inputSchema":{}},{"name":"close-once","inputSchema":{},"annotations":{"readOnlyHint":true}}`
	s.Take = s.misanswer
	s.Heard = func(c *peer.Call) {
		if c.Kind() == wire.Response {
			s.heard <- string(c.Raw)
		}
	}
	return s
}

func done(c *peer.Call) { c.Reply(`"content":[],"tool":"` + c.Name() + `"`) }

// misanswer answers a call wrongly, late, or with more than it should.
func (s *script) misanswer(c *peer.Call) {
	id := string(c.ID)
	switch c.Name() {
	case "twice":
		done(c)
		c.Say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"second":true}}`)
	case "wrong id":
		c.Say(`{"jsonrpc":"2.0","id":99999,"result":{}}`)
		c.Say(`{"jsonrpc":"2.0","id":"x","result":{}}`)
	case "neither":
		c.Say(`{"jsonrpc":"2.0","id":` + id + `}`)
	case "both":
		c.Say(`{"jsonrpc":"2.0","id":` + id + `,"result":{},"error":{"code":1,"message":"x"}}`)
	case "garbage":
		for _, line := range []string{"hello", `{"half":`, "\xff\xfe", "[]", "[1]", `{"jsonrpc":"1.0"}`, "null"} {
			c.Say(line)
		}
		done(c)
	case "long":
		c.Say(`{"jsonrpc":"2.0","method":"x","params":{"a":"` + strings.Repeat("x", 70<<10) + `"}}`)
		done(c)
	case "too deep", "not UTF-8", "byte order mark", "NUL", "UTF-16", "UTF-16 with its mark", "too long", "too long, id last", "too long, no id":
		c.Say(unusable(c.Name(), id))
	case "twin": // what cannot be used is not the answer
		c.Say(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping","params":{"a":"` + "\xff\"}}")
		c.Say(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping","params":{"a":"` + strings.Repeat("x", 70<<10) + `"}}`)
		done(c)
	case "log line":
		c.Say(`{"level":"info","id":` + id + `,"text":"` + "\xff\"}")
		done(c)
	case "flood":
		for i := range 100_000 {
			c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`, i, i))
		}
		done(c)
	case "close":
		c.Say(`{"jsonrpc":"2.0","method":"notifications/x"}`)
		c.Drop()
	case "close-once":
		if s.closed.CompareAndSwap(false, true) {
			c.Drop()
			return
		}
		done(c)
	case "ask":
		c.Say(`{"jsonrpc":"2.0","id":"their ping","method":"ping"}`)
		c.Say(`{"jsonrpc":"2.0","id":12345678901234567890,"method":"sampling/createMessage","params":{}}`)
		c.Reply(`"heard":[` + <-s.heard + `,` + <-s.heard + `]`)
	case "silent":
		<-c.Ctx.Done()
	case "cancelled": // the calls of silent, and those that the client has canceled
		c.Reply(fmt.Sprintf(`"silent":[%s],"cancelled":[%s]`, s.ids(wire.MethodToolsCall), s.ids(wire.NotificationCancelled)))
	case "slow but alive":
		// less than the call's timeout of 3 s at a time, and more in all
		for i, begun := 0, time.Now(); c.Ctx.Err() == nil && time.Since(begun) < 3200*time.Millisecond; i++ {
			s.pause(c)
			c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, c.Params.Get(wire.MetaProgressToken), i))
		}
		done(c)
	default:
		done(c)
	}
}

// unusable returns an answer that cannot be used.
func unusable(how, id string) string {
	begin, text := `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":"`, strings.Repeat("x", 70<<10)
	switch how {
	case "too deep":
		return begin + `","a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`
	case "not UTF-8":
		return begin + "\xff\"}}"
	case "byte order mark":
		return "\uFEFF" + begin + `"}}`
	case "NUL":
		return "\x00\x00" + begin + `"}}`
	case "UTF-16":
		return strings.Join(strings.Split(begin+`"}}`, ""), "\x00") + "\x00"
	case "UTF-16 with its mark":
		return "\xff\xfe" + unusable("UTF-16", id)
	case "too long, id last":
		return `{"result":{"content":"` + text + `\"id\":7}"},"jsonrpc":"2.0", "id": ` + id + ` }`
	case "too long, no id":
		return `{"jsonrpc":"2.0","result":{"content":"` + text + `"}}`
	}
	return begin + text + `"}}`
}

// ids returns the ids of the calls of silent, or of those that were canceled.
func (s *script) ids(method string) string {
	var ids []string
	for _, c := range s.Seen(method) {
		if c.Name() == "silent" {
			ids = append(ids, string(c.ID))
		} else if id := c.Params.Get(wire.RequestID); id != nil {
			ids = append(ids, string(id))
		}
	}
	return strings.Join(ids, ",")
}

func toolOf(m *wire.Message) string {
	name, _ := m.Params.Text(wire.Name)
	return name
}

// deaf is a server that reads no more once it has been asked for its tools.
func deaf() {
	newScript().ServeLines(stdio{&deafReader{bufio.NewReaderSize(os.Stdin, 1<<10), false}, os.Stdout})
}

// openWriter is an output that stays open.
type openWriter struct{ io.Writer }

func (openWriter) Close() error { return nil }

// closingReader is an input that is closed after the first call.
type closingReader struct{ lines *bufio.Reader }

func (c *closingReader) Read(b []byte) (int, error) {
	line, err := c.lines.ReadSlice('\n')
	if bytes.Contains(line, []byte("tools/call")) {
		os.Stdin.Close()
	}
	return copy(b, line), err
}

type deafReader struct {
	lines *bufio.Reader
	deaf  bool
}

func (d *deafReader) Read(b []byte) (int, error) {
	if d.deaf {
		select {}
	}
	line, err := d.lines.ReadSlice('\n')
	d.deaf = bytes.Contains(line, []byte("tools/list"))
	return copy(b, line), err
}

// bubble is what a server in a synctest bubble needs.
type bubble struct {
	*peer.Network
	pause func() // of the scripts
}

// serve serves a script on the system's network, or within a bubble.
func serve(t *testing.T, b *bubble) string {
	s := newScript()
	if b == nil {
		return s.Serve(t, nil)
	}
	s.pause = func(*peer.Call) { b.pause() }
	return s.Serve(t, b.Network)
}

// carrier is a way to a script, on the system's network or within a bubble.
type carrier struct {
	name   string
	config func(*testing.T, *bubble) mcpclient.Config
}

var carriers = []carrier{
	{"stdio", func(t *testing.T, _ *bubble) mcpclient.Config { return scriptChild(t) }},
	{"http", func(t *testing.T, b *bubble) mcpclient.Config {
		return mcpclient.Config{URL: serve(t, b) + "/mcp"}
	}},
	{"sse", func(t *testing.T, b *bubble) mcpclient.Config {
		return mcpclient.Config{URL: serve(t, b) + "/sse", Transport: mcpclient.SSE}
	}},
	{"ws", func(t *testing.T, b *bubble) mcpclient.Config {
		return mcpclient.Config{URL: "ws" + strings.TrimPrefix(serve(t, b), "http") + "/ws"}
	}},
}

// scriptChild is a script on stdio.
func scriptChild(t *testing.T) mcpclient.Config {
	command, env := newScript().Child(t)
	return mcpclient.Config{Command: command, Env: env}
}

func child(t *testing.T, mode string) mcpclient.Config {
	return mcpclient.Config{Command: []string{os.Args[0]}, Dir: t.TempDir(), Env: map[string]string{childMode: mode, "GORACE": "atexit_sleep_ms=0"}}
}

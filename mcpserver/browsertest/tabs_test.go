package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
)

// TestRestart: a page outlives its bridge. What it calls meanwhile is answered by the next one, which has its
// tools again.
func TestRestart(t *testing.T) {
	browser := startBrowser(t)
	program := build(t)
	pages := httptest.NewServer(pageHandler(""))
	t.Cleanup(pages.Close)
	first := serve(t, program, object{"lending": true})
	tab := browser.open(t, pages.URL, first, url.Values{"do": {"lend"}, "title": {"one"}})
	tab.read(t).mustBeDone(t)
	first.stop()
	tab.see(t, `bridge.state === "waiting"`)
	tab.do(t, `tools = [], bridge.callTool("count", { to: 2 }).then((result) => { globalThis.counted = result.content[0].text; })`)
	second := serve(t, program, object{"lending": true, "listen": strings.TrimPrefix(first.url, "http://")})
	tab.see(t, `globalThis.counted === "counted to 2"`)
	tab.see(t, `tools.includes("title")`)
	if got, err := second.call("title"); got != "one" {
		t.Errorf("after the restart: %s, %v", got, err)
	}
}

// TestTabs: tabs that lend the same tool close, open and reload while it is called. Each call is answered once, and
// none runs twice.
func TestTabs(t *testing.T) {
	total := 500
	if os.Getenv("MCPBRIDGE_LONG") != "" {
		total = 10000
	}
	browser := startBrowser(t)
	var mu sync.Mutex // guards ran
	ran := map[string]int{}
	mux := http.NewServeMux()
	mux.Handle("/", pageHandler(""))
	mux.HandleFunc("POST /ran", func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ran[r.FormValue("n")]++
	})
	pages := httptest.NewServer(mux)
	t.Cleanup(pages.Close)
	bridge := serve(t, build(t), object{"lending": true})
	opened := 0
	open := func(i int) tab {
		opened++
		query := url.Values{"do": {"work"}, "era": {[]string{"modern", "legacy"}[i%2]}}
		if i < 2 {
			query.Set("reload", "1")
		}
		tab := browser.open(t, pages.URL, bridge, query)
		tab.read(t).mustBeDone(t)
		return tab
	}
	var tabs []tab
	for i := range 5 {
		tabs = append(tabs, open(i))
	}
	done := make(chan map[string][]answer)
	go func() { done <- bridge.callWork(t, total) }()
	var answers map[string][]answer
	for i := 2; answers == nil; i = 2 + (i-1)%3 {
		select {
		case answers = <-done:
		default:
			tabs[i].close()
			tabs[i] = open(i)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	well := 0
	for n := range total {
		id := fmt.Sprint(n)
		if len(answers[id]) != 1 {
			t.Errorf("call %d has %d answers", n, len(answers[id]))
			continue
		}
		switch a := answers[id][0]; {
		case ran[id] > 1:
			t.Errorf("call %d ran %d times", n, ran[id])
		case strings.Contains(string(a.Result), `"text":"`+id+`"`):
			if well++; ran[id] != 1 {
				t.Errorf("call %d is answered and did not run", n)
			}
		case strings.Contains(string(a.Error), "has gone before the call"), strings.Contains(string(a.Error), "it is unknown whether the call ran"), strings.Contains(string(a.Result), "has it; those that do are"):
		default:
			t.Errorf("call %d: %s %s", n, a.Result, a.Error)
		}
	}
	t.Logf("%d calls, %d carried out, while %d tabs were opened", total, well, opened)
	if well < total/10 {
		t.Errorf("only %d of %d calls were carried out", well, total)
	}
}

// answer is that to a request, as it came.
type answer struct {
	ID            json.Number
	Result, Error json.RawMessage
}

// callWork calls the tool of the tabs over a WebSocket, and returns all answers by the id of their request.
func (b *running) callWork(t *testing.T, total int) map[string][]answer {
	all := map[string][]answer{}
	conn, _, err := (&websocket.Dialer{Subprotocols: []string{"mcp"}}).Dial("ws"+strings.TrimPrefix(b.url, "http")+"/ws", nil)
	if err != nil {
		t.Errorf("a WebSocket: %v", err)
		return all
	}
	defer conn.Close()
	send := func(format string, args ...any) {
		if err := conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
			t.Errorf("send: %v", err)
		}
	}
	send(`{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"caller","version":"1"}}}`)
	next := 0
	call := func() {
		if next >= total {
			return
		}
		tab := ""
		if next%10 == 0 {
			tab = fmt.Sprintf(`,"tab":"%d"`, 1+next%7)
		}
		send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","arguments":{"n":%d%s}}}`, next, next, tab)
		next++
	}
	for answered := 0; answered < total; {
		var m struct {
			answer
			ID     json.RawMessage
			Method string
		}
		if err := conn.ReadJSON(&m); err != nil {
			t.Errorf("after %d answers: %v", answered, err)
			return all
		}
		switch id := string(m.ID); {
		case m.Method != "":
		case id == `"begin"`:
			send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			for range 20 {
				call()
			}
		default:
			all[id] = append(all[id], m.answer)
			answered++
			call()
		}
	}
	return all
}

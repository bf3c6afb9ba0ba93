package e2etest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// eraCase is a client of one era and a server of another, with a bridge in between.
type eraCase struct {
	*caller
	era string // of the server
	up  string // its carrier
}

// A client sees its own era, whatever the era of the server and the carriers.
func TestEras(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, down := range callerCarriers {
		for _, clientEra := range []string{"legacy", "modern"} {
			for _, up := range upCarriers {
				for _, era := range eras {
					sideBySide(t, fmt.Sprintf("%s-%s/%s-%s", down.name, clientEra, up.name, era), func(t *testing.T) {
						source := bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, up.config(t, newScript(era).Server))})
						runEra(t, &eraCase{newCaller(t, newFront(t, source), down.dial, clientEra == "modern", asksAll), era, up.name})
					})
				}
			}
		}
	}
}

func runEra(t *testing.T, e *eraCase) {
	for _, part := range []struct {
		name string
		run  func(*eraCase)
	}{
		{"List", (*eraCase).list},
		{"Elicit", (*eraCase).elicit},
		{"Two", (*eraCase).two},
		{"AskedAgain", (*eraCase).askedAgain},
		{"Sampling", (*eraCase).sampling},
		{"Roots", (*eraCase).roots},
		{"Progress", (*eraCase).progress},
		{"Log", (*eraCase).log},
		{"Subscribe", (*eraCase).subscribe},
		{"ListChange", (*eraCase).listChange},
		{"Cancel", (*eraCase).giveUp},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			e.TB = t
			part.run(e)
		})
		e.TB = t
		if !ok {
			return // what follows would be answered with what is left of this
		}
	}
}

// same fails the test if two texts differ.
func (c *caller) same(what, got, want string) {
	c.Helper()
	if got != want {
		c.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

// complete returns a result in the form of the client's era.
func (e *eraCase) complete(members string) string {
	if e.modern {
		return `{"resultType":"complete",` + members + `}`
	}
	if e.era == "modern" { // what the server said is passed as it is
		return `{"resultType":"complete",` + members + `}`
	}
	return `{` + members + `}`
}

func (e *eraCase) list() {
	got := e.result(e.request("tools/list", "", ""))
	if !strings.Contains(got, `{"name":"ask_elicit","inputSchema":{"type":"object"}}`) {
		e.Errorf("tools/list: %s", got)
	}
	for _, member := range []string{`"resultType":"complete"`, `"ttlMs":`, `"cacheScope":`} {
		if strings.Contains(got, member) != e.modern {
			e.Errorf("%s in tools/list, of which the client's era has to decide: %s", member, got)
		}
	}
}

// converse calls a tool and answers its questions, in each round with the results that answer
// returns for them.
func (e *eraCase) converse(tool string, answer func(round int, asked []question) []string) (result string) {
	e.Helper()
	members := `"name":"` + tool + `","arguments":{"vendor":"é"}`
	if e.modern {
		return e.rounds(members, len(questions[tool]), answer)
	}
	id := e.request("tools/call", members, "")
	for round := 0; ; {
		m := e.next("a question or the response", func(m *received) bool {
			return m.Kind() == wire.Request || m.Kind() == wire.Response && string(m.ID) == id
		})
		if m.Kind() == wire.Response {
			if m.Error != nil {
				e.Fatalf("%s", m.Raw)
			}
			return string(m.Result)
		}
		all := []question{{string(m.ID), m.Method, string(m.Params.Raw)}}
		for range len(questions[tool]) - 1 { // they come side by side
			m := e.next("another question", func(m *received) bool { return m.Kind() == wire.Request })
			all = append(all, question{string(m.ID), m.Method, string(m.Params.Raw)})
		}
		slices.SortFunc(all, byParams)
		for i, a := range answer(round, all) {
			if a != "" {
				e.respond(all[i].key, a)
			}
		}
		round++
	}
}

// byParams orders questions, which may arrive in any order.
func byParams(a, b question) int { return strings.Compare(a.params, b.params) }

// rounds is converse in the modern era. The n questions that a server of the legacy era asks side by side
// are as many messages: if one comes late, on a busy machine, all of them are asked in the second round.
func (e *eraCase) rounds(members string, n int, answer func(int, []question) []string) string {
	e.Helper()
	more := ""
	for round, early := 0, e.era == "legacy"; ; round++ {
		result := e.result(e.request("tools/call", peer.Members(members, more), ""))
		if t, _ := wire.Text(wire.Lookup([]byte(result), "resultType")); t != "input_required" {
			return result
		}
		var all []question
		for key, q := range wire.Members(wire.Lookup([]byte(result), "inputRequests")) {
			method, _ := wire.Text(wire.Lookup(q, "method"))
			all = append(all, question{key, method, string(wire.Lookup(q, "params"))})
		}
		slices.SortFunc(all, byParams)
		state := string(wire.Lookup([]byte(result), "requestState"))
		if own := strings.HasPrefix(state, `"`+theirs); own != (e.era != "legacy") {
			e.Errorf("the state is %s", state)
		}
		if early && round == 0 && len(all) < n {
			early, round, more = false, -1, `"inputResponses":{},"requestState":`+state
			continue
		}
		var responses []string
		for i, a := range answer(round, all) {
			if a != "" {
				responses = append(responses, fmt.Sprintf(`%q:%s`, all[i].key, a))
			}
		}
		more = `"inputResponses":{` + strings.Join(responses, ",") + `},"requestState":` + state
	}
}

// once calls a tool whose questions are all of one round, and answers them in their order.
func (e *eraCase) once(tool string, answers ...string) {
	e.Helper()
	want := questions[tool]
	got := e.converse(tool, func(round int, asked []question) []string {
		if round > 0 || len(asked) != len(want) {
			e.Fatalf("round %d has %d questions, want them all in one", round, len(asked))
		}
		for i := range asked {
			e.same("method", asked[i].method, want[i].method)
			e.same("params", asked[i].params, want[i].params)
		}
		return answers
	})
	var members []string
	for i, q := range want {
		members = append(members, `"`+q.key+`":`+answers[i])
	}
	e.same("result", got, e.complete(`"content":[],"answers":{`+strings.Join(members, ",")+`}`))
}

func (e *eraCase) elicit() {
	e.once("ask_elicit", `{"action":"accept","content":{"color":"<é\u00e9>","n":12345678901234567890}}`)
	e.once("ask_elicit", `{"action":"decline"}`)
	e.once("ask_elicit", `{"action":"cancel"}`)
}

func (e *eraCase) two() {
	e.once("ask_two", `{"action":"accept","content":{"n":1.0}}`, `{"action":"decline"}`)
}

func (e *eraCase) sampling() {
	e.once("ask_sampling", `{"role":"assistant","content":{"type":"text","text":"<it>"},"model":"m"}`)
}

func (e *eraCase) roots() { e.once("ask_roots", `{"roots":[{"uri":"file:///home"}]}`) }

// askedAgain checks that only the question without an answer is asked again.
func (e *eraCase) askedAgain() {
	if !e.modern {
		return // there is no such thing: a question waits for its response
	}
	got := e.converse("ask_two", func(round int, asked []question) []string {
		switch {
		case round == 0 && len(asked) == 2:
			return []string{"", `{"action":"cancel"}`}
		case round == 1 && len(asked) == 1 && strings.Contains(asked[0].params, "one"):
			return []string{`{"action":"accept"}`}
		}
		e.Fatalf("round %d asks %+v", round, asked)
		return nil
	})
	e.same("result", got, e.complete(`"content":[],"answers":{"first":{"action":"accept"},"second":{"action":"cancel"}}`))
}

// progress checks that all progress arrives before the result: in order, with the caller's token,
// on the stream of its request.
func (e *eraCase) progress() {
	const n = 20
	id := e.request("tools/call", `"name":"progress","arguments":{"n":20,"tag":"x"}`, `"vendor/x":1.0,"progressToken":"a \u00e9 token"`)
	for i := range n {
		m := e.next("progress", func(m *received) bool { return m.Method == wire.NotificationProgress || string(m.ID) == id })
		e.same("progress", string(m.Params.Raw), fmt.Sprintf(`{"progressToken":"a \u00e9 token","progress":%d,"message":"x"}`, i))
		if m.stream != "" && m.stream != id {
			e.Errorf("it came on the stream of %s, want %s", m.stream, id)
		}
	}
	e.same("result", e.result(id), e.complete(`"content":[],"tool":"progress"`))
}

// log checks that a client receives messages from its level on.
func (e *eraCase) log() {
	meta := ""
	if e.modern {
		meta = `"io.modelcontextprotocol/logLevel":"warning"`
	} else {
		e.result(e.request("logging/setLevel", `"level":"warning"`, ""))
	}
	id := e.request("tools/call", `"name":"log","arguments":{}`, meta)
	for _, level := range []string{"warning", "error"} {
		m := e.next("a log message", func(m *received) bool { return m.Method == wire.NotificationMessage || string(m.ID) == id })
		e.same("log", string(m.Params.Raw), `{"level":"`+level+`","data":{"n":1.0}}`)
	}
	e.result(id)
	if !e.modern {
		return
	}
	id = e.request("tools/call", `"name":"log","arguments":{}`, "") // without a level there is no log
	m := e.next("the response", func(m *received) bool { return m.Method == wire.NotificationMessage || string(m.ID) == id })
	if m.Kind() != wire.Response {
		e.Errorf("nobody asked for %s", m.Raw)
	}
}

// listen opens a subscriptions/listen, whose first message is its acknowledgment.
func (e *eraCase) listen(filter string) (id string) {
	id = e.request("subscriptions/listen", `"notifications":`+filter, "")
	m := e.next("the acknowledgement", func(m *received) bool {
		return m.Kind() != wire.Request && (m.stream == id || m.stream == "" && (tagOf(m) == id || string(m.ID) == id))
	})
	if m.Method != wire.NotificationSubscribed || tagOf(&m) != id {
		e.Fatalf("a listen begins with %s", m.Raw)
	}
	e.same("granted", string(wire.Lookup(m.Params.Raw, "notifications")), filter)
	return id
}

func tagOf(m *received) string { return string(m.Params.Get(wire.MetaSubscriptionID)) }

func (e *eraCase) subscribe() {
	id := ""
	if e.modern {
		id = e.listen(`{"resourceSubscriptions":["file:///a"]}`)
	} else {
		e.result(e.request("resources/subscribe", `"uri":"file:///a"`, ""))
	}
	e.tool("touch", `{"uri":"file:///a"}`)
	m := e.note(wire.NotificationResourceUpdated)
	e.same("the tag", tagOf(&m), id)
	e.same("the uri", string(m.Params.Get(wire.URI)), `"file:///a"`)
	e.same("what else", string(wire.Lookup(m.Params.Raw, "n")), `12345678901234567890`)
	if m.stream != "" && m.stream != id {
		e.Errorf("it came on the stream of %s", m.stream)
	}
	unsubscribed := wire.MethodUnsubscribe
	if e.era == "modern" || e.era == "dual" && e.modern && e.up != "stdio" {
		unsubscribed = wire.NotificationCancelled
	}
	if e.modern {
		e.cancel(id)
	} else {
		e.result(e.request("resources/unsubscribe", `"uri":"file:///a"`, ""))
	}
	e.tool("await", `{"method":"`+unsubscribed+`","n":1}`)
}

func (e *eraCase) listChange() {
	id := ""
	if e.modern {
		id = e.listen(`{"toolsListChanged":true}`)
	}
	for _, name := range []string{"new1", "new2"} {
		e.tool("change", `{"name":"`+name+`"}`)
		for !strings.Contains(e.result(e.request("tools/list", "", "")), `{"name":"`+name+`","inputSchema":{"type":"object"}}`) {
			m := e.note(wire.NotificationToolsChanged)
			e.same("the tag", tagOf(&m), id)
			if m.stream != "" && m.stream != id {
				e.Errorf("it came on the stream of %s", m.stream)
			}
		}
	}
	if id != "" {
		e.cancel(id)
	}
}

// giveUp checks that the server learns that its client has canceled.
func (e *eraCase) giveUp() {
	n := strings.Count(e.tool("await", `{"method":"notifications/cancelled","n":0}`), "requestId") + 1
	calls := strings.Count(e.tool("await", `{"method":"tools/call","n":0}`), `"jsonrpc"`)
	id := e.request("tools/call", `"name":"silent","arguments":{}`, "")
	e.tool("await", fmt.Sprintf(`{"method":"tools/call","n":%d}`, calls+2))
	e.cancel(id)
	e.tool("await", fmt.Sprintf(`{"method":"notifications/cancelled","n":%d}`, n))
}

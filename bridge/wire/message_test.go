package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		in   string
		want Message // Params.Raw alone of the params
		kind MessageType
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, Message{ID: []byte("1"), Method: "ping"}, Request},
		{`{"params":{"a":1},"method":"x/y","id":"q\"","jsonrpc":"2.0"}`,
			Message{ID: []byte(`"q\""`), Method: "x/y", Params: Params{Raw: []byte(`{"a":1}`)}}, Request},
		{`{"jsonrpc":"\u0032.0","m\u0065thod":"tools\/call","id":-1.5e3}`, Message{ID: []byte("-1.5e3"), Method: "tools/call"}, Request},
		{` {"jsonrpc":"2.0","method":"notifications/x","params":null} `, Message{Method: "notifications/x"}, Notification},
		{`{"result":{"result":1},"id":7,"jsonrpc":"2.0"}`, Message{ID: []byte("7"), Result: []byte(`{"result":1}`)}, Response},
		{`{"result":null,"id":7,"jsonrpc":"2.0"}`, Message{ID: []byte("7"), Result: []byte(`null`)}, Response},
		{`{"jsonrpc":"2.0","id":7,"error":{}}`, Message{ID: []byte("7"), Error: []byte(`{}`)}, Response},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`, Message{Error: []byte(`{"code":1}`)}, Response},
		{`{"jsonrpc":"2.0","error":{"code":1}}`, Message{Error: []byte(`{"code":1}`)}, Response},
		{`{"jsonrpc":"2.0","id":7,"result":[],"x":1,"X":2,"x":3,"schl\u00fcssel":4}`, Message{ID: []byte("7"), Result: []byte(`[]`)}, Response},
	} {
		m, err := Split([]byte(test.in))
		test.want.Raw = []byte(strings.TrimSpace(test.in))
		if got := fmt.Sprintf("%q", parts(m)); err != nil || got != fmt.Sprintf("%q", parts(test.want)) || m.Kind() != test.kind {
			t.Errorf("Split(%s): %s, %v", test.in, got, err)
		}
	}
}

func parts(m Message) []string {
	return []string{string(m.Raw), string(m.ID), m.Method, string(m.Params.Raw), string(m.Result), string(m.Error)}
}

func TestSplitRefuses(t *testing.T) {
	const head = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"`
	for _, test := range []struct {
		in   string
		code int
		id   string
		want string
	}{
		{`{`, ParseError, "", "not JSON: a key expected at byte 1"},
		{head + `}}x`, ParseError, "", "data after the end at byte 69"},
		{head + `,"name":"evil"}`, ParseError, "", "a comma"},
		{`[]`, InvalidRequest, "", "an object expected"},
		{`12`, InvalidRequest, "", "an object expected"},
		{`{}`, InvalidRequest, "", `"jsonrpc" must be "2.0"`},
		{`{"jsonrpc":2.0,"id":1,"method":"m"}`, InvalidRequest, "1", `"jsonrpc"`},
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, InvalidRequest, "", `"id" must be`},
		{`{"jsonrpc":"2.0","id":{},"method":"m"}`, InvalidRequest, "", `"id" must be`},
		{`{"jsonrpc":"2.0","id":true,"error":{}}`, InvalidRequest, "", `"id" must be`},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, InvalidRequest, "", `"id" must be`},
		{`{"jsonrpc":"2.0","result":{}}`, InvalidRequest, "", `a result without "id"`},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, InvalidRequest, "1", `"method" must be`},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, InvalidRequest, "1", `"method" must be`},
		{`{"jsonrpc":"2.0","id":1}`, InvalidRequest, "1", "none of"},
		{`{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, InvalidRequest, "1", "more than one of"},
		{`{"jsonrpc":"2.0","id":1,"result":1,"method":"m"}`, InvalidRequest, "1", "more than one of"},
		{`{"jsonrpc":"2.0","id":1,"error":"x"}`, InvalidRequest, "1", `"error" must be an object`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, InvalidRequest, "1", `"params" must be an object`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, InvalidRequest, "1", `"params" must be an object`},
		{head + `,"name":"evil"}}`, InvalidRequest, "1", `key "name" occurs twice`},
		{head + `,"n\u0061me":"evil"}}`, InvalidRequest, "1", `key "name" occurs twice`},
		{head + `,"Name":"evil"}}`, InvalidRequest, "1", `key "Name" is a variant of "name"`},
		{head + `,"\u004eAME":"evil"}}`, InvalidRequest, "1", `is a variant of "name"`},
		{head + `,"argument` + "\u017f" + `":{}}}`, InvalidRequest, "1", `is a variant of "arguments"`},
		{head + `,"_meta":{"progressToken":1,"progresstoken":2}}}`, InvalidRequest, "1", `variant of "progressToken"`},
		{head + `,"_meta":{"io.modelcontextprotocol/loglevel":2}}}`, InvalidRequest, "1", `logLevel`},
		{head + `,"_meta":{},"_meta":{}}}`, InvalidRequest, "1", `key "_meta" occurs twice`},
		{`{"PARAMS":{},"jsonrpc":"2.0","id":1,"method":"m"}`, InvalidRequest, "1", `variant of "params"`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`, InvalidRequest, "1", `variant of "method"`},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, InvalidRequest, "", `key "id" occurs twice`},
		{`{"jsonrpc":"2.0","ID":1,"id":2,"method":"ping"}`, InvalidRequest, "", `variant of "id"`},
		{`{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}`, InvalidRequest, "1", `variant of "result"`},
	} {
		_, err := Split([]byte(test.in))
		var e *Error
		if !errors.As(err, &e) || e.Code != test.code || string(e.ID) != test.id || !strings.Contains(e.Message, test.want) {
			t.Errorf("Split(%s): %+v, want %d %q with id %q", test.in, e, test.code, test.want, test.id)
		}
	}
}

func TestSplitLeavesOtherKeysAlone(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"m","name":1,"NAME":2,"params":{"arguments":{"name":1,"Name":2,"name":3},` +
		`"id":1,"ID":2,"_meta":{"name":1,"Name":2,"x":1,"x":2},"x":1,"x":2}}`
	m, err := Split([]byte(in))
	if err != nil || m.Params.Get(Name) != nil || string(m.Params.Get(Arguments)) != `{"name":1,"Name":2,"name":3}` {
		t.Errorf("%q %v", m.Params.Raw, err)
	}
}

func TestSplitBatch(t *testing.T) {
	for _, test := range []struct {
		in, want string
		ok       bool
		code     int
	}{
		{` [ {"a":[1,2]} , 2,"x" ] `, `{"a":[1,2]}|2|"x"`, true, 0},
		{`{}`, ``, false, 0},
		{``, ``, false, 0},
		{`[`, ``, true, ParseError},
		{`[1,2]3`, ``, true, ParseError},
		{`[]`, ``, true, InvalidRequest},
		{`[1,2,3,4]`, ``, true, InvalidRequest},
	} {
		members, ok, err := SplitBatch([]byte(test.in), 3)
		code := 0
		if e := new(Error); errors.As(err, &e) {
			code = e.Code
		}
		if got := string(bytes.Join(members, []byte("|"))); got != test.want || ok != test.ok || code != test.code {
			t.Errorf("SplitBatch(%s): %q, %v, %v", test.in, got, ok, err)
		}
	}
}

// oracle decides by encoding/json and the rules as they are written down.
func oracle(raw []byte) (code int) {
	if !json.Valid(raw) || !utf8.Valid(raw) || depth(raw) > MaxDepth {
		return ParseError
	}
	if bytes.TrimLeft(raw, whiteSpace)[0] != '{' {
		return InvalidRequest
	}
	top, ok := routed(members(raw), envelopeLevel)
	params, paramsOK := routed(members(top["params"]), paramsLevel)
	_, metaOK := routed(members(params["_meta"]), metaLevel)
	if !ok || !paramsOK || !metaOK {
		return InvalidRequest
	}
	kind := func(key string) byte {
		if value, ok := top[key]; ok {
			return value[0]
		}
		return 0
	}
	var version, method string
	json.Unmarshal(top["jsonrpc"], &version)
	json.Unmarshal(top["method"], &method)
	hasID := kind("id") == '"' || kind("id") == '-' || kind("id") >= '0' && kind("id") <= '9'
	switch {
	case version != "2.0", kind("params") != 0 && kind("params") != '{' && kind("params") != 'n':
	case kind("method") != 0:
		if kind("method") == '"' && method != "" && (hasID || kind("id") == 0) && kind("result") == 0 && kind("error") == 0 {
			return 0
		}
	case kind("error") != 0:
		if kind("error") == '{' && kind("result") == 0 && (hasID || kind("id") == 0 || kind("id") == 'n') {
			return 0
		}
	case kind("result") != 0 && hasID:
		return 0
	}
	return InvalidRequest
}

// routed are the members with a key of the level; false when one is doubtful.
func routed(all []pair, l level) (map[string]json.RawMessage, bool) {
	found := map[string]json.RawMessage{}
	for _, p := range all {
		for _, name := range names[l.first:l.end] {
			if !strings.EqualFold(name, p.key) {
				continue
			}
			if _, twice := found[name]; twice || name != p.key {
				return nil, false
			}
			found[name] = p.value
		}
	}
	return found, true
}

var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,{}]},"_meta":{"progressToken":5,"k":"v"}}}`,
	`{"jsonrpc":"2.0","id":"x","result":{"content":[],"isError":false}}`, `{"jsonrpc":"2.0","id":1,"result":{"isError":true,"resultType":"task","taskId":"a"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}`,
	"{\n \"method\" : \"m\",\r\n \"jsonrpc\" : \"2.0\" ,\"params\": { \"uri\" : \"u\" , \"_meta\" : { } } }\n",
	`{"jsonrpc":"2.0","METHOD":"a"}`, `{"jsonrpc":"2.0","id":1,"method":"m","params":{"n\u0061me":"a","name":"b"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{},"progressToken":"\u0061"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":7,"argument` + "\u017f" + `":1,"tas` + "\u212a" + `Id":2}}`, `{"params":[],"id":1.5}`,
}

func FuzzSplit(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		m, err := Split(raw)
		code := 0
		if e := new(Error); errors.As(err, &e) {
			code = e.Code
		}
		if want := oracle(before); code != want {
			t.Fatalf("Split(%q): %v, want %d", before, err, want)
		}
		if err != nil {
			return
		}
		var want struct {
			ID, Params, Result, Error json.RawMessage
			Method                    string
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if string(want.Params) == "null" {
			want.Params = nil
		}
		if m.ID == nil {
			want.ID = nil
		}
		_, isTask := CreatedTask(m.Result)
		kind := string(Lookup(m.Result, "resultType"))
		if m.Usual && (isTask || kind != "" && kind != `"complete"` || string(Lookup(m.Result, "isError")) == "true") {
			t.Fatalf("%q: the result is not usual", before)
		}
		w := Message{Raw: m.Raw, ID: want.ID, Method: want.Method, Params: Params{Raw: want.Params}, Result: want.Result, Error: want.Error}
		if got, want := fmt.Sprintf("%q", parts(m)), fmt.Sprintf("%q", parts(w)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestUsual(t *testing.T) {
	for result, want := range map[string]bool{
		`{}`: true, `{"content":[{"type":"text","text":"a \\n \"taskId\":1,\"isError\":true","isError":true,"taskId":1}]}`: true, `[]`: true, `1`: true,
		`{"isError":false}`: true, `{"isError":true}`: false, `{"is\u0045rror":true}`: false, `{"isError":"false"}`: false, `{"isError":false,"isError":true}`: false,
		`{"resultType":"complete"}`: true, `{"resultType":"input_required"}`: false, `{"resultType":"complet\u0065"}`: false,
		`{"task":{"taskId":1}}`: false, `{"content":[],"t\u0061skId":"1"}`: false, `{"TaskID":"1"}`: false,
	} {
		m, err := Split([]byte(`{"jsonrpc":"2.0","result":` + result + `,"id":1}`))
		if err != nil || m.Usual != want {
			t.Errorf("%s: %v, %v", result, m.Usual, err)
		}
	}
	if m, err := Split([]byte(seeds[0])); err != nil || m.Usual {
		t.Errorf("a request: %v, %v", m.Usual, err)
	}
}

func TestSplitAllocatesNothing(t *testing.T) {
	raw := []byte(seeds[0])
	dst := make([]byte, 0, 1024)
	edits := []Edit{{Key: Name, Value: []byte(`"b"`)}, {Key: MetaProgressToken, Value: []byte("7")}, {Key: MetaClientInfo, Value: nil}}
	whole := []Edit{{Key: Meta, Value: []byte(`{"x":1}`)}, {Key: MetaProgressToken, Value: []byte("7")}}
	n := testing.AllocsPerRun(100, func() {
		m, err := Split(raw)
		if err != nil {
			t.Fatal(err)
		}
		dst = AppendRequest(dst[:0], 1, m.Method, &m.Params, edits...)
		dst = AppendRequest(dst[:0], 1, m.Method, nil, edits...)
		dst = m.Params.Append(dst[:0], whole...)
		dst = AppendError(dst[:0], m.ID, InternalError, "internal \"error\"", nil)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzResultStart: where a result begins, found in any beginning of a message, is where it begins.
func FuzzResultStart(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, "\n{ \"id\" : \"x\" , \"jsonrpc\" : \"2.0\" ,\r\n\"result\" : { } , \"b\":2}",
		`{"id":1,"id":2,"result":{}}`, `{"ID":1,"result":{}}`, `{"\u0069d":1,"jsonrpc":"2.0","result":{}}`, `{"id":1,"result":[]}`, `{"result":{}}`,
		`[{"id":1,"result":{}}]`, `{"id":{},"result":{}}`, `{"id":1,"error":{},"result":{}}`, `{`, `{"`, `{"id"`, `{"id":`, `{"id":1`, `{"id":1,`,
	} {
		f.Add([]byte(seed), uint16(len(seed)))
		f.Add([]byte(seed), uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, raw []byte, came uint16) {
		id, start := ResultStart(bytes.Clone(raw[:min(int(came), len(raw))]))
		if start == 0 {
			return
		}
		m, err := Split(raw)
		if err != nil {
			return
		}
		if string(m.ID) != string(id) || len(m.Result) == 0 || &m.Result[0] != &raw[start] {
			t.Errorf("%q: the result of %q begins at %d; want %q of %q", raw, id, start, m.Result, m.ID)
		}
	})
}

package wire_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A message is routed by its spans and passed on with a new id and name; the arguments keep
// their bytes.
func ExampleSplit() {
	m, err := wire.Split([]byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"shop__buy","arguments":{"n":1.0}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	name, _ := m.Params.Text(wire.Name)
	fmt.Println(m.Kind() == wire.Request, string(m.ID), name)
	edit := wire.Edit{Key: wire.Name, Value: []byte(`"buy"`)}
	fmt.Println(string(wire.AppendRequest(nil, 7, m.Method, &m.Params, edit)))

	_, err = wire.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`))
	fmt.Println(err)
	// Output:
	// true "a" shop__buy
	// {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"buy","arguments":{"n":1.0}}}
	// invalid message: key "Method" is a variant of "method"
}

func ExampleSplitParams() {
	params, err := wire.SplitParams([]byte(`{"uri":"file:///a", "_meta":{"progressToken":1}}`))
	fmt.Println(string(params.Get(wire.MetaProgressToken)), err)
	// Output: 1 <nil>
}

func ExampleNewLineReader() {
	r := wire.NewLineReader(strings.NewReader("{\"id\":1}\n\n{\"id\":\"much too long\"}\n{\"id\":2}"), 10)
	for range 4 {
		b, err := r.Read()
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(string(b.B))
		b.Free()
	}
	// Output:
	// {"id":1}
	// a message of 22 bytes is over the limit of 10 bytes
	// {"id":2}
	// EOF
}

func ExampleNewLineWriter() {
	w := wire.NewLineWriter(os.Stdout, 1<<20)
	b := wire.NewBuffer(64)
	b.B = wire.AppendNotification(b.B, wire.NotificationInitialized, nil)
	fmt.Println(w.Write(context.Background, b, nil), w.Close(context.Background()))
	// Output:
	// {"jsonrpc":"2.0","method":"notifications/initialized"}
	// <nil> <nil>
}

func ExampleNewEventReader() {
	r := wire.NewEventReader(strings.NewReader("id: 1\nretry: 500\n\n: ping\n\ndata: {}\n\n"), 1<<20)
	for {
		e, err := r.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.ID, e.Retry, e.Data != nil)
	}
	// Output:
	// 1 500ms false
	//  -1ns true
	// EOF
}

func ExampleLookup() {
	result := []byte(`{"content":[{"type":"text","text":"a\u0062c"}]}`)
	for block := range wire.Elements(wire.Lookup(result, "content")) {
		fmt.Println(wire.Text(wire.Lookup(block, "text")))
	}
	fmt.Println(string(wire.SetMember(result, "isError", []byte("true"))))
	// Output:
	// abc true
	// {"isError":true,"content":[{"type":"text","text":"a\u0062c"}]}
}

package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// show prints what a caller sees of a source and the reply to a call.
func show(source bridge.Source, caller *bridge.Caller, tool, arguments string) {
	session, err := source.Open(context.Background(), caller)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	list, err := session.List(context.Background(), bridge.Tools)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, it := range list.Items {
		fmt.Println(it.Key, string(it.Tool().InputSchema))
	}
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":` + arguments + `}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	reply := session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
	fmt.Println(string(reply.Result), reply.Err)
}

type orderQuery struct {
	CustomerID string `json:"customerid"`
	Open       bool   `json:"open,omitempty"`
}

func countOrders(_ context.Context, q orderQuery) (string, error) {
	return fmt.Sprintf("%s has 3 orders (open: %t)", q.CustomerID, q.Open), nil
}

// orders is a source with one tool.
func orders() *bridge.Native {
	tool, err := bridge.Func("count_orders", "Counts a customer's orders.", countOrders)
	if err != nil {
		panic(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, tool)
	if err != nil {
		panic(err)
	}
	return native
}

func ExampleFunc() {
	tool, err := bridge.Func("count_orders", "Counts a customer's orders.", countOrders)
	if err != nil {
		fmt.Println(err)
		return
	}
	tool.ReadOnly, tool.Timeout = true, time.Minute
	result, err := tool.Call(context.Background(), json.RawMessage(`{"customerid":"ann"}`))
	fmt.Println(string(result.JSON), err)
	// Output: {"content":[{"type":"text","text":"ann has 3 orders (open: false)"}]} <nil>
}

func ExampleNewNative() {
	native, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{
		Tool: toolformat.Tool{Name: "now", Description: "The time.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
			return toolformat.TextResult("five o'clock", false), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer native.Close()
	show(native, &bridge.Caller{}, "now", `{}`)
	// Output:
	// now {"type":"object"}
	// {"content":[{"type":"text","text":"five o'clock"}]} <nil>
}

// With several members each has a prefix, and a miss names what was meant.
func ExampleNew() {
	shop, archive := orders(), orders()
	defer shop.Close()
	defer archive.Close()
	source := bridge.New(bridge.Options{},
		bridge.Member{Name: "shop", Source: shop, Rename: map[string]string{"count_orders": "count"}},
		bridge.Member{Name: "archive", Source: archive, Exclude: []string{"*"}})
	show(source, &bridge.Caller{}, "count", `{"customerid":"ann"}`)
	show(source, &bridge.Caller{}, "shop__count", `{"customerid":"ann"}`)
	// Output:
	// shop__count {"type":"object","properties":{"customerid":{"type":"string"},"open":{"type":"boolean"}},"required":["customerid"],"additionalProperties":false}
	//  unknown tool: count (did you mean shop__count?)
	// shop__count {"type":"object","properties":{"customerid":{"type":"string"},"open":{"type":"boolean"}},"required":["customerid"],"additionalProperties":false}
	// {"content":[{"type":"text","text":"ann has 3 orders (open: false)"}]} <nil>
}

// A hidden argument is neither seen nor set by callers.
func ExampleNewGuard() {
	shop := orders()
	defer shop.Close()
	source := bridge.NewGuard(shop, bridge.GuardOptions{Hidden: []string{"customerid"}, Validate: true})
	caller := &bridge.Caller{HiddenValue: func(string) ([]byte, bool) { return []byte(`"ann"`), true }}
	show(source, caller, "count_orders", `{"customerid":"bob","open":true}`)
	// Output:
	// count_orders {"type":"object","properties":{"open":{"type":"boolean"}},"additionalProperties":false}
	// {"content":[{"type":"text","text":"ann has 3 orders (open: true)"}]} <nil>
}

type pageFunctions struct{}

func (pageFunctions) Tools() []toolformat.Tool {
	return []toolformat.Tool{{Name: "scroll", InputSchema: json.RawMessage(`{"type":"object"}`)}}
}

func (pageFunctions) Call(context.Context, string, json.RawMessage) (*toolformat.Result, error) {
	return toolformat.TextResult("scrolled", false), nil
}

// A caller's own functions are tools for that caller alone.
func ExampleNewOverlay() {
	source := bridge.NewOverlay(bridge.New(bridge.Options{}), bridge.OverlayOptions{})
	show(source, &bridge.Caller{Functions: pageFunctions{}}, "scroll", `{}`)
	show(source, &bridge.Caller{}, "scroll", `{}`)
	// Output:
	// scroll {"type":"object"}
	// {"content":[{"type":"text","text":"scrolled"}]} <nil>
	//  unknown tool: scroll
}

func ExampleNewList() {
	item, err := bridge.NewItem(bridge.Tools, []byte(`{"name":"now","inputSchema":{"type":"object"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	list := bridge.NewList(bridge.Tools, []bridge.Item{item})
	page, failed := list.Page("")
	fmt.Println(string(page), failed)
	// Output: {"tools":[{"name":"now","inputSchema":{"type":"object"}}]} <nil>
}

func ExampleNewLimiter() {
	limiter := bridge.NewLimiter("search is", 1, 0)
	for range 2 {
		if err := limiter.Enter(context.Background(), bridge.Principal{}, time.Second); err != nil {
			fmt.Println(err)
			continue
		}
		defer limiter.Leave(bridge.Principal{})
	}
	// Output: search is busy: 1 calls are under way; try again later
}

func ExampleTimer() {
	ctx, cancel := context.WithCancel(context.Background())
	var timer bridge.Timer
	timer.Start(time.Millisecond, time.Hour, cancel)
	defer timer.Stop()
	timer.Hold() // a person is asked
	timer.Release()
	<-ctx.Done()
	fmt.Println(timer.Expired(), timer.AtMaximum())
	// Output: true false
}

func ExampleMatch() {
	fmt.Println(bridge.Match("github__*", "github__repos/list"))
	fmt.Println(bridge.Match("[", ""))
	// Output:
	// true <nil>
	// false syntax error in pattern
}

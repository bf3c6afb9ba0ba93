package looptest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

type cityIn struct {
	City string `json:"city"`
}

// loopTools returns the tools of TestLoop by their names.
func loopTools(t *testing.T) map[string]any {
	t.Helper()
	tools := map[string]any{}
	for _, c := range []struct {
		annotations string
		make        func() (bridge.Tool, error)
	}{
		{``, func() (bridge.Tool, error) { return bridge.Func("weather", "The weather in a city.", weather) }},
		{``, func() (bridge.Tool, error) { return bridge.Func("map", "Draws a map of a city.", drawMap) }},
		{``, func() (bridge.Tool, error) { return bridge.Func("wait", "Waits.", wait) }},
		{`{"destructiveHint":true}`, func() (bridge.Tool, error) { return bridge.Func("send", "Sends a message.", send) }},
	} {
		tool, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		if c.annotations != "" {
			tool.Extra = json.RawMessage(`{"name":"` + tool.Name + `","description":"` + tool.Description + `","inputSchema":` + string(tool.InputSchema) + `,"annotations":` + c.annotations + `}`)
		}
		tools[tool.Name] = tool
	}
	return tools
}

// weather takes longer for cities farther away, so that parallel calls end in a known order.
func weather(_ context.Context, in cityIn) (string, error) {
	switch in.City {
	case "London":
		time.Sleep(time.Second)
		return "London: 12 °C, rain", nil
	case "Paris":
		time.Sleep(2 * time.Second)
		return "Paris: 21 °C, sunny", nil
	}
	time.Sleep(3 * time.Second)
	return "", errors.New("there is no city called " + in.City)
}

// drawMap returns a very small image.
func drawMap(_ context.Context, in cityIn) (*toolformat.Result, error) {
	return &toolformat.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":"A map of ` + in.City +
		`:"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]}`)}, nil
}

// wait waits until it is canceled.
func wait(ctx context.Context, _ struct{}) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

type sendIn struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

func send(_ context.Context, in sendIn) (string, error) { return "sent to " + in.To, nil }

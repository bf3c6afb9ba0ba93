package quickstart_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTools calls all tools of a bridge.
func TestTools(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles four programs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bridge := start(ctx, t)
	t.Run("servers", func(t *testing.T) { callServers(ctx, t, bridge) })
	t.Run("native", func(t *testing.T) { callNativeTools(ctx, t, bridge) })
}

// callServers calls the tools of the MCP servers.
func callServers(ctx context.Context, t *testing.T, bridge *running) {
	c := bridge.connect(ctx, t, "")
	convert := c.awaitTools(ctx, t)["units__convert"]
	if hint := convert.Annotations.ReadOnlyHint; hint == nil || !*hint || convert.OutputSchema.Type != "object" {
		t.Errorf("units__convert lost its annotations or its outputSchema: %+v", convert)
	}

	if r := c.call(ctx, t, "notes__add", map[string]any{"text": "buy milk"}); text(r) != "added note 1" {
		t.Errorf("notes__add: %q", text(r))
	}
	if r := c.call(ctx, t, "notes__import", map[string]any{"lines": "call Rome\nsell the milk\nrest"}); text(r) != "imported 3 notes" {
		t.Errorf("notes__import: %q", text(r))
	}
	// Only the first progress: a server on this library may send the last after its
	// result, where the bridge drops it.
	n := c.await(ctx, t, "notifications/progress")
	if got := n.Params.AdditionalFields; got["progressToken"] != "quickstart" || got["message"] != "1 of 3" {
		t.Errorf("the first progress: %v", got)
	}
	if r := c.call(ctx, t, "notes__search", map[string]any{"query": "MILK"}); text(r) != "1. buy milk\n3. sell the milk" {
		t.Errorf("notes__search: %q", text(r))
	}
	r := c.call(ctx, t, "units__convert", map[string]any{"value": 100, "from": "C", "to": "K"})
	if got, _ := r.StructuredContent.(map[string]any); got["value"] != 373.15 || got["unit"] != "K" {
		t.Errorf("units__convert: %v", r.StructuredContent)
	}
	r = c.call(ctx, t, "units__convert", map[string]any{"value": 1, "from": "km", "to": "kg"})
	if !r.IsError || !strings.Contains(text(r), "km is a length and kg is a mass") {
		t.Errorf("units__convert of nonsense: %v %q", r.IsError, text(r))
	}
}

// callNativeTools calls each of the native tools, for two customers.
func callNativeTools(ctx context.Context, t *testing.T, bridge *running) {
	nobody, ada, enrico := bridge.connect(ctx, t, ""), bridge.connect(ctx, t, "1"), bridge.connect(ctx, t, "2")
	tools := nobody.awaitTools(ctx, t)
	for _, name := range []string{"my_orders", "my_account", "place_order"} {
		if _, shown := tools[name].InputSchema.Properties["customerid"]; shown || strings.Contains(strings.Join(tools[name].InputSchema.Required, " "), "customerid") {
			t.Errorf("%s shows customerid", name)
		}
	}

	const (
		adas     = `[{"id":5,"ordered":"2026-05-08","product":"squared notebook","quantity":3,"total_cents":1920},{"id":3,"ordered":"2026-04-17","product":"blue ink","quantity":2,"total_cents":1700}]`
		enricos  = `[{"id":6,"ordered":"2026-06-11","product":"letter paper","quantity":1,"total_cents":1150},{"id":4,"ordered":"2026-04-20","product":"pencil","quantity":24,"total_cents":2880}]`
		enrico2  = `{"customer":{"city":"Rome","name":"Enrico","orders":[{"product":"globe","quantity":2,"total_cents":10800},{"product":"letter paper","quantity":1,"total_cents":1150}]}}`
		adaStill = `{"customer":{"city":"London","name":"Ada","orders":[{"product":"squared notebook","quantity":3,"total_cents":1920}]}}`
	)
	type arguments = map[string]any
	for _, step := range []struct {
		who       *connection
		tool      string
		arguments arguments
		isError   bool
		want      string // is in the text
	}{
		{ada, "my_orders", arguments{"limit": 2}, false, adas},
		{enrico, "my_orders", arguments{"limit": 2}, false, enricos},
		{enrico, "my_orders", arguments{"limit": 2, "customerid": 1, "CustomerID": 1, "CUSTOMERID": "1"}, false, enricos},
		{nobody, "my_orders", arguments{"limit": 2, "customerid": 1, "CustomerID": 1}, true, "Missing context field: customerid"},
		{enrico, "place_order", arguments{"product": 6, "quantity": 2, "CustomerID": 1}, false, `{"id":7,"product":"globe","quantity":2,"total_cents":10800}`},
		{enrico, "place_order", arguments{"product": 6}, true, "409 Conflict\n" + `{"error":"there are not 1 of globe: only 0"}`},
		{enrico, "my_account", nil, false, enrico2},
		{ada, "my_account", arguments{"last": 1}, false, adaStill},
		{nobody, "shop__restock", arguments{"product": 6, "pieces": 3}, false, `"stock":3`},
		{nobody, "get_product", arguments{"id": 6}, false, `{"id":6,"ean":"2000000001067","name":"globe","category":"desk","price_cents":5400,"stock":3}`},
		{nobody, "get_product", arguments{"id": 7}, true, `404 Not Found` + "\n" + `{"error":"there is no product 7"}`},
		{nobody, "search_products", arguments{"text": "pe", "category": "paper"}, false, `[{"id":5,"ean":"2000000001050","name":"letter paper","category":"paper","price_cents":1150,"stock":9}]`},
		{nobody, "search_products", arguments{"max_cents": 1, "text": "a&b=#?/"}, false, `[]`},
		{nobody, "search_products", arguments{"category": "toys"}, true, `expected one of "writing", "paper", "desk"`},
		{nobody, "delivery", arguments{"country": "NZ"}, false, `{"country":"NZ","days":9,"cost_cents":2100}`},
		{nobody, "CurrentTime", nil, false, time.Now().Format("2006-")},
		{nobody, "complete_ean", arguments{"digits": "200000000101"}, false, "2000000001012"},
		{nobody, "complete_ean", arguments{"digits": "400638133393"}, false, "4006381333931"},
		{nobody, "complete_ean", arguments{"digits": "978316148410"}, false, "9783161484100"},
		{nobody, "complete_ean", arguments{"digits": "999999999999"}, false, "9999999999994"},
		{nobody, "complete_ean", arguments{"digits": "12"}, true, "invalid arguments for tool complete_ean"},
		{nobody, "go_doc", arguments{"of": "strings.Cut"}, false, "func Cut(s, sep string)"},
		{nobody, "go_doc", arguments{"of": "-http"}, true, "would be read as an option"},
	} {
		r := step.who.call(ctx, t, step.tool, step.arguments)
		if r.IsError != step.isError || !strings.Contains(text(r), step.want) {
			t.Errorf("%s of %v: %v, %s\nwant %v, %s", step.tool, step.arguments, r.IsError, text(r), step.isError, step.want)
		}
	}
}

// TestREADME runs the commands of the README, except serve and curl, and compares what they print.
func TestREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles four programs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	bridge := start(ctx, t)
	bridge.connect(ctx, t, "").awaitTools(ctx, t)
	at := strings.NewReplacer("127.0.0.1:7332", strings.TrimPrefix(bridge.url, "http://"))
	commands := 0
	for _, block := range strings.Split(string(readme), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			line, ours := strings.CutPrefix(line, "go run ./cmd/mcpbridge ")
			if !ours || strings.HasPrefix(line, "serve ") {
				continue
			}
			commands++
			cmd := exec.CommandContext(ctx, bridge.program, words(at.Replace(line))...)
			cmd.Dir, cmd.Env = "../..", bridge.env
			printed, err := cmd.CombinedOutput()
			got := string(printed)
			if strings.HasPrefix(line, "check ") { // its rows come as the servers become ready
				got, want = sorted(withoutNotes(got)), sorted(want)
			}
			if strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("%s (%v) prints\n%s\nwant\n%s", line, err, got, want)
			}
		}
	}
	if commands < 15 {
		t.Errorf("the README has only %d commands", commands)
	}
}

// withoutNotes leaves out the lines of check on this machine.
func withoutNotes(text string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.HasPrefix(line, "note ") })
	return strings.Join(lines, "")
}

// sorted returns the lines of a text in order.
func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(strings.TrimSpace(text)+"\n")), "")
}

// words splits a line into words, with single quotes as in a shell.
func words(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 { // quoted
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

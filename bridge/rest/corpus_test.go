package rest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestCorpus: every REST tool of Acorn's examples loads and sends the request of its file.
// $MCPBRIDGE_CORPUS has them below acorn/.
func TestCorpus(t *testing.T) {
	want := map[string]struct{ arguments, request, notes string }{
		"generic_activity": {`{}`, "GET /v1/random", ""},
		"filter_activity":  {`{"type":"social"}`, "GET /v1/filter?type=social", ""},
		"random_advice":    {`{}`, "GET /v1/advice", ""},
		"search_advice":    {`{"query":"a b/c"}`, "GET /v1/advice/search/a%20b%2Fc", ""},
		"advice_by_id":     {`{"slid_id":"1"}`, "missing argument: slip_id, a part of the path /advice/{slip_id}", "did you mean {slid_id}?"},
		"weather_forecast": {`{"latitude":52.5,"longitude":-13.40,"measurement":"cloudcover"}`, "GET /v1/forecast?latitude=52.5&longitude=-13.40&hourly=cloudcover&past_hours=1&forecast_hours=12", ""},
	}
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"type":"rest","url":"URL/v1"}`)
	found := 0
	for _, e := range sourcetest.AcornTools(t) {
		c, known := want[e.Function.Name]
		if strings.Contains(string(e.API), `"query":`) {
			continue // GraphQL
		}
		found++
		tool, notes, err := b.Tool(toolformat.Tool{Name: e.Function.Name, InputSchema: e.Function.Parameters}, e.API)
		if err != nil || !known {
			t.Errorf("%s: %v", e.Function.Name, err)
			continue
		}
		var text strings.Builder
		for _, n := range notes {
			text.WriteString(n.String())
		}
		if (c.notes == "") != (len(notes) == 0) || !strings.Contains(text.String(), c.notes) {
			t.Errorf("%s: notes %v, want %s", e.Function.Name, notes, c.notes)
		}
		var got string
		if _, err := tool.Call(t.Context(), json.RawMessage(c.arguments)); err != nil {
			got = err.Error()
		} else {
			r := d.Last(t)
			got = r.Method + " " + r.URI
		}
		if got != c.request {
			t.Errorf("%s: %s\nwant %s", e.Function.Name, got, c.request)
		}
	}
	if found != len(want) {
		t.Errorf("%d REST tools, want %d", found, len(want))
	}
}

package e2etest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A call that a second bridge has refused has surely had no effect, which the ledger of the first one knows: it
// holds no call back as one that may have run.
func TestNotRunAcrossBridges(t *testing.T) {
	ran := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ran++
		fmt.Fprint(w, "ran")
	}))
	defer api.Close()
	inner, _, _ := askStack(t, fmt.Sprintf(`{
		"apis": {"default": {"type": "rest", "url": %q}}, "limits": {"rate": {"*": "1/h"}},
		"tools": [{"name": "bill", "description": "Bills.", "input_schema": {"type": "object"}, "kind": "rest", "rest": {"method": "POST", "path": "/"}}]}`, api.URL))
	outer, _, _ := askStack(t, fmt.Sprintf(`{"mcpServers": {"inner": {"url": %q, "prefix": ""}}, "ledger": {"file": %q}}`,
		inner.web.URL+"/mcp", filepath.Join(t.TempDir(), "ledger.jsonl")))
	for _, modern := range []bool{false, true} {
		c := newCaller(t, outer, overHTTP, modern, `{}`)
		for range 3 {
			m := c.response(c.request(wire.MethodToolsCall, `"name":"bill","arguments":{}`, ""))
			if m.Error != nil && (!strings.Contains(string(m.Error), "too many calls") || !strings.Contains(string(m.Error), `"notRun":true`)) {
				t.Errorf("modern=%t: %s", modern, m.Raw)
			}
		}
	}
	if ran != 1 {
		t.Errorf("ran %d times", ran)
	}
}

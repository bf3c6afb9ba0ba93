package anthropic

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// TestCacheMarks verifies that the marks for the cache are all that caching changes in a request,
// that they are on blocks of the user alone, and that there are no more than the API takes.
func TestCacheMarks(t *testing.T) {
	for _, c := range conversations() {
		c.options.Client.Body = nil
		sent := func(cache string) (body any) {
			c.options.Cache = cache
			_, raw, _ := providertest.Sent(t, func(client *http.Client) providers.Provider {
				c.options.HTTP = client
				return New(c.options)
			}, &c.req)
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Fatal(err)
			}
			for m := range wire.Elements(wire.Lookup(raw, "messages")) {
				for b := range wire.Elements(wire.Lookup(m, "content")) {
					if role, _ := wire.Text(wire.Lookup(m, "role")); role != "user" && wire.Lookup(b, cacheControl) != nil {
						t.Errorf("%s: a message of the %s is marked: %s", c.name, role, m)
					}
				}
			}
			return body
		}
		body, plain := sent("").(map[string]any), sent("none")
		marks := unmark(body)
		if marks == 0 || marks > 4 {
			t.Errorf("%s: %d marks", c.name, marks)
		}
		if blocks, ok := body["system"].([]any); ok {
			body["system"] = blocks[0].(map[string]any)["text"]
		}
		if !reflect.DeepEqual(any(body), plain) {
			t.Errorf("%s:\n%v\nwithout a cache\n%v", c.name, body, plain)
		}
	}
}

// unmark removes the marks from a value, and returns how many there were.
func unmark(value any) (marks int) {
	switch v := value.(type) {
	case map[string]any:
		if v[cacheControl] != nil {
			delete(v, cacheControl)
			marks++
		}
		for _, member := range v {
			marks += unmark(member)
		}
	case []any:
		for _, element := range v {
			marks += unmark(element)
		}
	}
	return marks
}

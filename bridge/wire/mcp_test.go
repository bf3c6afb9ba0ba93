package wire_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Where MCP's names are not constants that mcp-go has, they are those of its variables and
// of the members that its types write.
func TestMCP(t *testing.T) {
	if want := mcp.LegacyProtocolVersions(); !slices.Equal(wire.Revisions, want) {
		t.Errorf("Revisions are %q, mcp-go has %q", wire.Revisions, want)
	}
	for _, asked := range append(wire.Revisions, wire.ModernRevision, "2027-01-01", "x") {
		if got, want := wire.Negotiate(asked), mcp.NegotiateLegacyVersion(asked); got != want {
			t.Errorf("Negotiate(%q) = %s, mcp-go's is %s", asked, got, want)
		}
	}
	for key, in := range map[wire.Key]any{
		wire.Name:           mcp.CallToolParams{},
		wire.URI:            mcp.ReadResourceParams{},
		wire.Arguments:      mcp.CallToolParams{},
		wire.Meta:           mcp.CallToolParams{},
		wire.Cursor:         mcp.PaginatedParams{},
		wire.RequestID:      mcp.CancelledNotificationParams{},
		wire.ProgressToken:  mcp.ProgressNotificationParams{},
		wire.Ref:            mcp.CompleteParams{},
		wire.Task:           mcp.CallToolParams{},
		wire.TaskID:         mcp.GetTaskParams{},
		wire.InputResponses: mcp.CallToolParams{},
		wire.RequestState:   mcp.CallToolParams{},
	} {
		if !slices.Contains(members(reflect.TypeOf(in)), key.String()) {
			t.Errorf("%T has no member %q", in, key)
		}
	}
}

// members are the names under which encoding/json writes the fields of a struct.
func members(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			names = append(names, members(f.Type)...)
		}
		names = append(names, name)
	}
	return names
}

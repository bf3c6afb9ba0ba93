package bridge_test

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The error of a server passes as it is, but for what clients need of one.
func TestRemoteError(t *testing.T) {
	for _, c := range []struct {
		raw, want string
		code      toolformat.Code
	}{
		{`{"code":-32000,"message":"m","data":{"code":"denied","x":1}}`, `{"code":-32000,"message":"m","data":{"code":"denied","x":1}}`, toolformat.Denied},
		{`{"code": -32602, "message": ""}`, `{"code": -32602, "message": ""}`, toolformat.Invalid},
		{`{"code":-32000,"message":5,"data":1}`, `{"code":-32000,"message":"the server has failed, and does not say why","data":1}`, toolformat.Internal},
		{`{"code":"E1","message":"m"}`, `{"code":-32603,"message":"m"}`, toolformat.Internal},
		{`{}`, `{"message":"the server has failed, and does not say why","code":-32603}`, toolformat.Internal},
	} {
		if got := bridge.RemoteError([]byte(c.raw)); string(got.Raw) != c.want || got.Code != c.code {
			t.Errorf("%s: %s, %v", c.raw, got.Raw, got.Code)
		}
	}
}

// An error says across bridges that its call had no effect.
func TestRemoteNotRun(t *testing.T) {
	for data, want := range map[string]bool{`{"code":"unavailable","notRun":true}`: true, `{"code":"unavailable"}`: false, `{"notRun":"true"}`: false, `[]`: false} {
		if got := bridge.RemoteError([]byte(`{"code":-32000,"message":"m","data":` + data + `}`)); got.NotRun != want {
			t.Errorf("%s: %t", data, got.NotRun)
		}
	}
}

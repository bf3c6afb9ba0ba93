package stack

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

// forward is mcpclient.Config.Own for a server that gets the callers' own tokens.
func forward(cfg *mcpclient.Config, caller *bridge.Caller) {
	token := caller.Token
	if token == nil {
		token = func() string { return "" }
	}
	cfg.Auth = forwarded(token)
}

// forwarded returns the token of a caller, "" for none. It is an mcpclient.Config.Auth.
type forwarded func() string

var errNotForwarded = errors.New(`it wants the token of a caller ("forward" in its config), and this one has come without`)

func (f forwarded) Reset() {}

func (f forwarded) header() string {
	if token := f(); token != "" {
		return "Bearer " + token
	}
	return ""
}

func (f forwarded) Authorization(context.Context) (string, error) { return f.header(), nil }

func (f forwarded) Refused(_ context.Context, sent string, status int, header http.Header, last bool) (again bool, err error) {
	switch {
	case f.header() != sent && !last:
		return true, nil // it was refreshed meanwhile
	case oauth.WantsScopes(status, header):
		return false, errors.New(`it wants more scopes than the token has with which the caller has come ("forward" in its config)`)
	case status != http.StatusUnauthorized:
		return false, nil
	case sent == "":
		return false, errNotForwarded
	}
	return false, errors.New(`it refuses the token with which the caller has come ("forward" in its config)`)
}

func (f forwarded) Ask(_ context.Context, _ bridge.Principal, cause error, _ func(string) error) error {
	return cause
}

package stack

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

// exchange gets tokens for the access tokens of callers, as oauth.OfCaller of a config says.
type exchange struct {
	*oauth.Exchange
	issuer string // of the tokens of callers
}

func newExchange(cfg *config.Config, to oauth.Config) (*exchange, error) {
	if to.Issuer == "" && to.TokenURL == "" {
		to.Issuer = cfg.Auth.Issuer
	}
	e, err := oauth.NewExchange(to)
	return &exchange{e, cfg.Auth.Issuer}, err
}

var errNoToken = errors.New(`it wants the access token of a caller, to exchange it ("token-exchange" in its config), and this one has come without`)

// of returns the client for the present token of a caller. Only what the issuer has signed is shown to an
// authorization server: other tokens are for nobody but this bridge.
func (e *exchange) of(caller *bridge.Caller) (*oauth.Client, error) {
	if caller == nil || caller.Token == nil || !strings.HasPrefix(caller.Principal.Name, e.issuer+"#") {
		return nil, errNoToken
	}
	token := caller.Token()
	if token == "" {
		return nil, errNoToken
	}
	return e.Client(token), nil
}

// own is mcpclient.Config.Own.
func (e *exchange) own(cfg *mcpclient.Config, caller *bridge.Caller) {
	cfg.Auth = &exchanged{func(context.Context) (*oauth.Client, error) { return e.of(caller) }}
}

// ofCall returns the credentials of an API, which are those of the caller of each call.
func (e *exchange) ofCall() *exchanged {
	return &exchanged{func(ctx context.Context) (*oauth.Client, error) {
		_, caller := bridge.RequestOf(ctx)
		return e.of(caller)
	}}
}

// exchanged is an mcpclient.Config.Auth, and credentials of an API.
type exchanged struct {
	client func(context.Context) (*oauth.Client, error) // of the present token
}

// Reset implements mcpclient.Config.Auth.
func (e *exchanged) Reset() {}

// Authorization implements mcpclient.Config.Auth.
func (e *exchanged) Authorization(ctx context.Context) (string, error) {
	c, err := e.client(ctx)
	if err != nil {
		return "", err
	}
	return c.Authorization(ctx)
}

// Refused implements mcpclient.Config.Auth.
func (e *exchanged) Refused(ctx context.Context, sent string, status int, header http.Header, last bool) (again bool, err error) {
	c, err := e.client(ctx)
	if err != nil {
		return false, err
	}
	return c.Refused(ctx, sent, status, header, last)
}

// Ask implements mcpclient.Config.Auth.
func (e *exchanged) Ask(_ context.Context, _ bridge.Principal, cause error, _ func(string) error) error {
	return cause
}

package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

// registration is the client's id at an authorization server.
type registration struct {
	ID       string    `json:"id"`
	Secret   string    `json:"secret,omitempty"`
	Method   string    `json:"method,omitempty"`   // how it authenticates at the token endpoint
	Redirect string    `json:"redirect,omitempty"` // where the browser may return to, of one that was made dynamically
	Scopes   []string  `json:"scopes,omitempty"`   // that it was registered for; nil means any
	Expiry   time.Time `json:"expiry,omitzero"`    // of the secret
}

// Ways to authenticate at the token endpoint.
const (
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodJWT   = "private_key_jwt"
	methodNone  = "none"
)

// configured returns the client id in the config, if it has one. What it was first used with at an
// authorization server stays bound to that: r.Clients tells which it was.
func (c *Client) configured(r *record, a *authority) (registration, bool, error) {
	if c.cfg.ClientID == "" {
		return registration{}, false, nil
	}
	for issuer, used := range r.Clients {
		if used.ID == c.cfg.ClientID && issuer != a.Issuer && c.cfg.Issuer == "" {
			return registration{}, false, fmt.Errorf("its authorization server is %.200q now, and the client id in the config is for %q: if that is right, make it the issuer in oauth of the config", a.Issuer, issuer)
		}
	}
	return registration{ID: c.cfg.ClientID, Secret: c.cfg.ClientSecret, Method: c.method(a)}, true, nil
}

// method returns how a client id of the config authenticates.
func (c *Client) method(a *authority) string {
	switch {
	case c.cfg.PrivateKey != "":
		return methodJWT
	case c.cfg.ClientSecret == "":
		return methodNone
	case c.cfg.AuthMethod != "":
		return c.cfg.AuthMethod
	}
	return secretMethod(a.AuthMethods)
}

// secretMethod returns how a secret is sent to an authorization server that lists its methods.
func secretMethod(methods []string) string {
	if !slices.Contains(methods, methodBasic) && slices.Contains(methods, methodPost) {
		return methodPost
	}
	return methodBasic // which each must support (RFC 6749, section 2.3.1)
}

// known returns the client id that is to be used at an authorization server without asking it: that of
// the config, the URL of a metadata document, one that was registered before. redirect is "" if it can be
// another.
func (c *Client) known(r *record, a *authority, redirect string, scopes []string) (registration, bool, error) {
	if reg, ok, err := c.configured(r, a); ok || err != nil {
		return reg, ok, err
	}
	if c.cfg.ClientMetadata != "" && a.TakesDocuments {
		method := methodNone
		if c.cfg.PrivateKey != "" {
			method = methodJWT
		}
		return registration{ID: c.cfg.ClientMetadata, Method: method}, true, nil
	}
	reg, ok := r.Clients[a.Issuer]
	usable := ok && reg.Redirect != "" && (redirect == "" || reg.Redirect == redirect) && (reg.Scopes == nil || covers(reg.Scopes, scopes)) &&
		(reg.Expiry.IsZero() || time.Now().Before(reg.Expiry))
	return reg, usable, nil
}

// register registers the client at an authorization server (RFC 7591), for the scopes if these may be
// named: some give a client that names none too few, and others refuse those of a resource.
func (c *Client) register(ctx context.Context, a *authority, redirect string, scopes []string) (registration, error) {
	if a.RegistrationEndpoint == "" {
		return registration{}, fmt.Errorf("%s registers no clients by itself: register one there with the redirect URI %s, and put its clientId into oauth in the config, with its clientSecret if it has one, and callbackPort", a.Issuer, redirect)
	}
	reg, err := c.registerFor(ctx, a, redirect, scopes)
	var refusal *grantError
	if len(scopes) > 0 && errors.As(err, &refusal) && refusal.Code == "invalid_client_metadata" {
		reg, err = c.registerFor(ctx, a, redirect, nil)
	}
	if err != nil {
		return registration{}, fmt.Errorf("%s refuses to register a client: %w", a.Issuer, err)
	}
	return reg, nil
}

func (c *Client) registerFor(ctx context.Context, a *authority, redirect string, scopes []string) (registration, error) {
	reg := registration{Redirect: redirect, Scopes: scopes, Method: methodNone}
	if len(a.AuthMethods) > 0 && !slices.Contains(a.AuthMethods, methodNone) {
		reg.Method = secretMethod(a.AuthMethods)
	}
	wish := map[string]any{
		"client_name": "mcpbridge", "application_type": applicationType(redirect), "redirect_uris": []string{redirect},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": reg.Method,
	}
	if len(scopes) > 0 {
		wish["scope"] = joined(scopes)
	}
	body, err := json.Marshal(wish)
	if err != nil {
		return reg, err
	}
	u, err := c.issuer.parse("registration_endpoint", a.RegistrationEndpoint)
	if err != nil {
		return reg, err
	}
	var answer struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Method  string `json:"token_endpoint_auth_method"`
		Expires int64  `json:"client_secret_expires_at"`
	}
	if err := c.issuer.post(ctx, u, "application/json", nil, body, &answer); err != nil {
		return reg, c.explain(err, nil)
	}
	switch {
	case answer.ID == "":
		return reg, errors.New("it has given no client_id")
	case answer.Method != "":
		reg.Method = answer.Method
	case answer.Secret != "":
		reg.Method = secretMethod(a.AuthMethods)
	default:
		reg.Method = methodNone
	}
	if answer.Expires > 0 {
		reg.Expiry = time.Unix(answer.Expires, 0)
	}
	reg.ID, reg.Secret = answer.ID, answer.Secret
	return reg, nil
}

// applicationType returns what kind of client has a redirect URI (OpenID Connect Registration, section 2).
func applicationType(redirect string) string {
	if u, err := url.Parse(redirect); err == nil && outbound.IsLoopback(u) {
		return "native"
	}
	return "web"
}

package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

// resource is protected resource metadata (RFC 9728).
type resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`

	url string // where it was found; "" means that the server has none
}

// authority is the metadata of an authorization server (RFC 8414, OpenID Connect Discovery 1.0).
type authority struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	Scopes                []string `json:"scopes_supported"`
	Challenges            []string `json:"code_challenge_methods_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	NamesIssuer           bool     `json:"authorization_response_iss_parameter_supported"`
	TakesDocuments        bool     `json:"client_id_metadata_document_supported"`

	guessed bool // there is no metadata: the endpoints are those of revision 2025-03-26
}

// wellKnown returns the URL of a document about a URL, whose path comes after the name of the document.
func wellKnown(u *url.URL, name string) *url.URL {
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/.well-known/" + name + strings.TrimSuffix(u.Path, "/")}
}

// discover finds the authorization server for the resource. named is the URL of the resource's metadata
// in its challenge, "" without one; known is the issuer that is used so far, if any.
func (c *Client) discover(ctx context.Context, named, known string) (*resource, *authority, error) {
	if c.discovered == nil {
		return c.find(ctx, named, known)
	}
	if f := c.discovered.Load(); f != nil && f.named == named && time.Now().Before(f.until) {
		return f.resource, f.authority, nil
	}
	r, a, err := c.find(ctx, named, known)
	if err == nil {
		c.discovered.Store(&discovery{named, r, a, time.Now().Add(foundTime)})
	}
	return r, a, err
}

// find is discover, from the documents themselves.
func (c *Client) find(ctx context.Context, named, known string) (*resource, *authority, error) {
	if c.cfg.API {
		a, err := c.chosen(ctx)
		return &resource{Resource: c.cfg.Resource}, a, err
	}
	r, err := c.findResource(ctx, named)
	if err != nil {
		return nil, nil, err
	}
	issuer, legacy := c.cfg.Issuer, false
	switch {
	case r.url != "":
		if issuer, err = c.choose(r.Servers, known); err != nil {
			return nil, nil, err
		}
	case issuer == "":
		issuer, legacy = issuerAt(c.server), true
	}
	a, err := c.findAuthority(ctx, issuer, legacy)
	return r, a, err
}

// chosen returns the authorization server of an API.
func (c *Client) chosen(ctx context.Context) (*authority, error) {
	if c.cfg.TokenURL == "" {
		return c.findAuthority(ctx, c.cfg.Issuer, false)
	}
	a := &authority{Issuer: cmp.Or(c.cfg.Issuer, c.cfg.TokenURL), TokenEndpoint: c.cfg.TokenURL}
	return a, c.checkAuthority(a)
}

// issuerAt returns the issuer at the root of a URL, with the port as it is written there.
func issuerAt(u *url.URL) string { return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String() }

// choose returns the issuer to use of those that the resource names.
func (c *Client) choose(issuers []string, known string) (string, error) {
	switch wanted := c.cfg.Issuer; {
	case len(issuers) == 0:
		return "", errors.New("its resource metadata names no authorization server")
	case wanted != "" && slices.Contains(issuers, wanted):
		return wanted, nil
	case wanted != "":
		return "", fmt.Errorf("its authorization server is %.200q now, and not %q, for which the client id in the config is", issuers[0], wanted)
	case slices.Contains(issuers, known):
		return known, nil
	}
	return issuers[0], nil
}

// findResource reads the metadata of the resource, in the order of the specification: where the
// challenge says, for the path of the server, at the root.
func (c *Client) findResource(ctx context.Context, named string) (*resource, error) {
	var urls []*url.URL
	if named != "" {
		u, err := c.fetch.parse("resource_metadata of its challenge", named)
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
	}
	urls = append(urls, wellKnown(c.server, "oauth-protected-resource"))
	if strings.Trim(c.server.Path, "/") != "" {
		urls = append(urls, wellKnown(&url.URL{Scheme: c.server.Scheme, Host: c.server.Host}, "oauth-protected-resource"))
	}
	for _, u := range urls {
		r := &resource{}
		if err := c.fetch.get(ctx, u, r); isAbsent(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("its resource metadata: %w", err)
		}
		if !c.isFor(r.Resource) {
			return nil, fmt.Errorf("the resource metadata at %s is for %.200q, and not for %s", outbound.Bare(u), r.Resource, outbound.Bare(c.server))
		}
		if r.url = u.String(); len(r.Scopes) > maxScopes {
			r.Scopes = nil
		}
		return r, nil
	}
	return &resource{Resource: c.identifier()}, nil
}

// identifier returns the server's URL as a resource identifier (RFC 8707).
func (c *Client) identifier() string {
	u := url.URL{Scheme: c.server.Scheme, Host: strings.ToLower(c.server.Host), Path: c.server.Path, RawPath: c.server.RawPath, RawQuery: c.server.RawQuery}
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// isFor reports whether a resource identifier is that of the server, or of a part of its host that the
// server is in.
func (c *Client) isFor(identifier string) bool {
	u, err := url.Parse(identifier)
	if err != nil || u.Host == "" || u.Fragment != "" || outbound.Origin(u) != outbound.Origin(c.server) {
		return false
	}
	above := strings.TrimSuffix(u.EscapedPath(), "/") + "/"
	return strings.HasPrefix(c.server.EscapedPath()+"/", above)
}

// findAuthority reads the metadata of an authorization server. legacy says that it was found as in
// revision 2025-03-26, where a server without metadata has its endpoints at the root.
func (c *Client) findAuthority(ctx context.Context, issuer string, legacy bool) (*authority, error) {
	base, err := c.issuer.parse("its authorization server", issuer)
	if err != nil {
		return nil, err
	}
	urls := []*url.URL{wellKnown(base, "oauth-authorization-server"), wellKnown(base, "openid-configuration")}
	if strings.Trim(base.Path, "/") != "" {
		urls = append(urls, base.JoinPath(".well-known", "openid-configuration"))
	}
	for _, u := range urls {
		a := &authority{}
		if err := c.issuer.get(ctx, u, a); isAbsent(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("the metadata of its authorization server: %w", err)
		}
		if other, err := url.Parse(a.Issuer); legacy && err == nil && outbound.Origin(other) == outbound.Origin(base) {
			issuer = a.Issuer // nobody has named one
		}
		if a.Issuer != issuer {
			return nil, fmt.Errorf("the metadata at %s is that of %.200q, and not of %q, its authorization server", outbound.Bare(u), a.Issuer, issuer)
		}
		return a, c.checkAuthority(a)
	}
	if !legacy {
		return nil, fmt.Errorf("its authorization server %s has no metadata: expected it at %s or %s", issuer, urls[0], urls[1])
	}
	at := func(path string) string { return base.JoinPath(path).String() }
	return &authority{Issuer: issuer, AuthorizationEndpoint: at("authorize"), TokenEndpoint: at("token"), RegistrationEndpoint: at("register"), guessed: true}, nil
}

// checkAuthority checks the endpoints.
func (c *Client) checkAuthority(a *authority) error {
	for what, text := range map[string]string{
		"token_endpoint": a.TokenEndpoint, "authorization_endpoint": a.AuthorizationEndpoint,
		"registration_endpoint": a.RegistrationEndpoint, "revocation_endpoint": a.RevocationEndpoint,
	} {
		if text == "" && what != "token_endpoint" {
			continue
		}
		if _, err := c.issuer.parse(what+" of "+a.Issuer, text); err != nil {
			return err
		}
	}
	return nil
}

package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// answer is what a token endpoint answers (RFC 6749, section 5.1).
type answer struct {
	Access  string  `json:"access_token"`
	Type    string  `json:"token_type"`
	Refresh string  `json:"refresh_token"`
	Expires seconds `json:"expires_in"`
	Scope   string  `json:"scope"`
	ID      string  `json:"id_token"`
}

// seconds is a number of seconds, which some servers write as a string; 0 if it is neither.
type seconds float64

func (s *seconds) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n > 0) { // null or NaN, too
		n = 0
	}
	*s = seconds(min(n, 1<<31))
	return nil
}

// grantError is the refusal of an authorization server.
type grantError struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}

func (e *grantError) Error() string {
	if e.Text == "" {
		return e.Code
	}
	return e.Code + " (" + e.Text + ")"
}

// isOfClient reports whether it is the client that is refused, as after the authorization server has forgotten it.
func (e *grantError) isOfClient() bool {
	return e != nil && (e.Code == "invalid_client" || e.Code == "unauthorized_client")
}

// explain returns the refusal that an error has in its body, without secrets: those of the Client, and those
// of what was sent, which may be nil.
func (c *Client) explain(err error, sent *bridge.Secrets) error {
	var status *statusError
	refusal := &grantError{}
	if !errors.As(err, &status) || json.Unmarshal(status.body, refusal) != nil || refusal.Code == "" {
		return err
	}
	refusal.Code, refusal.Text = c.visible(sent.Hide(refusal.Code)), c.visible(sent.Hide(refusal.Text))
	return refusal
}

// secretsIn returns the secrets of a form that is sent as a client.
func secretsIn(reg registration, form url.Values) *bridge.Secrets {
	secrets := &bridge.Secrets{}
	secrets.Add(reg.Secret)
	if reg.Method == methodBasic {
		secrets.Add(basic(reg))
	}
	for _, name := range []string{"code", "code_verifier", "refresh_token", "client_assertion", "assertion", "subject_token", "token"} {
		secrets.Add(form.Get(name))
	}
	return secrets
}

// basic returns the credentials of an Authorization header of the scheme Basic (RFC 6749, section 2.3.1).
func basic(reg registration) string {
	return base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(reg.ID) + ":" + url.QueryEscape(reg.Secret)))
}

// visible returns what an authorization server says for an error: one short line without secrets.
func (c *Client) visible(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r > '~' {
			return ' '
		}
		return r
	}, c.hide(text))
	return text[:min(len(text), 300)]
}

// grant asks a token endpoint for a token.
func (c *Client) grant(ctx context.Context, t *token, reg registration, form url.Values) (*token, error) {
	var got answer
	for key, value := range map[string]string{"resource": t.Resource, "audience": c.cfg.Audience} {
		if value != "" {
			form.Set(key, value)
		}
	}
	if err := c.post(ctx, t.TokenEndpoint, t.Issuer, reg, form, &got); err != nil {
		return nil, err
	}
	switch {
	case got.Access == "" || strings.ContainsFunc(got.Access, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("%s has given no usable access_token", t.Issuer)
	case got.Type != "" && !strings.EqualFold(got.Type, "bearer"):
		return nil, fmt.Errorf("%s has given a token of type %.40q: expected Bearer", t.Issuer, c.visible(secretsIn(reg, form).Hide(got.Type)))
	case got.Access == c.cfg.Assertion: // which goes to nobody else
		return nil, fmt.Errorf("%s has given back the token that it was to exchange", t.Issuer)
	}
	next := *t
	next.Client, next.Access, next.Expiry, next.Renew = reg.ID, got.Access, time.Time{}, time.Time{}
	if got.Refresh != "" { // else the one before stays
		next.Refresh = got.Refresh
	}
	if life := time.Duration(float64(got.Expires) * float64(time.Second)); life > 0 {
		next.Expiry = time.Now().Add(life)
		next.Renew = next.Expiry.Add(-min(life/4, time.Minute))
	}
	if got.Scope != "" {
		next.Granted = strings.Fields(got.Scope)
	} else if next.Granted == nil {
		next.Granted = next.Requested
	}
	if subject := subjectOf(got.ID); subject != "" {
		next.Subject = subject
	}
	return &next, nil
}

// subjectOf returns who an ID token is about; "" if it does not say. It only serves to tell logins apart,
// and comes from the authorization server itself, so that its signature is not needed.
func subjectOf(id string) string {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ Email, Name, Sub string }
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return ""
	}
	for _, s := range []string{claims.Email, claims.Name, claims.Sub} {
		if s != "" {
			return s[:min(len(s), 200)]
		}
	}
	return ""
}

// post sends a form to an endpoint of an authorization server, as a client of it.
func (c *Client) post(ctx context.Context, endpoint, issuer string, reg registration, form url.Values, document any) error {
	u, err := c.issuer.parse("an endpoint of "+issuer, endpoint)
	if err != nil {
		return err
	}
	header := http.Header{}
	switch reg.Method {
	case methodBasic:
		header.Set("Authorization", "Basic "+basic(reg))
	case methodJWT:
		assertion, err := c.assertion(reg.ID, issuer)
		if err != nil {
			return err
		}
		form.Set("client_id", reg.ID)
		form.Set("client_assertion", assertion)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	case methodPost:
		form.Set("client_secret", reg.Secret)
		fallthrough
	default:
		form.Set("client_id", reg.ID)
	}
	err = c.issuer.post(ctx, u, "application/x-www-form-urlencoded", header, []byte(form.Encode()), document)
	return c.explain(err, secretsIn(reg, form))
}

// assertion returns a JWT with which the client authenticates (RFC 7523).
func (c *Client) assertion(id, issuer string) (string, error) {
	key, err := parseKey(c.cfg.PrivateKey)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("privateKey: %w", err)
	}
	now := time.Now()
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: id, Subject: id, Audience: jwt.Audience{issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(time.Minute)),
	}).Serialize()
}

// parseKey reads a private key, in PEM or as a JWK, and chooses its algorithm.
func parseKey(text string) (jose.SigningKey, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		var key jose.JSONWebKey
		if json.Unmarshal([]byte(text), &key) != nil || !key.Valid() || key.IsPublic() {
			return jose.SigningKey{}, errors.New("privateKey: expected a private key as a JWK")
		}
		algorithm, err := algorithmOf(key.Key)
		if key.Algorithm != "" {
			algorithm = jose.SignatureAlgorithm(key.Algorithm)
		}
		return jose.SigningKey{Algorithm: algorithm, Key: key}, err
	}
	block, _ := pem.Decode([]byte(strings.ReplaceAll(text, `\n`, "\n")))
	if block == nil {
		return jose.SigningKey{}, errors.New("privateKey: expected a private key in PEM form (-----BEGIN PRIVATE KEY-----) or as a JWK")
	}
	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(b []byte) (any, error) { return x509.ParseECPrivateKey(b) },
		func(b []byte) (any, error) { return x509.ParsePKCS1PrivateKey(b) },
	} {
		if key, err := parse(block.Bytes); err == nil {
			algorithm, err := algorithmOf(key)
			return jose.SigningKey{Algorithm: algorithm, Key: key}, err
		}
	}
	return jose.SigningKey{}, errors.New("privateKey: the key cannot be read: expected PKCS #8, of RSA, ECDSA or Ed25519, without a password")
}

func algorithmOf(key crypto.PrivateKey) (jose.SignatureAlgorithm, error) {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return jose.RS256, nil
	case ed25519.PrivateKey:
		return jose.EdDSA, nil
	case *ecdsa.PrivateKey:
		switch key.Params().BitSize {
		case 256:
			return jose.ES256, nil
		case 384:
			return jose.ES384, nil
		case 521:
			return jose.ES512, nil
		}
	}
	return "", errors.New("privateKey: expected a key of RSA, ECDSA on P-256, P-384 or P-521, or Ed25519")
}

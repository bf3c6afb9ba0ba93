package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// OAuthOptions say which access tokens are accepted.
type OAuthOptions struct {
	Issuer    string       // whose tokens; CheckIssuer has accepted it
	Audiences []string     // of which a token needs one
	Resource  string       // a URL: it and all below it are audiences, too; "" means none
	Scopes    []string     // that a token needs
	Claim     string       // which names the principal; "" means sub
	Client    *http.Client // which fetches the keys; nil means http.DefaultClient
	Log       *slog.Logger // nil discards
}

// OAuth accepts the access tokens of an issuer: JWTs that it has signed for this resource (RFC 9068).
type OAuth struct {
	opts       OAuthOptions
	credential string
	keys       *keys

	mu       sync.RWMutex // guards the fields below
	changes  int          // of the keys, so far
	verified map[[sha256.Size]byte]*accessToken
}

// accessToken is one that has been verified.
type accessToken struct {
	Identity
	thumbprint string    // of the certificate that must come with it; "" means any or none
	again      time.Time // from when on it is verified anew
}

// NewOAuth returns an Authenticator of access tokens. It fetches nothing before a token comes.
func NewOAuth(opts OAuthOptions) *OAuth {
	opts.Claim = cmp.Or(opts.Claim, "sub")
	opts.Client, opts.Log = cmp.Or(opts.Client, http.DefaultClient), cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	o := &OAuth{opts: opts, verified: map[[sha256.Size]byte]*accessToken{}}
	o.credential = fmt.Sprintf("oauth %q %q %q %q %q", opts.Issuer, opts.Audiences, opts.Resource, opts.Scopes, opts.Claim)
	o.keys = &keys{issuer: opts.Issuer, client: opts.Client, log: opts.Log, changed: o.forget}
	return o
}

const (
	maxToken    = 16 << 10 // bytes of a token
	maxVerified = 10_000   // tokens that are remembered
	leeway      = 30 * time.Second

	// maxStay bounds what a token has begun, such as a stream, however long it is valid: the key that has
	// signed it may be withdrawn.
	maxStay = time.Hour
)

// algorithms are those of signatures with a key that only the issuer has.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
		jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}
}

// Authenticate implements Authenticator. A token that was verified costs a hash.
func (o *OAuth) Authenticate(ctx context.Context, c *Credentials) (*Identity, error) {
	if strings.Count(c.Token, ".") != 2 || strings.ContainsFunc(c.Token, isForeign) {
		return nil, nil
	}
	if len(c.Token) > maxToken {
		return nil, &Refusal{Reason: fmt.Sprintf("the token is longer than %d bytes", maxToken)}
	}
	sum := sha256.Sum256([]byte(c.Token))
	o.mu.RLock()
	known, changes := o.verified[sum], o.changes
	o.mu.RUnlock()
	if known == nil || expired(known.again) {
		var err error
		if known, err = o.verify(ctx, c.Token); err != nil {
			return nil, err
		}
		o.remember(sum, known, changes)
	} else {
		o.keys.freshen()
	}
	switch {
	case expired(known.Expires):
		return nil, &Refusal{Reason: "the token has expired"}
	case known.thumbprint != "" && known.thumbprint != thumbprint(c):
		return nil, &Refusal{Reason: "the token is bound to another TLS client certificate"}
	}
	return &known.Identity, nil
}

// isForeign reports whether no JWT has a character. Some readers skip them, and would know many texts for
// one token.
func isForeign(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
}

func thumbprint(c *Credentials) string {
	if len(c.Chain) == 0 {
		return ""
	}
	sum := sha256.Sum256(c.Chain[0].Raw)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// remember keeps a token that was verified after a number of changes of the keys, unless there was another one
// meanwhile: its key may have been withdrawn. At the bound those are forgotten that have expired, or else all.
func (o *OAuth) remember(sum [sha256.Size]byte, t *accessToken, changes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changes != changes {
		return
	}
	if len(o.verified) >= maxVerified {
		for sum, t := range o.verified {
			if expired(t.Expires) {
				delete(o.verified, sum)
			}
		}
		if len(o.verified) >= maxVerified {
			clear(o.verified)
		}
	}
	o.verified[sum] = t
}

// forget makes every token be verified anew: the keys have changed.
func (o *OAuth) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changes++
	clear(o.verified)
}

// claims are what a token states, and those that decide.
type claims struct {
	stated map[string]json.RawMessage

	issuer   string
	audience audience
	expires  *float64
	from     float64
	bound    *struct {
		Certificate string `json:"x5t#S256"`
	}
}

// readClaims reads the claims of a token. Names are compared with their letter case, which
// encoding/json does not do for the fields of a struct.
func readClaims(payload []byte) (c claims, err error) {
	if err := json.Unmarshal(payload, &c.stated); err != nil {
		return c, err
	}
	for name, to := range map[string]any{"iss": &c.issuer, "aud": &c.audience, "exp": &c.expires, "nbf": &c.from, "cnf": &c.bound} {
		if value, ok := c.stated[name]; ok {
			err = errors.Join(err, json.Unmarshal(value, to))
		}
	}
	return c, err
}

// audience is a string or several.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// verify checks a token and returns what it says.
func (o *OAuth) verify(ctx context.Context, text string) (*accessToken, error) {
	token, err := jose.ParseSignedCompact(text, algorithms())
	if err != nil {
		return nil, &Refusal{Reason: "the token is not a JWT with a signature of an algorithm that is accepted"}
	}
	c, err := readClaims(token.UnsafePayloadWithoutVerification())
	switch {
	case err != nil:
		return nil, &Refusal{Reason: "the claims of the token are not of the types that they must be"}
	case c.issuer != o.opts.Issuer: // before keys are fetched for it
		return nil, &Refusal{Reason: fmt.Sprintf("the token is of another issuer: expected %s", o.opts.Issuer)}
	}
	header := token.Signatures[0].Header
	typ, _ := header.ExtraHeaders[jose.HeaderType].(string)
	if typ = strings.TrimPrefix(strings.ToLower(typ), "application/"); typ != "" && typ != "jwt" && typ != "at+jwt" {
		return nil, &Refusal{Reason: fmt.Sprintf("expected an access token, not one of type %.40q", typ)}
	}
	found, err := o.keys.find(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return nil, err
	}
	for _, key := range found {
		if _, err := token.Verify(key.Key); err == nil {
			return o.accept(&c)
		}
	}
	return nil, &Refusal{Reason: "the signature of the token is not the issuer's"}
}

// accept checks the claims of a token whose signature is right.
func (o *OAuth) accept(c *claims) (*accessToken, error) {
	now := float64(time.Now().Unix())
	switch {
	case c.expires == nil || *c.expires > 1e11:
		return nil, &Refusal{Reason: "the token does not say when it expires"}
	case *c.expires+leeway.Seconds() <= now:
		return nil, &Refusal{Reason: "the token has expired"}
	case c.from > now+leeway.Seconds():
		return nil, &Refusal{Reason: "the token is not valid yet"}
	case !slices.ContainsFunc(c.audience, o.isAudience):
		return nil, &Refusal{Reason: "the token is for another audience"}
	case c.bound != nil && c.bound.Certificate == "":
		return nil, &Refusal{Reason: "the token is bound to a key (DPoP), which is not supported"}
	}
	var name string
	if json.Unmarshal(c.stated[o.opts.Claim], &name) != nil || !isName(name) {
		return nil, &Refusal{Reason: fmt.Sprintf("the token has no claim %s that could be a name", o.opts.Claim)}
	}
	granted := append(scopes(c.stated["scope"]), scopes(c.stated["scp"])...) // of some issuers
	for _, needed := range o.opts.Scopes {
		if !slices.Contains(granted, needed) {
			return nil, &Refusal{Reason: "the token needs the scope " + needed, Scopes: o.opts.Scopes}
		}
	}
	for _, fleeting := range []string{"exp", "iat", "nbf", "jti", "auth_time", "nonce", "at_hash", "c_hash", "cnf"} {
		delete(c.stated, fleeting) // else a refreshed token would be another identity
	}
	kept, err := json.Marshal(c.stated)
	if err != nil {
		return nil, err
	}
	t := &accessToken{Identity: Identity{
		Principal: bridge.Principal{Name: o.opts.Issuer + "#" + name}, Claims: string(kept),
		Expires: time.Unix(int64(*c.expires), 0).Add(leeway), Credential: o.credential,
	}, again: time.Now().Add(maxStay / 2)}
	if most := time.Now().Add(maxStay); t.Expires.After(most) {
		t.Expires = most
	}
	if c.bound != nil {
		t.thumbprint = c.bound.Certificate
	}
	return t, nil
}

// isAudience reports whether an audience stands for this resource.
func (o *OAuth) isAudience(name string) bool {
	base := strings.TrimSuffix(o.opts.Resource, "/")
	return slices.Contains(o.opts.Audiences, name) || base != "" && (name == base || strings.HasPrefix(name, base+"/"))
}

// isName reports whether a claim can be the name of a principal. What stands for characters that are
// none would make equal names of different ones.
func isName(name string) bool {
	return name != "" && len(name) <= 500 && !strings.ContainsRune(name, utf8.RuneError) && !strings.ContainsFunc(name, unicode.IsControl)
}

// scopes reads a claim: words in a string, or an array of strings.
func scopes(claim json.RawMessage) (all []string) {
	var words string
	if json.Unmarshal(claim, &words) == nil {
		return strings.Fields(words)
	}
	_ = json.Unmarshal(claim, &all) // of another type there are none
	return all
}

// Admits implements Authenticator.
func (o *OAuth) Admits(credential string) bool { return credential == o.credential }

// Several implements Authenticator.
func (o *OAuth) Several() bool { return true }

package auth_test

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// issuer is an authorization server whose metadata and keys can be fetched.
type issuer struct {
	*testing.T
	url     string
	fetches atomic.Int64 // of keys

	mu     sync.Mutex
	away   bool
	keys   []jose.JSONWebKey
	others []any             // keys that are for something else
	jwks   string            // in place of its own address of the keys
	moved  map[string]string // where paths redirect to
	asked  []string          // URLs
}

func newIssuer(t *testing.T) *issuer {
	return &issuer{T: t, url: "https://id.example"}
}

// RoundTrip answers in place of the network.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.away {
		return nil, errors.New("away")
	}
	i.asked = append(i.asked, r.URL.String())
	w := httptest.NewRecorder()
	if to := i.moved[r.URL.Path]; to != "" {
		http.Redirect(w, r, to, http.StatusFound)
		return w.Result(), nil
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		json.NewEncoder(w).Encode(map[string]string{"issuer": i.url, "jwks_uri": cmp.Or(i.jwks, i.url+"/keys")})
	case "/keys":
		i.fetches.Add(1)
		all := slices.Clone(i.others)
		for _, key := range i.keys {
			all = append(all, key)
		}
		json.NewEncoder(w).Encode(map[string]any{"keys": all})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result(), nil
}

// publish makes the keys those of these signers, by their kid.
func (i *issuer) publish(signers map[string]crypto.Signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = nil
	for kid, s := range signers {
		i.keys = append(i.keys, jose.JSONWebKey{Key: s.Public(), KeyID: kid, Use: "sig"})
	}
}

func (i *issuer) oauth(change func(*auth.OAuthOptions)) *auth.OAuth {
	opts := auth.OAuthOptions{Issuer: i.url, Resource: "https://bridge.example", Scopes: []string{"tools"}, Client: &http.Client{Transport: i}}
	if change != nil {
		change(&opts)
	}
	return auth.NewOAuth(opts)
}

// sign makes a token: claims, of which nil removes one, over those of a good one.
func (i *issuer) sign(alg jose.SignatureAlgorithm, key any, kid, typ string, changed map[string]any) string {
	i.Helper()
	claims := map[string]any{"iss": i.url, "aud": "https://bridge.example/mcp", "sub": "ann", "scope": "tools more",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "groups": []string{"support"}}
	maps.Copy(claims, changed)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	payload, _ := json.Marshal(claims)
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, (&jose.SignerOptions{}).WithType(jose.ContentType(typ)))
	if err != nil {
		i.Fatal(err)
	}
	signed, err := s.Sign(payload)
	if err != nil {
		i.Fatal(err)
	}
	text, _ := signed.CompactSerialize()
	return text
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func newECDSA(t *testing.T) *ecdsa.PrivateKey {
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// forged returns a token with the signature of another.
func forged(token, other string) string {
	return token[:strings.LastIndexByte(token, '.')] + other[strings.LastIndexByte(other, '.'):]
}

func TestOAuth(t *testing.T) {
	i, ec := newIssuer(t), newECDSA(t)
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i.publish(map[string]crypto.Signer{"ec": ec, "rsa": pair})
	i.others = []any{
		map[string]string{"kty": "AKP", "alg": "ML-DSA-44", "kid": "ec", "pub": "AA"}, map[string]string{"kty": "OKP", "crv": "X25519", "x": "AA"},
		jose.JSONWebKey{Key: []byte("symmetric"), KeyID: "ec"}, nil, 7,
	}
	o := i.oauth(nil)
	es := func(changed map[string]any) string { return i.sign(jose.ES256, ec, "ec", "at+jwt", changed) }
	der, _ := x509.MarshalPKIXPublicKey(pair.Public())
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	none := func() string {
		_, rest, _ := strings.Cut(es(nil), ".")
		payload, _, _ := strings.Cut(rest, ".")
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + payload + "."
	}
	hour := time.Now().Add(time.Hour).Unix()
	for _, c := range []struct{ name, token, refused string }{
		{"good", es(nil), ""},
		{"RSA, without a kid", i.sign(jose.RS256, pair, "", "JWT", nil), ""},
		{"several audiences", es(map[string]any{"aud": []string{"x", "https://bridge.example"}}), ""},
		{"a time that is text", es(map[string]any{"exp": "soon"}), "not of the types"},
		{"scp", es(map[string]any{"scope": nil, "scp": []string{"tools"}}), ""},
		{"none", none(), "not a JWT with a signature"},
		{"HS256 with the public key", i.sign(jose.HS256, public, "rsa", "JWT", nil), "not a JWT with a signature"},
		{"another's key", i.sign(jose.ES256, newECDSA(t), "ec", "JWT", nil), "not the issuer's"},
		{"the key of another algorithm", i.sign(jose.ES256, ec, "rsa", "JWT", nil), "not the issuer's"},
		{"the signature of another token", forged(es(nil), es(map[string]any{"sub": "bob"})), "not the issuer's"},
		{"issuer", es(map[string]any{"iss": "https://other.example"}), "another issuer"},
		{"issuer with a slash", es(map[string]any{"iss": i.url + "/"}), "another issuer"},
		{"audience", es(map[string]any{"aud": "https://other.example/mcp"}), "another audience"},
		{"longer audience", es(map[string]any{"aud": "https://bridge.example.evil"}), "another audience"},
		{"no audience", es(map[string]any{"aud": nil}), "another audience"},
		{"expired", es(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "has expired"},
		{"never expires", es(map[string]any{"exp": nil}), "does not say when"},
		{"not yet", es(map[string]any{"nbf": hour}), "not valid yet"},
		{"scope", es(map[string]any{"scope": "other"}), "needs the scope tools"},
		{"an ID token", i.sign(jose.ES256, ec, "ec", "logout+jwt", nil), "expected an access token"},
		{"DPoP", es(map[string]any{"cnf": map[string]string{"jkt": "x"}}), "DPoP"},
		{"certificate", es(map[string]any{"cnf": map[string]string{"x5t#S256": "x"}}), "another TLS client certificate"},
		{"no subject", es(map[string]any{"sub": nil}), "no claim sub"},
		{"subject", es(map[string]any{"sub": "a\nb"}), "no claim sub"},
		{"subjects that are no text", es(map[string]any{"sub": json.RawMessage(`"\ud800"`)}), "no claim sub"},
		{"audience in another letter case", es(map[string]any{"aud": "https://other.example/mcp", "AUD": "https://bridge.example"}), "another audience"},
		{"expiry in another letter case", es(map[string]any{"exp": 1, "exP": hour}), "has expired"},
		{"scope in another letter case", es(map[string]any{"scope": "", "Scope": "tools"}), "needs the scope tools"},
		{"a number", es(map[string]any{"sub": 7}), "no claim sub"},
		{"a time that is text", es(map[string]any{"exp": "1"}), "not of the types"},
		{"huge", "a." + strings.Repeat("a", 1<<20) + ".a", "longer than"},
		{"rubbish", "a.b.c", "not a JWT"},
	} {
		for range 2 { // the second time it may be remembered
			id, err := o.Authenticate(t.Context(), &auth.Credentials{Token: c.token})
			switch {
			case c.refused == "" && (err != nil || id == nil):
				t.Errorf("%s: %v", c.name, err)
			case c.refused == "" && (id.Principal.Name != "https://id.example#ann" || !strings.Contains(id.Claims, `"groups":["support"]`) || strings.Contains(id.Claims, "exp")):
				t.Errorf("%s: %+v", c.name, id)
			case c.refused != "" && (id != nil || err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("%s: %v, %v; want %q", c.name, id, err, c.refused)
			}
		}
	}
	for _, text := range []string{"opaque", strings.Replace(es(nil), ".", ". ", 1)} {
		if id, err := o.Authenticate(t.Context(), &auth.Credentials{Token: text}); id != nil || err != nil {
			t.Errorf("what is no JWT is not passed on: %v, %v", id, err)
		}
	}
	var refused *auth.Refusal
	if _, err := o.Authenticate(t.Context(), &auth.Credentials{Token: es(map[string]any{"scope": ""})}); !errors.As(err, &refused) || len(refused.Scopes) != 1 {
		t.Errorf("no challenge for a scope: %v", err)
	}
	if i.fetches.Load() != 1 {
		t.Errorf("%d fetches", i.fetches.Load())
	}
}

// Keys rotate; tokens with unknown keys cause no storm of fetches; the issuer may be away at the start; a
// key that is withdrawn verifies nothing any more.
func TestKeysRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, first, second := newIssuer(t), newECDSA(t), newECDSA(t)
		i.publish(map[string]crypto.Signer{"1": first})
		o := i.oauth(nil)
		with := func(key any, kid string) error {
			_, err := o.Authenticate(t.Context(), &auth.Credentials{Token: i.sign(jose.ES256, key, kid, "JWT", nil)})
			return err
		}
		var later *auth.Refusal
		i.away = true
		if err := with(first, "1"); !errors.As(err, &later) || !later.Later || !strings.Contains(err.Error(), "cannot be verified at present") {
			t.Errorf("while the issuer is away: %v", err)
		}
		i.away = false
		time.Sleep(time.Minute)
		if err := with(first, "1"); err != nil {
			t.Errorf("once the issuer is there: %v", err)
		}
		i.publish(map[string]crypto.Signer{"2": second})
		old := i.sign(jose.ES256, first, "1", "JWT", nil)
		if err := with(first, "1"); err != nil {
			t.Errorf("with a key that was known: %v", err)
		}
		time.Sleep(time.Minute)
		if err := with(second, "2"); err != nil {
			t.Errorf("with the next key: %v", err)
		}
		if _, err := o.Authenticate(t.Context(), &auth.Credentials{Token: old}); err == nil {
			t.Error("a token is remembered whose key was withdrawn")
		}
		before := i.fetches.Load()
		for n := range 1000 {
			if err := with(second, fmt.Sprint("unknown ", n)); err == nil {
				t.Fatal("an unknown kid is accepted")
			}
			time.Sleep(time.Millisecond)
		}
		if n := i.fetches.Load() - before; n > 2 {
			t.Errorf("%d fetches for unknown keys in a second", n)
		}
		i.away = true
		time.Sleep(50 * time.Minute)
		if err := with(second, "2"); err != nil {
			t.Errorf("with a known key while the issuer is away: %v", err)
		}
		synctest.Wait()
	})
}

// What a token begins ends within an hour, though the token is valid for years: it may be one that somebody has
// signed with a stolen key.
func TestLongTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, first, second := newIssuer(t), newECDSA(t), newECDSA(t)
		i.publish(map[string]crypto.Signer{"1": first})
		o := i.oauth(nil)
		token := i.sign(jose.ES256, first, "1", "JWT", map[string]any{"exp": time.Now().Add(10 * 365 * 24 * time.Hour).Unix()})
		for range 20 {
			id, err := o.Authenticate(t.Context(), &auth.Credentials{Token: token})
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(id.Expires); left < 25*time.Minute || left > time.Hour {
				t.Errorf("what it begins lasts for %v", left)
			}
			time.Sleep(7 * time.Minute)
		}
		i.publish(map[string]crypto.Signer{"2": second})
		time.Sleep(time.Hour)
		o.Authenticate(t.Context(), &auth.Credentials{Token: token}) // has the keys fetched
		synctest.Wait()
		if _, err := o.Authenticate(t.Context(), &auth.Credentials{Token: token}); err == nil {
			t.Error("it is accepted though its key was withdrawn")
		}
	})
}

// Keys come from where the metadata of the issuer says, if they are safely got there, and from nowhere else.
func TestKeysElsewhere(t *testing.T) {
	key := newECDSA(t)
	for name, change := range map[string]func(*issuer){
		"plain http":           func(i *issuer) { i.jwks = "http://id.example/keys" },
		"a file":               func(i *issuer) { i.jwks = "file:///etc/passwd" },
		"the metadata of a VM": func(i *issuer) { i.jwks = "http://169.254.169.254/keys" },
		"no address":           func(i *issuer) { i.jwks = "keys" },
		"with a password":      func(i *issuer) { i.jwks = "https://a:b@id.example/keys" },
		"another's metadata":   func(i *issuer) { i.url = "https://evil.example" },
		"redirected keys":      func(i *issuer) { i.moved = map[string]string{"/keys": "https://evil.example/keys"} },
		"redirected metadata": func(i *issuer) {
			i.moved = map[string]string{"/.well-known/oauth-authorization-server": "https://evil.example/m"}
		},
		"keys in the network":   func(i *issuer) { i.moved = map[string]string{"/keys": "http://127.0.0.1:1/keys"} },
		"a redirect to the key": func(i *issuer) { i.moved = map[string]string{"/keys": "/keys2"} },
	} {
		i := newIssuer(t)
		i.publish(map[string]crypto.Signer{"1": key})
		o := i.oauth(nil)
		token := i.sign(jose.ES256, key, "1", "JWT", nil)
		change(i)
		if id, err := o.Authenticate(t.Context(), &auth.Credentials{Token: token}); id != nil || err == nil || !strings.Contains(err.Error(), "cannot be verified at present") {
			t.Errorf("%s: %v, %v", name, id, err)
		}
		for _, address := range i.asked {
			if !strings.HasPrefix(address, "https://id.example/.well-known/") && address != "https://id.example/keys" {
				t.Errorf("%s: %s is fetched", name, address)
			}
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	var all []auth.Token
	for n := range 20 {
		all = append(all, auth.Token{Name: fmt.Sprint(n), Sum: sum(fmt.Sprint(n))})
	}
	tokens := auth.NewTokens(all)
	c := &auth.Credentials{Token: "7"}
	for b.Loop() {
		if id, _ := tokens.Authenticate(b.Context(), c); id == nil {
			b.Fatal("refused")
		}
	}
}

package auth_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// documents answers with the metadata of an issuer, and its keys, whatever they are.
type documents struct {
	metadata, keys []byte
	asked          []string
}

func (d *documents) RoundTrip(r *http.Request) (*http.Response, error) {
	text := d.keys
	if strings.Contains(r.URL.Path, "/.well-known/") {
		text = d.metadata
	}
	d.asked = append(d.asked, r.URL.String())
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(bytes.NewReader(text)), Header: http.Header{}, Request: r}, nil
}

// FuzzClaims has tokens with a right signature, and any claims. One that is accepted says, to the letter, all
// that it needs to.
func FuzzClaims(f *testing.F) {
	for _, text := range []string{
		`{"iss":"https://id.example","aud":"https://bridge.example/mcp","sub":"ann","scope":"tools","exp":4000000000,"groups":["a"]}`,
		`{"iss":"https://id.example","aud":["x","https://bridge.example"],"sub":"ann","scp":["tools"],"exp":4e9,"nbf":1.5,"cnf":{"x5t#S256":"y"}}`,
		`{"ISS":"https://id.example","Aud":"https://bridge.example","SUB":"ann","Scope":"tools","Exp":4000000000}`,
		`{"iss":"https://id.example","aud":"https://bridge.example","sub":"ann\u0000","scope":{},"exp":"4000000000"}`,
		`{"iss":"https://id.example","iss":"x"}`, `[]`, `null`, `{"exp":1e400}`,
	} {
		f.Add([]byte(text))
	}
	key, err := newKey()
	if err != nil {
		f.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	set, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1"}}})
	issuer := &documents{metadata: []byte(`{"issuer":"https://id.example","jwks_uri":"https://id.example/keys"}`), keys: set}
	o := auth.NewOAuth(auth.OAuthOptions{Issuer: "https://id.example", Resource: "https://bridge.example", Scopes: []string{"tools"}, Client: &http.Client{Transport: issuer}})
	f.Fuzz(func(t *testing.T, payload []byte) {
		signed, err := signer.Sign(payload)
		if err != nil {
			t.Skip()
		}
		token, _ := signed.CompactSerialize()
		id, err := o.Authenticate(t.Context(), &auth.Credentials{Token: token})
		if err != nil || id == nil {
			return
		}
		says := map[string]any{}
		if err := json.Unmarshal(payload, &says); err != nil {
			t.Fatalf("%s is accepted: %v", payload, err)
		}
		exp, _ := says["exp"].(float64)
		name, _ := says["sub"].(string)
		if says["iss"] != "https://id.example" || says["aud"] == nil || exp < float64(time.Now().Add(-time.Minute).Unix()) ||
			says["scope"] == nil && says["scp"] == nil || name == "" || id.Principal.Name != "https://id.example#"+name || !json.Valid([]byte(id.Claims)) {
			t.Fatalf("%s is accepted as %+v", payload, id)
		}
	})
}

// FuzzMetadata has metadata and keys of an issuer that are anything. They lead nowhere but to what is safely
// fetched, and verify no token of another.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"issuer":"https://id.example","jwks_uri":"https://id.example/keys"}`), []byte(`{"keys":[]}`))
	f.Add([]byte(`{"issuer":"https://id.example","jwks_uri":"http://169.254.169.254/"}`), []byte(`{"keys":[{"kty":"oct","k":"AA"}]}`))
	f.Add([]byte(`{"issuer":"https://id.example","jwks_uri":"https://other.example/keys?x=y"}`), []byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`))
	f.Add([]byte(`{"issuer":"https://id.example","jwks_uri":"//id.example\u0000"}`), []byte(`{"keys":null}`))
	key, err := newKey()
	if err != nil {
		f.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		f.Fatal(err)
	}
	signed, err := signer.Sign([]byte(`{"iss":"https://id.example","aud":"https://bridge.example","sub":"ann","exp":4000000000}`))
	if err != nil {
		f.Fatal(err)
	}
	token, _ := signed.CompactSerialize()
	f.Fuzz(func(t *testing.T, metadata, keys []byte) {
		issuer := &documents{metadata: metadata, keys: keys}
		o := auth.NewOAuth(auth.OAuthOptions{Issuer: "https://id.example", Resource: "https://bridge.example", Client: &http.Client{Transport: issuer}})
		if id, err := o.Authenticate(t.Context(), &auth.Credentials{Token: token}); id != nil || err == nil {
			t.Fatalf("%s and %s verify another's token: %+v", metadata, keys, id)
		}
		for _, address := range issuer.asked {
			if err := auth.CheckIssuer(address); err != nil {
				t.Fatalf("%s leads to %s: %v", metadata, address, err)
			}
		}
	})
}

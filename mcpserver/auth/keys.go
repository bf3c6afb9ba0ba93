package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	keysAge    = 15 * time.Minute // after which keys are fetched again
	fetchPause = 10 * time.Second // between two fetches, whoever asks for whatever key
	fetchTime  = 10 * time.Second // that a fetch may take
	maxFetched = 1 << 20          // bytes of a document
	maxKeys    = 100
)

// keys are the public keys of an issuer. They are fetched when a token needs them: the issuer may be away
// at the start. While it is away, those that are known stay.
type keys struct {
	issuer  string
	client  *http.Client
	log     *slog.Logger
	changed func() // is called when there are other keys

	mu    sync.Mutex // guards the fields below
	known []jose.JSONWebKey
	raw   string        // what known was read from
	at    time.Time     // when known was fetched
	tried time.Time     // when the last fetch began
	under chan struct{} // closed when the fetch under way has ended; nil without one
}

// find returns the keys that may have signed a token with a kid, which may be "", and an algorithm. It
// fetches the keys if that one is unknown, but not at once again.
func (k *keys) find(ctx context.Context, kid, alg string) ([]jose.JSONWebKey, error) {
	found, wait := k.look(kid, alg)
	if len(found) == 0 && wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, &Refusal{Reason: "the token is not verified: " + ctx.Err().Error(), Later: true}
		}
		found, _ = k.look(kid, alg)
	}
	if len(found) > 0 {
		return found, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		return nil, &Refusal{Reason: fmt.Sprintf("tokens of %s cannot be verified at present: its keys cannot be fetched", k.issuer), Later: true}
	}
	return nil, &Refusal{Reason: "the token is signed with an unknown key"}
}

// look returns the keys that are known, and begins a fetch if they are old or have not the one that is
// asked for. wait is closed when a fetch that is under way has ended.
func (k *keys) look(kid, alg string) (found []jose.JSONWebKey, wait <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.known {
		if (kid == "" || key.KeyID == kid) && (key.Algorithm == "" || key.Algorithm == alg) && (key.Use == "" || key.Use == "sig") {
			found = append(found, key)
		}
	}
	if len(found) == 0 || time.Since(k.at) > keysAge {
		k.begin()
	}
	return found, k.under
}

// freshen begins a fetch if the keys are old: one may have been withdrawn.
func (k *keys) freshen() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.at) > keysAge {
		k.begin()
	}
}

// begin begins a fetch, unless there was one a moment ago; k.mu is held.
func (k *keys) begin() {
	if k.under == nil && time.Since(k.tried) >= fetchPause {
		k.under, k.tried = make(chan struct{}), time.Now()
		go k.fetch(k.under)
	}
}

// fetch fetches the keys.
func (k *keys) fetch(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	set, raw, err := k.load(ctx)
	k.mu.Lock()
	other := err == nil && raw != k.raw
	if err == nil {
		k.known, k.raw, k.at = set, raw, time.Now()
	}
	k.under = nil
	k.mu.Unlock()
	if other {
		k.changed() // before whoever waits goes on
	}
	close(done)
	if err != nil {
		k.log.Warn("the keys of the issuer of tokens cannot be fetched", "issuer", k.issuer, "reason", err)
	}
}

// load finds the address of the keys and gets them.
func (k *keys) load(ctx context.Context) ([]jose.JSONWebKey, string, error) {
	var fault error
	for _, address := range metadataURLs(k.issuer) {
		var metadata struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		text, err := k.get(ctx, address)
		if err == nil {
			err = json.Unmarshal(text, &metadata)
		}
		switch {
		case err != nil:
			fault = errors.Join(fault, err)
			continue
		case metadata.Issuer != k.issuer:
			return nil, "", fmt.Errorf("%s is the metadata of %.200q", address, metadata.Issuer)
		case CheckIssuer(metadata.JWKS) != nil:
			return nil, "", fmt.Errorf("%s: jwks_uri: %w", address, CheckIssuer(metadata.JWKS))
		}
		if text, err = k.get(ctx, metadata.JWKS); err != nil {
			return nil, "", err
		}
		public, err := publicKeys(text)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", metadata.JWKS, err)
		}
		return public, string(text), nil
	}
	return nil, "", fault
}

// publicKeys returns the keys of a set that can verify signatures. Others, also of kinds that are not
// known, are for something else.
func publicKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	public := []jose.JSONWebKey{}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && key.Valid() && key.IsPublic() && len(public) < maxKeys {
			public = append(public, key)
		}
	}
	return public, nil
}

// get fetches a document. Redirections are not followed: they would lead to what nobody has configured.
func (k *keys) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	client := *k.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: HTTP %s", address, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxFetched+1))
	if err == nil && len(text) > maxFetched {
		err = fmt.Errorf("%s: longer than %d bytes", address, maxFetched)
	}
	return text, err
}

// metadataURLs returns where the metadata of an issuer may be (RFC 8414, and OpenID Connect Discovery).
func metadataURLs(issuer string) []string {
	u, _ := url.Parse(issuer) // CheckIssuer has parsed it
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	origin := u.Scheme + "://" + u.Host
	return []string{origin + path + "/.well-known/openid-configuration", origin + "/.well-known/oauth-authorization-server" + path}
}

// CheckIssuer refuses a URL from which keys are not safely got: one that is not https, but for one of this
// computer.
func CheckIssuer(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" && u.Scheme != "https" || u.Fragment != "" {
		return errors.New("expected a URL that begins with https://")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return errors.New("expected a URL that begins with https:// (or http:// on this computer)")
	}
	return nil
}

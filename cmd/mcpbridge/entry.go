package main

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// entry is how clients come in to serve: who may, and with which TLS.
type entry struct {
	admitted
	config   atomic.Pointer[tls.Config]
	operator auth.Operator
}

// admitted are those whom a config lets in, beside the holders of its tokens.
type admitted struct {
	oauth        *auth.OAuth // nil without an issuer; stays the same, with what it knows, while its options do
	of           config.Auth
	resource     string             // of oauth
	certificates *auth.Certificates // nil without authorities of clients
}

// prepare reads what a config names. The entry follows the config from the call of use on.
func (e *entry) prepare(cfg *config.Config, log *slog.Logger) (use func(), err error) {
	next := e.admitted
	next.certificates = nil
	own := e.config.Load()
	if cfg.TLS.Cert != "" {
		if own, next.certificates, err = readTLS(cfg); err != nil {
			return nil, err
		}
	}
	if err := next.setOAuth(cfg, log); err != nil {
		return nil, err
	}
	return func() {
		e.admitted = next
		e.config.Store(own)
	}, nil
}

// set makes the entry follow a config at once.
func (e *entry) set(cfg *config.Config, log *slog.Logger) error {
	use, err := e.prepare(cfg, log)
	if err == nil {
		use()
	}
	return err
}

// readTLS reads the files of TLS. The certificates are nil without authorities of clients.
func readTLS(cfg *config.Config) (own *tls.Config, certificates *auth.Certificates, err error) {
	pair, err := keyPair(cfg)
	if err != nil {
		return nil, nil, err
	}
	own = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	path := cfg.TLS.ClientCA
	if path == "" {
		return own, nil, nil
	}
	text, err := file.Read(path, maxPEM)
	if err == nil {
		certificates, err = auth.NewCertificates(text)
	}
	if err != nil {
		return nil, nil, usagef("%s: %s: %v", cfg.TLS.Places["clientCA"], path, err)
	}
	own.ClientAuth, own.ClientCAs = tls.VerifyClientCertIfGiven, certificates.Pool
	return own, certificates, nil
}

const maxPEM = 1 << 20 // bytes of a file

// keyPair returns the certificate of a server, and its key.
func keyPair(cfg *config.Config) (pair tls.Certificate, err error) {
	wrong := func(key, path string, err error, want string) (tls.Certificate, error) {
		return pair, usagef("%s: %s: %s: expected %s", cfg.TLS.Places[key], path, strings.TrimPrefix(err.Error(), "tls: "), want)
	}
	const certificate, private = "a PEM file that begins with the certificate of the server", `a PEM file with the private key of the certificate in "cert"`
	cert, err := file.Read(cfg.TLS.Cert, maxPEM)
	if err != nil {
		return wrong("cert", cfg.TLS.Cert, err, certificate)
	}
	key, err := file.Read(cfg.TLS.Key, maxPEM)
	if err != nil {
		return wrong("key", cfg.TLS.Key, err, private)
	}
	pair, err = tls.X509KeyPair(cert, key)
	switch {
	case err == nil:
		return pair, nil
	case strings.HasPrefix(err.Error(), "x509: "), strings.Contains(err.Error(), "certificate input"):
		return wrong("cert", cfg.TLS.Cert, err, certificate)
	}
	return wrong("key", cfg.TLS.Key, err, private)
}

// setOAuth makes the Authenticator of access tokens, unless there is one with these options.
func (e *admitted) setOAuth(cfg *config.Config, log *slog.Logger) error {
	a := cfg.Auth
	switch {
	case a.Issuer == "":
		e.oauth = nil
		return nil
	case e.oauth != nil && a.Issuer == e.of.Issuer && a.Principal == e.of.Principal && cfg.PublicURL == e.resource &&
		slices.Equal(a.Audience, e.of.Audience) && slices.Equal(a.Scopes, e.of.Scopes):
		return nil
	}
	client, err := issuerClient(cfg)
	if err != nil {
		return err
	}
	opts := auth.OAuthOptions{Issuer: a.Issuer, Audiences: a.Audience, Scopes: a.Scopes, Claim: a.Principal, Client: client, Log: log}
	if len(a.Audience) == 0 {
		opts.Resource = cfg.PublicURL
	}
	e.oauth, e.of, e.resource = auth.NewOAuth(opts), a, cfg.PublicURL
	return nil
}

// issuerClient returns what fetches the keys of the issuer, also where its metadata says that they are.
func issuerClient(cfg *config.Config) (*http.Client, error) {
	roots, err := rootsOf(cfg)
	if err != nil {
		return nil, err
	}
	issuer, err := url.Parse(cfg.Auth.Issuer)
	if err != nil {
		return nil, err // the config has checked it
	}
	return &http.Client{Transport: outbound.NewGuard(issuer, roots)}, nil
}

// rootsOf returns the certificate authorities that connections of a config trust; nil means the system's.
func rootsOf(cfg *config.Config) (roots *x509.CertPool, err error) {
	if cfg.CA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(cfg.CA)
	if err == nil {
		roots, err = outbound.Roots(pem)
	}
	if err != nil {
		return nil, usagef("%s: tls.ca: %v", cfg.Path, err)
	}
	return roots, nil
}

// tls returns the configuration of a listener, which follows the files of the config.
func (e *entry) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return e.config.Load(), nil
	}}
}

// access returns who may come in.
func (e *entry) access(cfg *config.Config) mcpserver.Access {
	a := mcpserver.Access{Tokens: cfg.Tokens, AllowedOrigins: cfg.AllowedOrigins, PublicHosts: cfg.PublicHosts,
		PublicURL: cfg.PublicURL, Proxies: cfg.TrustedProxies, Operator: &e.operator, OperatorValues: cfg.Console.Context}
	for _, own := range []string{cfg.PublicURL, cfg.Console.SandboxOrigin} {
		if u, err := url.Parse(own); err == nil && u.Host != "" {
			a.PublicHosts = append(slices.Clip(a.PublicHosts), u.Host)
		}
	}
	if len(cfg.Issued) > 0 {
		a.Auth = append(a.Auth, issuedTokens(cfg))
	}
	if e.oauth != nil {
		a.Auth = append(a.Auth, e.oauth)
		a.Resource = &mcpserver.Resource{Issuers: []string{cfg.Auth.Issuer}, Scopes: cfg.Auth.Scopes}
	}
	if e.certificates != nil {
		a.Auth = append(a.Auth, e.certificates)
	}
	return a
}

func issuedTokens(cfg *config.Config) *auth.Tokens {
	var issued []auth.Token
	for _, t := range cfg.Issued {
		token := auth.Token{Name: t.Name, Sum: t.Sum(), Profiles: t.Profiles}
		if t.Expires != nil {
			token.Expires = *t.Expires
		}
		issued = append(issued, token)
	}
	return auth.NewTokens(issued)
}

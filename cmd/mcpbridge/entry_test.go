package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// authority issues certificates.
type authority struct {
	*testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64 // serial number
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{T: t}
	a.cert, a.key = a.issue(name, time.Now().Add(time.Hour))
	return a
}

// issue makes a certificate: the first one is the authority's own.
func (a *authority) issue(name string, until time.Time) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	a.last++
	made := &x509.Certificate{SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until, IsCA: a.cert == nil, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = made, key
	}
	der, err := x509.CreateCertificate(rand.Reader, made, parent, key.Public(), signer)
	if err != nil {
		a.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return cert, key
}

// client returns the TLS configuration of a client with a certificate, which trusts an authority.
func (a *authority) client(name string, until time.Time, trusted *authority) *tls.Config {
	cert, key := a.issue(name, until)
	roots := x509.NewCertPool()
	roots.AddCert(trusted.cert)
	own := tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
	return &tls.Config{RootCAs: roots, ServerName: "localhost", GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &own, nil // whatever authorities the server names
	}}
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// tlsFiles are those of a serve with TLS. They are replaced as programs do that renew certificates.
type tlsFiles struct {
	*testing.T
	dir string
}

func (f *tlsFiles) put(name string, text []byte) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		f.Fatal(err)
	}
}

// renew issues another certificate for the server, and returns its serial number.
func (f *tlsFiles) renew(a *authority) *big.Int {
	cert, key := a.issue("server", time.Now().Add(time.Hour))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		f.Fatal(err)
	}
	f.put("server.pem", inPEM("CERTIFICATE", cert.Raw))
	f.put("server.key", inPEM("PRIVATE KEY", der))
	return cert.SerialNumber
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s does not come about", what)
		}
	}
}

// tlsClient is one connection that is kept alive.
type tlsClient struct {
	*testing.T
	http.Client
	url    string
	reused bool // by the latest request
}

func newTLSClient(t *testing.T, url string, cfg *tls.Config) *tlsClient {
	c := &tlsClient{T: t, url: url}
	transport := &http.Transport{TLSClientConfig: cfg}
	c.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	return c
}

// discover sends a request that needs credentials, and returns its status.
func (c *tlsClient) discover() (int, error) {
	ctx := httptrace.WithClientTrace(c.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { c.reused = i.Reused }})
	resp, err := peer.Do(ctx, &c.Client, http.MethodPost, c.url+"/mcp", []byte(begin), nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = resp.Body.Read(make([]byte, 64<<10)) // so that the connection can be used again
	for err == nil {
		_, err = resp.Body.Read(make([]byte, 64<<10))
	}
	return resp.StatusCode, nil
}

// A renewed certificate is that of new connections, and those that are open go on. Another authority of
// clients shuts out those that came in by the one before. Certificates that are not accepted are refused,
// and the log says why.
func TestTLSReload(t *testing.T) {
	server, one, two := newAuthority(t, "server"), newAuthority(t, "one"), newAuthority(t, "two")
	f := &tlsFiles{t, t.TempDir()}
	f.renew(server)
	f.put("clients.pem", inPEM("CERTIFICATE", one.cert.Raw))
	echo := peer.NewServer("")
	s := serveConfig(t, fmt.Sprintf(`{"mcpServers": {"echo": {"url": %q}}, "tls": {"cert": %q, "key": %q, "clientCA": %q}}`,
		echo.Serve(t, nil)+"/mcp", filepath.Join(f.dir, "server.pem"), filepath.Join(f.dir, "server.key"), filepath.Join(f.dir, "clients.pem")), nil)
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("it listens on %s", s.url)
	}
	hour := time.Now().Add(time.Hour)
	asAnn := one.client("ann", hour, server)
	ann := newTLSClient(t, s.url, asAnn)
	if status, err := ann.discover(); status != http.StatusOK {
		t.Fatalf("ann: %d %v", status, err)
	}
	socket, _, err := (&websocket.Dialer{TLSClientConfig: asAnn, Subprotocols: []string{"mcp"}}).Dial("wss"+strings.TrimPrefix(s.url, "https")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	socket.SetReadDeadline(time.Now().Add(patience))
	ping := func() error {
		if err := socket.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
			return err
		}
		_, _, err := socket.ReadMessage()
		return err
	}

	serial := f.renew(server)
	await(t, "the renewed certificate", func() bool {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), asAnn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Cmp(serial) == 0
	})
	if status, err := ann.discover(); status != http.StatusOK || !ann.reused {
		t.Errorf("ann, on the connection of before (%t): %d %v", ann.reused, status, err)
	}
	if err := ping(); err != nil {
		t.Errorf("the WebSocket of before: %v", err)
	}

	f.put("clients.pem", inPEM("CERTIFICATE", two.cert.Raw))
	if _, _, err := socket.ReadMessage(); err == nil {
		t.Error("the WebSocket stays of a client whose authority is no longer accepted")
	}
	if status, err := ann.discover(); status != http.StatusUnauthorized || !ann.reused {
		t.Errorf("ann, on the connection of before (%t): %d %v", ann.reused, status, err)
	}
	bob := newTLSClient(t, s.url, two.client("bob", hour, server))
	if status, err := bob.discover(); status != http.StatusOK {
		t.Errorf("bob: %d %v", status, err)
	}
	for name, refused := range map[string]*tls.Config{
		"another authority's": one.client("ann", hour, server), "expired": two.client("bob", time.Now().Add(-time.Minute), server),
	} {
		if status, err := newTLSClient(t, s.url, refused).discover(); err == nil {
			t.Errorf("a certificate that is %s: %d", name, status)
		}
	}
	without := &tls.Config{RootCAs: asAnn.RootCAs, ServerName: "localhost"}
	if status, err := newTLSClient(t, s.url, without).discover(); status != http.StatusUnauthorized {
		t.Errorf("without a certificate: %d %v", status, err)
	}
	s.end()
	for _, want := range []string{"x509: certificate signed by unknown authority", "x509: certificate has expired", "is of an authority that is no longer accepted"} {
		if log := s.log.text.String(); !strings.Contains(log, want) {
			t.Errorf("not in the log: %s\n%s", want, log)
		}
	}
}

// An error in a file of TLS names the place in the config, the file, and what is expected.
func TestTLSFiles(t *testing.T) {
	f := &tlsFiles{t, t.TempDir()}
	server := newAuthority(t, "server")
	f.renew(server)
	f.put("other.pem", inPEM("CERTIFICATE", server.cert.Raw))
	f.put("no.pem", []byte("no PEM"))
	for _, c := range []struct{ cert, key, clientCA, want string }{
		{"server.pem", "server.key", "", ""},
		{"gone.pem", "server.key", "", `:1:18: tls.cert: $DIR/gone.pem: no such file or directory: expected a PEM file that begins with the certificate of the server`},
		{"no.pem", "server.key", "", `:1:18: tls.cert: $DIR/no.pem: failed to find any PEM data in certificate input: expected a PEM file`},
		{"server.pem", "gone.key", "", `tls.key: $DIR/gone.key: no such file or directory: expected a PEM file with the private key of the certificate in "cert"`},
		{"server.pem", "no.pem", "", `tls.key: $DIR/no.pem: failed to find any PEM data in key input: expected`},
		{"other.pem", "server.key", "", `tls.key: $DIR/server.key: private key does not match public key: expected a PEM file with the private key of the certificate in "cert"`},
		{"server.pem", "server.key", "no.pem", `tls.clientCA: $DIR/no.pem: `},
	} {
		path := func(name string) string { return filepath.Join(f.dir, name) }
		text := fmt.Sprintf(`{"tls": {"cert": %q, "key": %q}}`, path(c.cert), path(c.key))
		if c.clientCA != "" {
			text = fmt.Sprintf(`{"tls": {"cert": %q, "key": %q, "clientCA": %q}}`, path(c.cert), path(c.key), path(c.clientCA))
		}
		f.put("c.json", []byte(text))
		cfg, err := config.Load(path("c.json"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(c.want, "$DIR", f.dir)
		if err := (&entry{}).set(cfg, nil); (err == nil) != (want == "") || err != nil && (!strings.HasPrefix(err.Error(), cfg.Path+":1:") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// The keys of an issuer are not fetched from the network of the bridge, wherever its metadata says they are.
func TestIssuerClient(t *testing.T) {
	client, err := issuerClient(&config.Config{Auth: config.Auth{Issuer: "https://id.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"https://127.0.0.1:1/keys", "https://localhost:1/keys", "http://id.example/keys", "file:///etc/passwd"} {
		if _, err := client.Get(address); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A config that is not applied lets in nobody but whom the one before does.
func TestRefusedConfig(t *testing.T) {
	at := peer.NewServer("").Serve(t, nil) + "/mcp"
	s := serveConfig(t, fmt.Sprintf(`{"mcpServers": {"echo": {"url": %q}}, "auth": {"issuer": "http://127.0.0.1:1", "audience": "some"}}`, at), nil)
	discover := func() int {
		resp, _ := s.request("server/discover", "", "")
		return resp.StatusCode
	}
	if got := discover(); got != http.StatusUnauthorized {
		t.Fatalf("without a token: %d", got)
	}
	next := fmt.Sprintf(`{"mcpServers": {"echo": {"url": %q, "headers": {"X-Key": "${NO_SUCH_VARIABLE}"}}}, "tokens": {"ann": "0123456789abcdef0123456789abcdef"}}`, at)
	if err := os.WriteFile(filepath.Join(s.dir, config.FileName), []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "a refusal of the config", func() bool { return s.log.find("the config is not applied") })
	if got := discover(); got != http.StatusUnauthorized {
		t.Errorf("without a token, after a config that is not applied: %d", got)
	}
}

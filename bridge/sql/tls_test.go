package sql

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The certificate authorities of the config hold for databases, too, where the URL asks for a
// certificate to be verified.
func TestRoots(t *testing.T) {
	server := httptest.NewTLSServer(nil) // for its certificate
	defer server.Close()
	roots, err := outbound.Roots(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		url   string
		greet func(net.Conn) error // what comes before the handshake
	}{
		{"postgres://u@%s/d?sslmode=verify-full", greetPostgres},
		{"postgres://u@%s/d?sslmode=verify-ca", greetPostgres},
		{"jdbc:postgresql://%s/d?ssl=true", greetPostgres},
		{"mysql://u@%s/d?tls=true", greetMySQL},
		{"jdbc:mariadb://%s/d?sslMode=VERIFY_IDENTITY", greetMySQL},
	} {
		for _, trusted := range []bool{false, true} {
			at, handshakes := listenTLS(t, server.TLS, c.greet)
			cfg := bridge.BackendConfig{Name: "shop", Config: fmt.Appendf(nil, `{"url":%q}`, fmt.Sprintf(c.url, at)), Log: slog.New(slog.DiscardHandler)}
			if trusted {
				cfg.Roots = roots
			}
			callOnce(t, cfg)
			if err := <-handshakes; (err == nil) != trusted {
				t.Errorf("%s: the authority is trusted: %v; the handshake: %v", c.url, trusted, err)
			}
		}
	}
}

// callOnce calls a tool of an API, which fails, as the server is not a database.
func callOnce(t *testing.T, cfg bridge.BackendConfig) {
	b, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tool, _, err := b.Tool(toolformat.Tool{Name: "one"}, json.RawMessage(`{"query":"SELECT 1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Call(t.Context(), json.RawMessage(`{}`)); err == nil {
		t.Error("the call did not fail")
	}
}

// listenTLS returns the address of a server that greets each client and hangs up after the TLS
// handshake, and how the first handshake ended.
func listenTLS(t *testing.T, settings *tls.Config, greet func(net.Conn) error) (at string, first <-chan error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done, handshakes := make(chan struct{}), make(chan error, 1)
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			err = greet(conn)
			if err == nil {
				err = tls.Server(conn, settings).Handshake()
			}
			conn.Close()
			select {
			case handshakes <- err:
			default: // a retry
			}
		}
	}()
	return l.Addr().String(), handshakes
}

// greetPostgres accepts the client's SSLRequest (PostgreSQL 17, section 53.2.11).
func greetPostgres(conn net.Conn) error {
	if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil {
		return err
	}
	_, err := conn.Write([]byte{'S'})
	return err
}

// greetMySQL sends an initial handshake packet and reads the client's SSLRequest
// (dev.mysql.com/doc/dev/mysql-server, Connection Phase).
func greetMySQL(conn net.Conn) error {
	packet := []byte("\x0a8.0.0\x00\x01\x00\x00\x0012345678\x00\x00\x8a\x2d\x02\x00\x08\x00\x15\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00123456789012\x00mysql_native_password\x00")
	if _, err := conn.Write(append([]byte{byte(len(packet)), 0, 0, 0}, packet...)); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 4+32))
	return err
}

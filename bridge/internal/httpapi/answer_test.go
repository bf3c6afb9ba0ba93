package httpapi

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A missing answer is an error that says what happened and whether trying again may help, without
// showing a URL.
func TestAway(t *testing.T) {
	const later, operator = "; try again later", "; waiting does not help: the operator of the bridge has to look into it"
	c := Client{Name: "shop"}
	for _, it := range []struct {
		cause error
		want  string
	}{
		{syscall.ECONNREFUSED, "did not answer" + later},
		{fmt.Errorf("body: %w", io.ErrUnexpectedEOF), "broke off its answer" + later},
		{fmt.Errorf("body: %w", gzip.ErrHeader), "sent an unreadable answer: it is not the gzip that its header announces" + later},
		{&codingError{"br"}, `sent an unreadable answer: its content coding is "br", which was not asked for` + later},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "has a TLS certificate that this machine does not trust" + operator},
		{&net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}, "has an unknown host name" + operator},
		{&net.DNSError{Err: "server misbehaving", Name: "h", IsTemporary: true}, "did not answer" + later},
	} {
		err := c.unavailable(t.Context(), Call{Tool: "get"}, &url.Error{Op: "Get", URL: "https://h/?key=s3cr3t", Err: it.cause})
		var e *toolformat.Error
		if !errors.As(err, &e) || e.Code != toolformat.Unavailable || e.Message != `tool get: the API "shop" `+it.want || e.Cause != it.cause {
			t.Errorf("%v: %v", it.cause, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.unavailable(ctx, Call{Tool: "get"}, io.EOF); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

// An answer in a content coding is unreadable.
func TestCoding(t *testing.T) {
	var c Client
	for coding, readable := range map[string]bool{"": true, "identity": true, "br": false, "gzip": false} {
		res := &http.Response{StatusCode: 500, Header: http.Header{"Content-Encoding": {coding}, "Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("body"))}
		b, _, err := read(res, 100)
		if got := string(b.B) == "body"; got != readable || (err == nil) != readable {
			t.Errorf("%q: %q, %v", coding, b.B, err)
		}
		b.Free()
		if r := c.Unusable(res, "", []byte("body")); strings.Contains(string(r.JSON), "body") != readable {
			t.Errorf("%q: %s", coding, r.JSON)
		}
	}
}

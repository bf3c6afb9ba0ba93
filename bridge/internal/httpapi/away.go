package httpapi

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Away returns the error of a tool's call to which the API gave no readable answer. effect names
// what the API may have carried out, such as "request"; "" means that trying again does no harm.
// The error does not show the URL, whose query may hold a key. If ctx has ended, it is ctx's error.
func (c *Client) Away(ctx context.Context, tool, effect string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	what, lasts := describe(err)
	next := "try again later"
	switch {
	case lasts:
		next = "waiting does not help: the operator of the bridge has to look into it"
	case effect != "":
		next = "the " + effect + " may have been carried out: check before you try again"
	}
	return toolformat.Errorf(toolformat.Unavailable, "tool %s: the API %q %s; %s", tool, c.Name, what, next).Because(err)
}

// describe says what came instead of an answer. lasts means that nothing was sent, and that the
// next attempt will fail as well.
func describe(err error) (what string, lasts bool) {
	var (
		untrusted *tls.CertificateVerificationError
		dns       *net.DNSError
		coded     *codingError
		corrupt   flate.CorruptInputError
	)
	switch {
	case errors.As(err, &untrusted):
		return "has a TLS certificate that this machine does not trust", true
	case errors.As(err, &dns) && dns.IsNotFound:
		return "has an unknown host name", true
	case errors.As(err, &coded):
		return "sent an unreadable answer: " + coded.Error(), false
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return "sent an unreadable answer: it is not the gzip that its header announces", false
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "broke off its answer", false
	}
	return "did not answer", false
}

// A codingError is an answer in a content coding that the request did not ask for.
type codingError struct{ coding string }

func (e *codingError) Error() string {
	return fmt.Sprintf("its content coding is %q, which was not asked for", native.Shorten(e.coding))
}

// coding returns the content coding that a body is still in, or "" (RFC 9110, section 8.4).
func coding(res *http.Response) string {
	coding := strings.TrimSpace(res.Header.Get("Content-Encoding"))
	if strings.EqualFold(coding, "identity") {
		return ""
	}
	return coding
}

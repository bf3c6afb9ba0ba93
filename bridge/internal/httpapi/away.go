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

// Away is the error of a tool's call whose API gave no answer that can be read; next is
// what can be done when it may be otherwise another time. What it shows has no URL in it,
// as the query may hold a key. When ctx has ended, that is the error.
func (c *Client) Away(ctx context.Context, tool, next string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	what, lasts := fate(err)
	if lasts {
		next = "to wait does not help: whoever runs the bridge has to look"
	}
	return toolformat.Errorf(toolformat.Unavailable, "tool %s: the API %q %s; %s", tool, c.Name, what, next).Because(err)
}

// fate says what came of a request in the place of an answer, and whether that lasts: then
// nothing was sent, and nothing will be another time.
func fate(err error) (what string, lasts bool) {
	var (
		untrusted *tls.CertificateVerificationError
		dns       *net.DNSError
		coded     *codingError
		corrupt   flate.CorruptInputError
	)
	switch {
	case errors.As(err, &untrusted):
		return "has a TLS certificate that is not trusted here", true
	case errors.As(err, &dns) && dns.IsNotFound:
		return "has a host name that is not known", true
	case errors.As(err, &coded):
		return "gave an answer that cannot be read: " + coded.Error(), false
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return "gave an answer that cannot be read: it is no gzip, as it says", false
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "did not answer to the end", false
	}
	return "did not answer", false
}

// A codingError is an answer in a content coding that was not asked for.
type codingError struct{ coding string }

func (e *codingError) Error() string {
	return fmt.Sprintf("its content coding is %q, which was not asked for", native.Short(e.coding))
}

// coding is the content coding that an answer still has; "" for none (RFC 9110, 8.4).
func coding(res *http.Response) string {
	coding := strings.TrimSpace(res.Header.Get("Content-Encoding"))
	if strings.EqualFold(coding, "identity") {
		return ""
	}
	return coding
}

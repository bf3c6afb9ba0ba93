package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// callback is the address to which the browser returns.
type callback struct {
	redirect string
	answers  chan url.Values // with the right state; has room for one
	server   *http.Server
	state    string
}

const callbackPath = "/callback"

// listen opens the callback on a port of this computer; 0 means a free one.
func listen(port int, state string) (*callback, error) {
	first, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("the browser cannot return to port %d: %w", port, err)
	}
	port = first.Addr().(*net.TCPAddr).Port
	cb := &callback{redirect: fmt.Sprintf("http://localhost:%d%s", port, callbackPath), answers: make(chan url.Values, 1), state: state}
	cb.server = &http.Server{Handler: http.HandlerFunc(cb.serve), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go cb.server.Serve(first)
	if second, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(port))); err == nil { // to which localhost may lead, too
		go cb.server.Serve(second)
	}
	return cb, nil
}

// close ends the callback when its last page has been sent.
func (cb *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if cb.server.Shutdown(ctx) != nil {
		cb.server.Close()
	}
}

// serve takes the browser's return. A request without the state of this login is someone else's.
func (cb *callback) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Connection", "close")
	answer := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || !cb.isOurs(answer) {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<!doctype html><title>mcpbridge</title><p>This address belongs to no login that is under way.")
		return
	}
	select {
	case cb.answers <- answer:
	default: // it has been here before
	}
	io.WriteString(w, "<!doctype html><title>mcpbridge</title><p>mcpbridge has the answer: you can close this window and go back to the terminal.")
}

func (cb *callback) isOurs(answer url.Values) bool {
	return subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(cb.state)) == 1
}

// parse reads what a person has pasted: the address to which the browser was sent, or the code alone,
// which is of no use without the verifier of this login. It has to be the address if that names the issuer.
func (cb *callback) parse(text string, namesIssuer bool) (url.Values, error) {
	text = strings.TrimSpace(text)
	if !namesIssuer && !strings.ContainsAny(text, "?=&") {
		return url.Values{"code": {text}, "state": {cb.state}}, nil
	}
	if _, query, ok := strings.Cut(text, "?"); ok {
		text = query
	}
	text, _, _ = strings.Cut(text, "#")
	answer, err := url.ParseQuery(text)
	if err != nil || !cb.isOurs(answer) {
		return nil, errors.New("that is not the address of this login: expected " + cb.redirect + "?code=…&state=…")
	}
	return answer, nil
}

// code returns the code of an answer, whose issuer it checks first (RFC 9207): what another one says
// stays unread.
func (c *Client) code(a *authority, answer url.Values) (string, error) {
	issuer, named := answer.Get("iss"), answer.Has("iss")
	switch {
	case named && issuer != a.Issuer:
		return "", fmt.Errorf("the answer is that of another authorization server than %s: the login has been refused", a.Issuer)
	case !named && a.NamesIssuer:
		return "", fmt.Errorf("the answer does not say that it is from %s, as that promises: the login has been refused", a.Issuer)
	case answer.Has("error"):
		refusal := &grantError{Code: c.visible(answer.Get("error")), Text: c.visible(answer.Get("error_description"))}
		return "", fmt.Errorf("%s refuses the login: %w", a.Issuer, refusal)
	case answer.Get("code") == "":
		return "", fmt.Errorf("%s has sent neither a code nor an error", a.Issuer)
	}
	return answer.Get("code"), nil
}

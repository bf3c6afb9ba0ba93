package mcpclient

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// authError is an error of Auth: the server has not carried out the request.
type authError struct {
	error
	code toolformat.Code
}

func (e *authError) Unwrap() error { return e.error }

// lacks reports whether a link has failed for want of credentials of its callers.
func (cfg *Config) lacks(reason error) bool {
	var refusal *authError
	return cfg.Lacks != nil && errors.As(reason, &refusal) && cfg.Lacks(refusal.error)
}

// authorized sends a request with the credentials of Auth, and once more where the server refuses them
// and Auth has others. send is given the value of the Authorization header and a message of its own.
// One that lies in several places cannot be sent again.
func (cfg *Config) authorized(ctx context.Context, msg *wire.Buffer, whole bool, send func(value string, msg *wire.Buffer) (*http.Response, error)) (*http.Response, error) {
	var kept *wire.Buffer
	defer func() { kept.Free() }()
	for attempt := 1; ; attempt++ {
		value, err := cfg.Auth.Authorization(ctx)
		if err != nil {
			msg.Free()
			return nil, &authError{err, toolformat.Unavailable}
		}
		cfg.holdSecret(value)
		last := attempt > 1 || value == "" || !whole
		if !last && msg != nil {
			kept = wire.NewBuffer(len(msg.B))
			kept.B = append(kept.B, msg.B...)
		}
		resp, err := send(value, msg)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		again, err := cfg.Auth.Refused(ctx, value, resp.StatusCode, resp.Header, last)
		switch {
		case err != nil:
			resp.Body.Close()
			return nil, &authError{err, toolformat.Denied}
		case !again || last:
			return resp, nil
		}
		resp.Body.Close()
		msg, kept = kept, nil
	}
}

// loginTime bounds the wait for a person who is asked to log in, and maxLogins how often one is for a
// request: at first, and for more scopes.
const loginTime, maxLogins = 5 * time.Minute, 2

// logIn lets the person behind the caller of a request do what Auth wants, where the client can show an
// address (elicitation in URL mode). It reports whether the request is worth another attempt. Only a
// request for something by its name is: a client that merely starts asks nobody.
func (l *link) logIn(ctx context.Context, req *bridge.Request, owner *session, failed *toolformat.Error) bool {
	cause := l.refusal(failed)
	if req.Target == "" || cause == nil || wire.Lookup(owner.caller.Capabilities, "elicitation", "url") == nil {
		return false
	}
	ask := asker(owner.caller.Ask)
	if req.Back != nil {
		ask = req.Back.Ask
	}
	if ask == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	id, shown := rand.Text(), false
	err := l.cfg.Auth.Ask(ctx, owner.caller.Principal, cause.error, func(address string) error {
		params := []byte(`{"mode":"url"}`)
		for key, value := range map[string]string{"elicitationId": id, "url": address, "message": "Log in to " + l.cfg.Name} {
			params = wire.SetMember(params, key, wire.AppendString(nil, value))
		}
		result, err := l.cfg.callAsker(ctx, ask, wire.MethodElicit, params)
		if err != nil {
			return err
		}
		if action, _ := wire.Text(wire.Lookup(result, "action")); action != "accept" {
			return errors.New("declined")
		}
		shown = true
		return nil
	})
	if err != nil {
		return false
	}
	if shown && !owner.caller.Modern { // whose era has no such notification
		notify := owner.caller.Notify
		if req.Back != nil {
			notify = req.Back.Notify
		}
		if notify != nil {
			notify(string(mcp.MethodNotificationElicitationComplete), wire.SetMember([]byte("{}"), "elicitationId", wire.AppendString(nil, id)))
		}
	}
	l.retryNow(ctx)
	return true
}

// refusal returns the error of Auth for which a request has failed, or its link; nil if it is another. It
// takes it out of the request's, whose text has it, unless another Source lets callers log in.
func (l *link) refusal(failed *toolformat.Error) (cause *authError) {
	if errors.As(failed.Cause, &cause) {
		if l.cfg.Own == nil {
			failed.Cause = nil
		}
		return cause
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == Failed {
		errors.As(l.reason, &cause)
	}
	return cause
}

// retryNow ends the wait of a failed link for its next attempt, and waits until that begins.
func (l *link) retryNow(ctx context.Context) {
	l.mu.Lock()
	changed, failed := l.changed, l.state == Failed
	l.mu.Unlock()
	if !failed {
		return
	}
	l.interrupt(nil)
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// setAuthorization sets or removes the Authorization header.
func setAuthorization(h http.Header, value string) {
	if value == "" {
		h.Del("Authorization")
		return
	}
	h.Set("Authorization", value)
}

// credentials are those of a config, with the one that Auth gave last.
type credentials struct {
	token atomic.Pointer[string]
	all   atomic.Pointer[bridge.Secrets]
}

// holdSecret hides the value of an Authorization header, and the one before.
func (cfg *Config) holdSecret(value string) {
	held := cfg.secrets.token.Load()
	if held == nil && value == "" || held != nil && *held == value {
		return
	}
	s := cfg.findSecrets()
	s.add(value)
	if held != nil { // it may be valid yet, and requests with it are under way
		s.add(*held)
	}
	cfg.secrets.token.Store(&value)
	cfg.secrets.all.Store(&s.all)
}

// Package models asks the APIs of providers which models they have.
package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxList bounds the answer, in bytes.
const maxList = 16 << 20

// API is where and how the models are asked for: the fields of a providers.Client.
type API struct {
	BaseURL, Version string
	Header           http.Header
	Auth             func(*http.Request) error
	HTTP             *http.Client
}

// List returns the names of the models at a path of the API: the member name of each element of the
// array list. The caller bounds the time with ctx.
func (c API) List(ctx context.Context, path, list, name string) ([]string, error) {
	base, query, _ := strings.Cut(c.BaseURL, "?")
	base = strings.TrimRight(base, "/")
	if c.Version != "" {
		base = strings.TrimSuffix(base, "/"+c.Version)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil { // that of net/url has the whole URL, too
		return nil, errors.New("the base URL is not valid: expected http(s)://HOST…")
	}
	req.URL.RawQuery = strings.Trim(req.URL.RawQuery+"&"+query, "&")
	maps.Copy(req.Header, c.Header)
	if c.Auth != nil {
		if err := c.Auth(req); err != nil {
			return nil, fmt.Errorf("authorization: %w", err)
		}
	}
	connect := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.HTTP != nil {
		connect = *c.HTTP
	}
	resp, err := connect.Do(req)
	if err != nil {
		if whole := (*url.Error)(nil); errors.As(err, &whole) {
			err = whole.Err // less the URL, which can hold a secret
		}
		return nil, fmt.Errorf("cannot reach %s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if err == nil {
		err = wire.Valid(body)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of models is not readable: %w", err)
	}
	var names []string
	for element := range wire.Elements(wire.Lookup(body, list)) {
		if text, ok := wire.Text(wire.Lookup(element, name)); ok && text != "" {
			names = append(names, text)
		}
	}
	return names, nil
}

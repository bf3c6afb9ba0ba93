package rest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
)

type header struct {
	name  string
	value template
}

func (t *tool) compileHeaders(s *Spec) error {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if err := httpapi.CheckHeader(name, s.Headers[name]); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
		value, err := parseTemplate(s.Headers[name])
		if err != nil {
			return fmt.Errorf("headers: %s: %w", name, err)
		}
		t.use(value)
		if !strings.EqualFold(name, "Cookie") {
			t.headers = append(t.headers, header{name, value})
			continue
		}
		for _, cookie := range value.split(";") {
			if len(cookie) > 0 {
				cookie[0].text = strings.TrimLeft(cookie[0].text, " ")
				t.cookies = append(t.cookies, cookie)
			}
		}
	}
	t.named.add(t.cookies)
	return nil
}

// expandHeaders returns the headers of the API, which calls share, or a copy with those of the tool
// and the media type of the body. contentType is "" without a body.
func (t *tool) expandHeaders(args arguments, contentType string) (http.Header, error) {
	if len(t.headers) == 0 && len(t.cookies) == 0 && contentType == "" {
		return t.Header, nil
	}
	all, isTyped := t.Header.Clone(), false
	text := func(name string) string { return t.encoding[name].text(name, args.values[name], verbatim) }
	for _, h := range t.headers {
		names := h.value.names()
		if args.missing(names...) != "" {
			continue
		}
		for _, name := range names {
			if httpapi.CheckHeader(h.name, text(name)) != nil {
				return nil, fmt.Errorf("argument %s: the header %s cannot contain a line break or another control character", name, h.name)
			}
		}
		all.Set(h.name, h.value.expand(text))
		isTyped = isTyped || strings.EqualFold(h.name, "Content-Type")
	}
	httpapi.DropCoding(all)
	// The API's type may be another one of JSON.
	if contentType != "" && (t.format == formatMultipart || !isTyped && (t.format != formatJSON || all.Get("Content-Type") == "")) {
		all.Set("Content-Type", contentType)
	}
	return all, t.addCookies(all, args)
}

// addCookies adds the cookies of the tool to those of the API, which are in all.
func (t *tool) addCookies(all http.Header, args arguments) error {
	if len(t.cookies) == 0 {
		return nil
	}
	isBad := false
	escape := func(s string) string {
		isBad = isBad || strings.ContainsAny(s, " \t\",;\\") || strings.ContainsFunc(s, isControl) // RFC 6265, section 4.1.1
		return s
	}
	var cookies []string
	if own := all.Get("Cookie"); own != "" {
		cookies = append(cookies, own)
	}
	for _, cookie := range t.cookies {
		expanded, err := t.expandPair(nil, cookie, args, pairs{escape: escape, taken: []taken{t.named, t.backend.cookies}})
		if err != nil {
			return err
		}
		if isBad {
			return fmt.Errorf("argument %s: a cookie cannot contain white space, quotes, commas, semicolons or backslashes", strings.Join(cookie.names(), ", "))
		}
		for _, text := range expanded {
			if name, _, _ := strings.Cut(text, "="); !t.backend.cookies[fold(name)] {
				cookies = append(cookies, text)
			}
		}
	}
	if len(cookies) > 0 {
		all.Set("Cookie", strings.Join(cookies, "; "))
	}
	return nil
}

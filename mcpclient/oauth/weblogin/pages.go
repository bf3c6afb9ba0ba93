package weblogin

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// The paths of the pages, below the address of the bridge.
const (
	loginPath    = "/login"
	callbackPath = loginPath + "/callback"
)

// ServeHTTP serves the pages.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	query := r.URL.Query()
	id := query.Get("id")
	if r.URL.Path == callbackPath {
		id = idOf(query.Get("state"))
	}
	switch {
	case d.elsewhere(w, r, id):
	case r.URL.Path == loginPath && r.Method == http.MethodGet:
		d.serveLink(w, r)
	case r.URL.Path == loginPath && r.Method == http.MethodPost:
		d.serveLeave(w, r)
	case r.URL.Path == callbackPath && r.Method == http.MethodGet:
		d.serveCallback(w, r)
	default:
		refuse(w, http.StatusNotFound, "There is no such page.")
	}
}

// serveLink says what a link is for. The login is nobody's so far, as programs open links, too.
func (d *Desk) serveLink(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	cookie := cookieOf(r, id)
	l := d.find(id, cookie)
	if l == nil {
		refuse(w, http.StatusNotFound, sentence(errGone))
		return
	}
	d.setCookie(w, id, orNewCookie(cookie)) // before the form is sent, which may happen twice
	page(w, `<h1>Log in to %</h1><p>You are about to connect your account at <b>%</b> (%) to <b>%</b> of this bridge, which then acts for you there.</p>`+
		`<p>Go on only if that is you, and you have just asked for this.</p><form method="post"><button autofocus>Log in</button></form>`,
		l.of.Server, l.of.Server, l.client.Server(), l.of.Principal)
}

// serveLeave leads the browser to the authorization server.
func (d *Desk) serveLeave(w http.ResponseWriter, r *http.Request) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		refuse(w, http.StatusForbidden, "Another page has sent you here: open the link itself.")
		return
	}
	id := r.URL.Query().Get("id")
	address, cookie, err := d.leave(r.Context(), id, cookieOf(r, id))
	if err != nil {
		refuse(w, http.StatusBadGateway, sentence(err))
		return
	}
	d.setCookie(w, id, cookie)
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

// serveCallback takes the answer of the authorization server, and shows the code.
func (d *Desk) serveCallback(w http.ResponseWriter, r *http.Request) {
	answer := r.URL.Query()
	l, of, code, err := d.arrive(r.Context(), answer, cookieOf(r, idOf(answer.Get("state"))))
	if err != nil {
		refuse(w, http.StatusForbidden, sentence(err))
		return
	}
	who := "the account"
	if of != "" {
		who = "the account of " + of
	}
	page(w, `<h1>Almost done</h1><p>Enter this code where you have asked for the login:</p><p class="code">%</p>`+
		`<p>It connects % at % to <b>%</b> of this bridge, and is valid for ten minutes. Show it to nobody else.</p>`,
		code[:4]+"-"+code[4:], who, l.of.Server, l.of.Principal)
}

// setCookie gives the browser its cookie of a login.
func (d *Desk) setCookie(w http.ResponseWriter, id, cookie string) {
	base, err := url.Parse(d.address())
	if err != nil { // nor does a link lead here
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(id), Value: cookie, Path: base.Path + loginPath, MaxAge: int(life.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: base.Scheme == "https",
	})
}

// cookieOf returns the cookie of a login that a browser has, "" for none.
func cookieOf(r *http.Request, id string) string {
	c, err := r.Cookie(cookieName(id))
	if err != nil {
		return ""
	}
	return c.Value
}

// address returns the address of the bridge.
func (d *Desk) address() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.base
}

// sentence makes an error one.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	page(w, `<h1>That did not work</h1><p>%</p>`, text)
}

const style = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>mcpbridge</title><style>` +
	`:root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem;overflow-wrap:anywhere}` +
	`button{font:inherit;padding:.4rem 1.4rem}.code{font:600 2rem ui-monospace,monospace;letter-spacing:.1em}</style>`

// page writes a page. Each % in body stands for a text.
func page(w io.Writer, body string, texts ...string) {
	var b strings.Builder
	b.WriteString(style)
	for _, text := range texts {
		before, after, _ := strings.Cut(body, "%")
		b.WriteString(before + html.EscapeString(text))
		body = after
	}
	b.WriteString(body)
	io.WriteString(w, b.String())
}

package weblogin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

const (
	life       = 10 * time.Minute // of a login under way
	mostLogins = 3                // under way, of a principal at a server
	mostTries  = 5                // of codes, until the logins end

	stepTime = time.Minute // that an authorization server may take for a step, whether or not its browser waits
)

// A Desk has the logins under way. The zero value is ready. It may be used from many goroutines, and is
// the http.Handler of its pages, which are below /login of the address that it has.
type Desk struct {
	mu     sync.Mutex // guards the fields below, and those of the logins
	base   string     // the address of the bridge, without a slash at its end
	fleet  Fleet
	logins map[string]*login
}

// Account is what is to be connected: that of a principal at a server.
type Account struct {
	Server    string // its name
	Principal string
}

// login is a login under way.
type login struct {
	id      string // names it in links
	of      Account
	client  *oauth.Client
	cause   error
	expires time.Time
	tries   int // of codes that were wrong

	opened bool         // its page was shown
	cookie string       // of the browser that has left the page; "" before that; changed with step held, too
	visit  *oauth.Visit // of the authorization server; nil before it begins
	answer string       // the code of the authorization server, of which the code below is
	code   string       // "" before somebody has logged in, and while somebody does again
	who    string

	step sync.Mutex // held while the authorization server is asked: a browser may send a request again meanwhile
}

// progress is how far a person has come with the login.
func (l *login) progress() int {
	switch {
	case l.code != "":
		return 3
	case l.cookie != "":
		return 2
	case l.opened:
		return 1
	}
	return 0
}

// SetBase sets the address under which browsers reach the pages; "" means that there is none.
func (d *Desk) SetBase(base string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base = strings.TrimSuffix(base, "/")
}

// Begin begins a login, and returns the link for the browser. cause is that of oauth.Client.Visit.
func (d *Desk) Begin(of Account, client *oauth.Client, cause error) (link string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.base == "" {
		return "", errors.New("its login needs a page of the bridge: whoever runs the bridge has to set publicUrl in its config")
	}
	d.sweep()
	if under := d.of(of); len(under) >= mostLogins {
		least := slices.MinFunc(under, func(a, b *login) int { return a.progress() - b.progress() }) // a person may be at the others
		delete(d.logins, least.id)
	}
	id := rand.Text()
	if d.fleet.NewID != nil {
		id = d.fleet.NewID()
	}
	l := &login{id: id, of: of, client: client, cause: cause, expires: time.Now().Add(life)}
	if d.logins == nil {
		d.logins = map[string]*login{}
	}
	d.logins[l.id] = l
	return d.base + "/login?id=" + l.id, nil
}

// sweep removes the logins whose time has passed. d.mu is held.
func (d *Desk) sweep() {
	now := time.Now()
	for id, l := range d.logins {
		if now.After(l.expires) {
			delete(d.logins, id)
		}
	}
}

// of returns the logins under way for an account, the oldest first. d.mu is held.
func (d *Desk) of(of Account) (all []*login) {
	for _, l := range d.logins {
		if l.of == of {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *login) int { return a.expires.Compare(b.expires) })
	return all
}

// Finish keeps the login whose page has shown a code, whatever node of the Fleet has it, and returns who has
// logged in, "" if that is not known.
func (d *Desk) Finish(ctx context.Context, of Account, code string) (who string, err error) {
	code = plain(code)
	best := d.FinishHere(ctx, of, code)
	if finish := d.nodes().Finish; finish != nil && best.Stage < failed {
		for _, o := range finish(ctx, of, code) {
			if o.Stage > best.Stage {
				best = o
			}
		}
	}
	switch best.Stage {
	case kept:
		return best.Who, nil
	case failed:
		return "", errors.New(best.Fault)
	case Away:
		return "", errors.New("a node of the bridge that may have this login does not answer: try again")
	case wrongCode:
		return "", errors.New("that is not the code of the page: it has 8 letters and digits")
	case unfinished:
		return "", errors.New("nobody has logged in so far: open the link in a browser first, whose page shows a code at the end")
	}
	return "", errors.New("no login is under way: begin with a new link")
}

// FinishHere is Finish for the logins that this Desk has itself.
func (d *Desk) FinishHere(ctx context.Context, of Account, code string) Outcome {
	found, stage := d.take(of, code)
	if found == nil {
		return Outcome{Stage: stage}
	}
	if err := found.visit.Keep(ctx); err != nil {
		return Outcome{Stage: failed, Fault: err.Error()}
	}
	return Outcome{Stage: kept, Who: found.who}
}

// take removes the login with a code. If there is none, the stage says why.
func (d *Desk) take(of Account, code string) (l *login, stage int) {
	code = plain(code)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	for _, l := range d.of(of) {
		if l.code == "" {
			stage = max(stage, unfinished)
			continue
		}
		stage = wrongCode
		if subtle.ConstantTimeCompare([]byte(l.code), []byte(code)) == 1 {
			delete(d.logins, l.id)
			return l, kept
		}
		if l.tries++; l.tries >= mostTries {
			delete(d.logins, l.id)
		}
	}
	return nil, stage
}

const codeLength = 8

// newCode returns a code: 40 random bits, which are easy to read.
func newCode() string { return rand.Text()[:codeLength] }

// plain returns a code as newCode has written it. One that is too long stays so, and no longer than that.
func plain(code string) string {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(strings.TrimSpace(code)))
	return code[:min(len(code), codeLength+1)]
}

// find returns a login for its page, to the first browser or to the one that has begun it; nil if there is none with
// the id.
func (d *Desk) find(id, cookie string) *login {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	l := d.logins[id]
	if l == nil || l.cookie != "" && !l.isOf(cookie) {
		return nil
	}
	l.opened = true
	return l
}

// isOf reports whether a browser with a cookie is that of the login.
func (l *login) isOf(cookie string) bool {
	return subtle.ConstantTimeCompare([]byte(cookie), []byte(l.cookie)) == 1
}

// leave begins the visit of the authorization server, for the first browser that leaves the page of a login. If that
// comes back, its visit goes on. used is the cookie of the browser from now on.
func (d *Desk) leave(ctx context.Context, id, cookie string) (address, used string, err error) {
	l := d.find(id, cookie)
	if l == nil {
		return "", "", errGone
	}
	l.step.Lock()
	defer l.step.Unlock()
	if ctx.Err() != nil { // the browser has gone before its turn came
		return "", "", ctx.Err()
	}
	d.mu.Lock()
	begun := l.cookie != ""
	if !begun {
		l.cookie = orNewCookie(cookie)
	}
	visit, base, gone := l.visit, d.base, d.logins[id] != l || begun && !l.isOf(cookie)
	d.mu.Unlock()
	switch {
	case gone:
		return "", "", errGone
	case visit != nil:
		return visit.Address(), l.cookie, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTime)
	defer cancel()
	visit, err = l.client.Visit(ctx, base+callbackPath, id, l.cause)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		l.cookie = "" // so that another attempt may be made
		return "", "", err
	}
	l.visit = visit
	return visit.Address(), l.cookie, nil
}

// orNewCookie returns the cookie of a browser, or one for it.
func orNewCookie(cookie string) string {
	if made := rand.Text(); len(cookie) != len(made) {
		return made
	}
	return cookie
}

var errGone = errors.New("this link has been used, or is older than ten minutes: ask for another one")

// arrive takes the answer of an authorization server from a browser with a cookie, which may come again. The code is
// shown only to who brings the answer: whoever has asked for the link knows the state, and may know the cookie, if they
// could set one in that browser.
func (d *Desk) arrive(ctx context.Context, answer url.Values, cookie string) (l *login, who, code string, err error) {
	if l, err = d.visited(answer.Get("state"), cookie); err != nil {
		return nil, "", "", err
	}
	l.step.Lock()
	defer l.step.Unlock()
	if ctx.Err() != nil { // the browser has gone before its turn came
		return nil, "", "", ctx.Err()
	}
	d.mu.Lock()
	before, gone := l.code, d.logins[l.id] != l
	same := before != "" && subtle.ConstantTimeCompare([]byte(l.answer), []byte(answer.Get("code"))) == 1
	if !gone && !same {
		l.code = "" // nothing keeps the login while its token changes
	}
	d.mu.Unlock()
	switch {
	case gone:
		return nil, "", "", errGone
	case same:
		return l, l.who, before, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTime)
	defer cancel()
	who, err = l.visit.Answer(ctx, answer)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		l.who, l.code, l.answer = who, newCode(), answer.Get("code")
		return l, l.who, l.code, nil
	case before != "":
		l.code = before // the login before is as good as it was
	default:
		delete(d.logins, l.id)
	}
	return nil, "", "", err
}

// visited returns the login with a state, to its browser alone.
func (d *Desk) visited(state, cookie string) (*login, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	l := d.logins[idOf(state)]
	switch {
	case l == nil || l.visit == nil || subtle.ConstantTimeCompare([]byte(l.visit.State()), []byte(state)) == 0:
		return nil, errGone
	case !l.isOf(cookie):
		return nil, errors.New("this login was begun in another browser: go on in that one")
	}
	return l, nil
}

// idOf returns the id of the login that has a state.
func idOf(state string) string {
	_, id, _ := strings.Cut(state, ".")
	return id
}

// cookieName returns the name of the cookie of a login. Ids may begin alike.
func cookieName(id string) string { return "mcpbridge-login-" + id[max(len(id)-8, 0):] }

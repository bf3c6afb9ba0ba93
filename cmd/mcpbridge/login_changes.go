package main

import (
	"crypto/sha256"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/watch"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

// heedLogins has the servers follow the logins that other programs of the user make and end, be it for another config,
// which nobody tells this program. l.mu is held, or nothing else runs yet.
func (l *live) heedLogins() {
	store, ok := l.opts.Logins.(*secret.Store) // else it is shared by the nodes of a cluster
	if !ok || l.logins != nil || !l.hasLogins() {
		return
	}
	var known map[string][sha256.Size]byte // digests; nil before the first change, which may have ended any login
	changed := func() {
		all, err := store.All()
		if err != nil { // a server that needs its login says so
			return
		}
		before := known
		known = map[string][sha256.Size]byte{}
		for key, value := range all {
			known[key] = sha256.Sum256(value)
		}
		l.recheck(func(login *oauth.Client) (came, switched time.Time) {
			key := login.Key()
			if before != nil && before[key] == known[key] {
				return time.Time{}, time.Time{}
			}
			return login.Changed(key, all[key])
		})
	}
	var err error
	if l.logins, err = watch.New([]string{store.Path()}, changed, l.log); err != nil {
		l.log.Warn("logins to servers that other programs make are noticed late", "reason", err)
	}
}

// hasLogins reports whether there is a server to which one can log in.
func (l *live) hasLogins() bool {
	s := l.Live.Stack()
	for _, server := range s.Config().Servers {
		if s.Login(server.Name) != nil {
			return true
		}
	}
	return false
}

// loginChanged has the servers use a login that has changed in the store.
func (l *live) loginChanged(key string, value []byte) {
	l.recheck(func(login *oauth.Client) (came, switched time.Time) { return login.Changed(key, value) })
}

// recheck has the servers use what has changed of their logins, as changed says.
func (l *live) recheck(changed func(login *oauth.Client) (came, switched time.Time)) {
	for _, client := range l.Live.Stack().Clients() {
		client.Recheck(func(auth any) (came, switched time.Time) {
			if login, ok := auth.(*oauth.Client); ok {
				return changed(login)
			}
			return time.Time{}, time.Time{}
		})
	}
}

// endLogins ends what heedLogins has begun.
func (l *live) endLogins() {
	l.mu.Lock()
	logins := l.logins
	l.mu.Unlock()
	if logins != nil {
		logins.Close()
	}
}

package config

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
)

// Bits of a file's mode: what users may do that neither own it nor are in its group.
const (
	othersRead  fs.FileMode = 0o004
	othersWrite fs.FileMode = 0o002
)

// mode returns the mode of a file, or 0 if other users have no access by it: on Windows, which has
// no such bits, and through a pipe or a device.
func mode(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || !info.Mode().IsRegular() {
		return 0
	}
	return info.Mode().Perm()
}

// guard warns of a file that other users can change, and lets secret warn of one that they can read.
func (d *decoder) guard(mode fs.FileMode) {
	d.readable = mode&othersRead != 0
	if mode&othersWrite != 0 {
		d.warnf(node{}, "every user of this computer can change this file, and so have any program run in your name: chmod 600 %s", d.file)
	}
}

// secretName matches the names of variables, headers and keys whose values are secrets.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^auth|authorization|token|secret|password|passwd|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|bearer|cookie)$`)
})

// minSecretSize is the length below which a value stands for a secret that a server does not check.
const minSecretSize = 8 // bytes

// IsSecret reports whether the value of a variable, a header or a key is a secret: its name says so, or
// it is a URL with a password.
func IsSecret(name, value string) bool {
	return value != "" && secretName().MatchString(name) || hasPassword(value)
}

// secret warns of the first secret that stands in a file that every user can read. A value is one if
// sure is true, if its name says so, or if it is a URL with a password.
func (d *decoder) secret(n node, sure bool) {
	if !d.readable || n.value.Kind() != '"' || n.filled() {
		return
	}
	text := n.value.(hujson.Literal).String()
	variable := d.inServer() && bareReference().MatchString(text)
	if variable || len(text) < minSecretSize || !sure && !IsSecret(n.name, text) {
		return
	}
	d.readable = false
	d.warnf(n, "a secret in a file that every user of this computer can read: chmod 600 %s, or write ${NAME} here and set that variable", d.file)
}

// secretsIn warns of secrets in an env file that every user can read.
func (d *decoder) secretsIn(n node, path string, vars map[string]string) {
	if mode(path)&othersRead == 0 {
		return
	}
	for name, value := range vars {
		if secretName().MatchString(name) && len(value) >= minSecretSize {
			d.warnf(n.key(), "secrets in a file that every user of this computer can read: chmod 600 %s", path)
			return
		}
	}
}

// checkBeside warns of secrets in the env file beside the config that the config refers to.
func (d *decoder) checkBeside() {
	used := map[string]string{}
	vars, _ := d.beside()
	for name, value := range vars {
		if _, set := d.loader.Getenv(name); d.variables[name] && !set {
			used[name] = value
		}
	}
	d.secretsIn(node{}, filepath.Join(d.dir, envfile.Name), used)
}

func hasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// readKey is readText for a secret.
func readKey(d *decoder, n node) (string, bool) {
	d.secret(n, true)
	return readText(d, n)
}

// readSecretPath is readPath for a file with a secret.
func readSecretPath(d *decoder, n node) (string, bool) {
	path, ok := readPath(d, n)
	if ok {
		d.guardSecret(n, path)
	}
	return path, ok
}

// guardSecret warns of a file with a secret that every user can read.
func (d *decoder) guardSecret(n node, path string) {
	if mode(path)&othersRead != 0 {
		d.warnf(n, "every user of this computer can read this secret: chmod 600 %s", path)
	}
}

package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Known is an intended difference between a request of ours and a recorded one.
type Known struct {
	Path string // a pattern of path.Match for paths in the request: messages/*/content/*/caller
	File string // a part of the file names of its conversations; "" means any
	Why  string
}

// Differences compares requests with recorded ones.
type Differences struct {
	known []Known
	met   map[Known]bool
}

// NewDifferences allows known differences. The test fails if one of them is never met.
func NewDifferences(t *testing.T, known ...Known) *Differences {
	d := &Differences{known: known, met: map[Known]bool{}}
	t.Cleanup(func() {
		for _, k := range known {
			if !d.met[k] && !t.Failed() && !t.Skipped() {
				t.Errorf("no request differs at %s any more (%s)", k.Path, k.Why)
			}
		}
	})
	return d
}

// Check reports where got differs from want, both JSON, except for known differences.
func (d *Differences) Check(t *testing.T, name string, got, want []byte) {
	t.Helper()
	d.compare(t, name, "", decode(t, got), decode(t, want))
}

func decode(t *testing.T, raw []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %.500s", err, raw)
	}
	return v
}

// absent is the value of a missing member.
type absent struct{}

func (d *Differences) compare(t *testing.T, name, at string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	for _, k := range d.known {
		if ok, _ := path.Match(k.Path, at); ok && strings.Contains(name, k.File) {
			d.met[k] = true
			return
		}
	}
	g, isObject := got.(map[string]any)
	w, both := want.(map[string]any)
	if isObject && both {
		d.members(t, name, at, g, w)
		return
	}
	gs, isArray := got.([]any)
	ws, both := want.([]any)
	if isArray && both && len(gs) == len(ws) {
		for i := range gs {
			d.compare(t, name, path.Join(at, strconv.Itoa(i)), gs[i], ws[i])
		}
		return
	}
	t.Errorf("%s: at %s:\n got %.600s\nwant %.600s", name, at, show(got), show(want))
}

func (d *Differences) members(t *testing.T, name, at string, got, want map[string]any) {
	t.Helper()
	all := maps.Clone(got)
	maps.Copy(all, want)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		g, ok := got[key]
		if !ok {
			g = absent{}
		}
		w, ok := want[key]
		if !ok {
			w = absent{}
		}
		d.compare(t, name, path.Join(at, key), g, w)
	}
}

func show(v any) string {
	if v == (absent{}) {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

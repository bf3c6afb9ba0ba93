package wire

import (
	"bytes"
	"math/bits"
	"slices"
)

// An Edit is a change to params: it sets the member Key to the raw Value. A nil Value removes the
// member.
type Edit struct {
	Key Key

	// Add means that Value is raw members, with commas between, which are added to those that the member
	// has, any but [Meta]. One that is absent, or not an object, becomes an object with these alone.
	Add bool

	Value []byte
}

// Edited returns the raw value that a member has once edits are made; nil if it is absent then. p may be nil.
func (p *Params) Edited(k Key, edits []Edit) []byte {
	value, adding := p.replaced(k, edits)
	if lastEdit(adding, k) != nil {
		return appendAdded(make([]byte, 0, len(value)+128), value, k, adding)
	}
	return value
}

// replaced returns the raw value that a member has before edits add to it, and the edits among which those
// are. p may be nil.
func (p *Params) replaced(k Key, edits []Edit) (value []byte, adding []Edit) {
	for i, e := range slices.Backward(edits) {
		if e.Key == k && !e.Add {
			return e.Value, edits[i+1:]
		}
	}
	if p == nil {
		return nil, edits
	}
	return p.Get(k), edits
}

// appendAdded appends a value with the members that edits add to the member of a key.
func appendAdded(dst, value []byte, k Key, edits []Edit) []byte {
	value = bytes.TrimSpace(value)
	if at(value, 0) != '{' {
		value = noMembers
	}
	dst = append(dst, value...)
	for i := range edits {
		if e := &edits[i]; e.Key == k && len(e.Value) > 0 {
			dst = append(appendComma(dst[:len(dst)-1]), e.Value...)
			dst = append(dst, '}')
		}
	}
	return dst
}

// appendComma appends the comma before another member of an object, which is not closed.
func appendComma(dst []byte) []byte {
	last := len(dst) - 1
	for dst[last] <= ' ' {
		last--
	}
	if dst[last] != '{' {
		dst = append(dst, ',')
	}
	return dst
}

// Append appends the edited params to dst: existing members are replaced or removed in place, new
// members go to the end of their object, and everything else is copied byte for byte. Absent params
// count as an empty object. An edit of [Meta] itself is made before those of its keys, which create
// a _meta where it is absent or not an object. Of several edits of a key the last one counts that does
// not add, and those after it.
//
// Only the growth of dst allocates.
func (p *Params) Append(dst []byte, edits ...Edit) []byte {
	if p.Raw == nil {
		return appendNew(dst, paramsLevel, edits)
	}
	return p.appendObject(dst, 0, len(p.Raw), paramsLevel, edits)
}

func appendNew(dst []byte, l level, edits []Edit) []byte {
	none := Params{Raw: noMembers}
	return none.appendObject(dst, 0, len(noMembers), l, edits)
}

var noMembers = []byte("{}")

// appendObject appends the object of a level, Raw[at:end], with the edits made.
func (p *Params) appendObject(dst []byte, at, end int, l level, edits []Edit) []byte {
	left := l.edited(edits)
	for k := p.firstOf(left); k < numKeys; k = p.firstOf(left) {
		left &^= 1 << k
		s := p.spans[k]
		if lastEdit(edits, k) == nil || sets(edits, k) {
			dst = append(dst, p.Raw[at:s.value]...)
			dst = p.appendValue(dst, k, edits)
			at = int(s.end)
			continue
		}
		dst = append(dst, p.Raw[at:s.start]...)
		if at = gap(p.Raw, int(s.end)); p.Raw[at] == '}' { // the last: its comma goes too
			dst = bytes.TrimRight(dst, whiteSpace)
			dst = bytes.TrimSuffix(dst, []byte(","))
		}
	}
	dst = append(dst, p.Raw[at:end-1]...)
	for ; left != 0; left &= left - 1 {
		k := Key(bits.TrailingZeros32(uint32(left)))
		if !sets(edits, k) {
			continue
		}
		dst = append(appendComma(dst), '"')
		dst = append(dst, names[k]...)
		dst = append(dst, '"', ':')
		dst = p.appendValue(dst, k, edits)
	}
	return append(dst, '}')
}

// A keySet has the bit 1<<k for each of its keys k.
type keySet uint32

const _ = 32 - numKeys // keySet has a bit for each

// edited returns the members of a level that edits change, themselves or inside.
func (l level) edited(edits []Edit) (set keySet) {
	for i := range edits {
		k := edits[i].Key
		if l == paramsLevel && k >= l.end {
			k = Meta
		}
		if l.first <= k && k < l.end {
			set |= 1 << k
		}
	}
	return set
}

// firstOf returns the key of a set whose member comes first; numKeys when none of them has one.
func (p *Params) firstOf(set keySet) Key {
	first, start := numKeys, len(p.Raw)
	for ; set != 0; set &= set - 1 {
		k := Key(bits.TrailingZeros32(uint32(set)))
		if s := int(p.spans[k].start); s > 0 && s < start {
			first, start = k, s
		}
	}
	return first
}

// appendValue appends the new value of a member that is edited, itself or inside.
func (p *Params) appendValue(dst []byte, k Key, edits []Edit) []byte {
	whole := lastEdit(edits, k)
	switch {
	case k == Meta:
	case whole.Add:
		value, adding := p.replaced(k, edits)
		return appendAdded(dst, value, k, adding)
	default:
		return append(dst, whole.Value...)
	}
	meta, from, to := p, int(p.spans[Meta].value), int(p.spans[Meta].end)
	if whole != nil {
		fresh := metaParams(whole.Value)
		meta, from, to = &fresh, 0, len(fresh.Raw)
	}
	switch {
	case from < to && meta.Raw[from] == '{':
		return meta.appendObject(dst, from, to, metaLevel, edits)
	case setsFrom(metaLevel.first, edits):
		return appendNew(dst, metaLevel, edits)
	default:
		return append(dst, meta.Raw[from:to]...)
	}
}

// metaParams returns a _meta object as params whose only keys are those inside _meta.
func metaParams(raw []byte) Params {
	p := Params{Raw: bytes.TrimSpace(raw)}
	for c := open(p.Raw, '{'); c.next(); {
		if k, exact := match(c.key, metaLevel); exact {
			p.spans[k] = c.span
		}
	}
	return p
}

// lastEdit returns the edit of a key that counts, nil when the key is not edited.
func lastEdit(edits []Edit, k Key) *Edit {
	for i := len(edits) - 1; i >= 0; i-- {
		if edits[i].Key == k {
			return &edits[i]
		}
	}
	return nil
}

// sets reports whether the edit sets a value.
func (e *Edit) sets() bool { return e.Value != nil || e.Add }

// sets reports whether the edits set a value of a key, itself or inside.
func sets(edits []Edit, k Key) bool {
	e := lastEdit(edits, k)
	return e != nil && e.sets() || k == Meta && setsFrom(metaLevel.first, edits)
}

// setsFrom reports whether the edits set a value of a key from first on.
func setsFrom(first Key, edits []Edit) bool {
	for i := range edits {
		if k := edits[i].Key; k >= first && lastEdit(edits, k).sets() {
			return true
		}
	}
	return false
}

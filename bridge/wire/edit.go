package wire

import (
	"bytes"
	"slices"
)

// An Edit is a change to params: it sets the member Key to the raw Value. A nil Value removes the
// member.
type Edit struct {
	Key   Key
	Value []byte
}

// Edited returns the value of a key with edits applied, raw JSON; nil if there is none. p may be nil.
func (p *Params) Edited(k Key, edits []Edit) []byte {
	for _, e := range slices.Backward(edits) {
		if e.Key == k {
			return e.Value
		}
	}
	if p == nil {
		return nil
	}
	return p.Get(k)
}

// Append appends the edited params to dst: existing members are replaced or removed in place, new
// members go to the end of their object, and everything else is copied byte for byte. Absent params
// count as an empty object. An edit of [Meta] itself is made before those of its keys, which create
// a _meta where it is absent or not an object. The last of several edits of a key counts.
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
	base := len(dst)
	for k := p.nextEdited(at, l, edits); k < l.end; k = p.nextEdited(at, l, edits) {
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
	for k := l.first; k < l.end; k++ {
		if p.spans[k] != (span{}) || !sets(edits, k) {
			continue
		}
		if len(bytes.TrimRight(dst[base:], whiteSpace)) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, names[k]...)
		dst = append(dst, '"', ':')
		dst = p.appendValue(dst, k, edits)
	}
	return append(dst, '}')
}

// nextEdited returns the first member of a level, from a place on, that an edit changes; l.end
// when no such member is left.
func (p *Params) nextEdited(at int, l level, edits []Edit) Key {
	next, start := l.end, len(p.Raw)
	for i := range edits {
		k := edits[i].Key
		if l == paramsLevel && k >= l.end {
			k = Meta
		}
		if k < l.first || k >= l.end {
			continue
		}
		if s := int(p.spans[k].start); s > 0 && s >= at && s < start {
			next, start = k, s
		}
	}
	return next
}

// appendValue appends the new value of a member that is edited, itself or inside.
func (p *Params) appendValue(dst []byte, k Key, edits []Edit) []byte {
	whole := lastEdit(edits, k)
	if k != Meta {
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

// sets reports whether the edits set a value of a key, itself or inside.
func sets(edits []Edit, k Key) bool {
	e := lastEdit(edits, k)
	return e != nil && e.Value != nil || k == Meta && setsFrom(metaLevel.first, edits)
}

// setsFrom reports whether the edits set a value of a key from first on.
func setsFrom(first Key, edits []Edit) bool {
	for i := range edits {
		if k := edits[i].Key; k >= first && lastEdit(edits, k).Value != nil {
			return true
		}
	}
	return false
}

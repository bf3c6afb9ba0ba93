package wire

import "bytes"

// Edit is a change to params: Value, which is raw JSON, becomes the value of Key. A nil Value cuts the member.
type Edit struct {
	Key   Key
	Value []byte
}

// Append appends the params to dst with the edits made: members that are there are replaced or cut, others are put at
// the end of their object, and everything else is copied byte for byte. Without params the result is an object of the
// edits alone. An edit of [Meta] as a whole is made before those of the keys inside it, and these make a _meta where there
// is none, or one that is no object. Of several edits of a key the last counts.
//
// Append allocates nothing besides what dst needs to grow.
func (p *Params) Append(dst []byte, edits ...Edit) []byte {
	if p.Raw == nil {
		return appendNew(dst, paramsLevel, edits)
	}
	return p.edit(dst, 0, len(p.Raw), paramsLevel, edits)
}

func appendNew(dst []byte, l level, edits []Edit) []byte {
	none := Params{Raw: noMembers}
	return none.edit(dst, 0, len(noMembers), l, edits)
}

var noMembers = []byte("{}")

// edit appends the object of that level, which is Raw from at up to end.
func (p *Params) edit(dst []byte, at, end int, l level, edits []Edit) []byte {
	base := len(dst)
	for k := p.next(at, l, edits); k < l.end; k = p.next(at, l, edits) {
		s := p.spans[k]
		if find(edits, k) == nil || gives(edits, k) {
			dst = append(dst, p.Raw[at:s.value]...)
			dst = p.appendValue(dst, k, edits)
			at = int(s.end)
			continue
		}
		dst = append(dst, p.Raw[at:s.start]...)
		if at = gap(p.Raw, int(s.end)); p.Raw[at] == '}' { // it was the last one: the comma before it goes too
			dst = bytes.TrimRight(dst, whiteSpace)
			dst = bytes.TrimSuffix(dst, comma)
		}
	}
	dst = append(dst, p.Raw[at:end-1]...)
	for k := l.first; k < l.end; k++ {
		if p.spans[k] != (span{}) || !gives(edits, k) {
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

var comma = []byte(",")

// next is the first member of the level, from a place on, that an edit touches; l.end when there is none.
func (p *Params) next(at int, l level, edits []Edit) Key {
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

// appendValue appends what becomes the value of a member that is edited, itself or inside.
func (p *Params) appendValue(dst []byte, k Key, edits []Edit) []byte {
	whole := find(edits, k)
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
		return meta.edit(dst, from, to, metaLevel, edits)
	case givesInside(edits):
		return appendNew(dst, metaLevel, edits)
	default:
		return append(dst, meta.Raw[from:to]...)
	}
}

// metaParams makes a _meta object look like params whose only routed keys are those inside _meta.
func metaParams(raw []byte) Params {
	p := Params{Raw: bytes.TrimSpace(raw)}
	for c := open(p.Raw, '{'); c.next(); {
		if k, exact := match(c.key, metaLevel); exact {
			p.spans[k] = c.span
		}
	}
	return p
}

// find returns the edit of a key that counts.
func find(edits []Edit, k Key) *Edit {
	for i := len(edits) - 1; i >= 0; i-- {
		if edits[i].Key == k {
			return &edits[i]
		}
	}
	return nil
}

// gives reports whether the edits give a key a value.
func gives(edits []Edit, k Key) bool {
	e := find(edits, k)
	return e != nil && e.Value != nil || k == Meta && givesInside(edits)
}

func givesInside(edits []Edit) bool {
	for i := range edits {
		if k := edits[i].Key; k >= metaLevel.first && find(edits, k).Value != nil {
			return true
		}
	}
	return false
}

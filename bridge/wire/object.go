package wire

// SetMember returns a copy of an object in which the member key has the raw value: it replaces the
// last member of that key, or becomes the first member. All other bytes stay. The object must have
// been validated.
func SetMember(object []byte, key string, value []byte) []byte {
	dst := make([]byte, 0, len(object)+len(key)+len(value)+8)
	var old span
	c := open(object, '{')
	for c.next() {
		if unquote(c.key) == key {
			old = c.span
		}
	}
	if old.end > 0 {
		dst = append(append(dst, object[:old.value]...), value...)
		return append(dst, object[old.end:]...)
	}
	first := gap(object, 0) + 1 // behind the brace
	dst = AppendString(append(dst, object[:first]...), key)
	dst = append(append(dst, ':'), value...)
	if at(object, gap(object, first)) != '}' {
		dst = append(dst, ',')
	}
	return append(dst, object[first:]...)
}

// FirstMember returns where the first member of an object begins, 0 for an empty one. The object
// must have been validated.
func FirstMember(object []byte) int {
	i := gap(object, gap(object, 0)+1)
	if at(object, i) != '"' {
		return 0
	}
	return i
}

// CutMember returns a copy of an object without the members of a key. The object must have been
// validated.
func CutMember(object []byte, key string) []byte {
	dst := append(make([]byte, 0, len(object)), '{')
	for c := open(object, '{'); c.next(); {
		if unquote(c.key) == key {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), c.key...), `":`...)
		dst = append(dst, c.span.of(object)...)
	}
	return append(dst, '}')
}

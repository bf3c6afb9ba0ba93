package sql

import (
	"fmt"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An output is what a statement answers, as JSON, within the limits of its tool. An
// engine calls columns, then row until that says no or there are no more; or affect.
type output struct {
	limits limits

	keys [][]byte // `"name":` of each column
	json []byte   // the rows: an array without its closing bracket
	rows int      // in json
	cut  string   // what ended the rows too early; "" if nothing did

	affected int64 // rows that have been written; -1: it is not known
	lastID   int64 // of the last that has been inserted; 0: it is not known
}

func newOutput(l limits) *output { return &output{limits: l, affected: -1} }

// columns takes the names of the columns. Those that were there already become name_2,
// name_3.
func (o *output) columns(names []string) {
	taken := make(map[string]bool, len(names)) // false: it is a name, but no key yet
	for _, name := range names {
		taken[name] = false
	}
	o.keys = make([][]byte, len(names))
	for i, name := range names {
		key := name
		for n := 2; ; n++ {
			if isKey, isName := taken[key]; !isKey && (key == name || !isName) {
				break
			}
			key = name + "_" + strconv.Itoa(n)
		}
		taken[key] = true
		o.keys[i] = append(wire.AppendString(nil, key), ':')
	}
	o.json = append(o.json, '[')
}

// row adds a row, whose values value appends. It reports whether there may be more:
// when it says no, this one has not been added.
func (o *output) row(value func(dst []byte, column int) []byte) bool {
	if o.cut != "" {
		return false
	}
	if o.rows == o.limits.rows {
		o.cut = fmt.Sprintf("truncated: these are the first %d rows, and there are more. Ask for less, or for the next ones, if the tool can.", o.rows)
		return false
	}
	begin := len(o.json)
	if o.rows > 0 {
		o.json = append(o.json, ',')
	}
	o.json = append(o.json, '{')
	for i, key := range o.keys {
		if i > 0 {
			o.json = append(o.json, ',')
		}
		o.json = value(append(o.json, key...), i)
	}
	o.json = append(o.json, '}')
	if len(o.json) > o.limits.bytes {
		o.json = o.json[:begin]
		o.cut = fmt.Sprintf("truncated: these are the first %d rows, as many as fit into %d bytes, and there are more. Ask for less, or for the next ones, if the tool can.", o.rows, o.limits.bytes)
		return false
	}
	o.rows++
	return true
}

// result is the result of the call.
func (o *output) result() *toolformat.Result {
	var text []byte
	if o.keys == nil {
		text = o.structured(nil)
	} else {
		o.json = append(o.json, ']')
		text = o.json
	}
	b := make([]byte, 0, 2*len(text)+len(text)/2+256) // there are few escapes but quotes
	b = wire.AppendString(append(b, `{"content":[{"type":"text","text":`...), text)
	if o.cut != "" {
		b = wire.AppendString(append(b, `},{"type":"text","text":`...), o.cut)
	}
	b = o.structured(append(b, `}],"structuredContent":`...))
	return &toolformat.Result{JSON: append(b, '}')}
}

// structured appends the structured content; the rows must be a whole array.
func (o *output) structured(dst []byte) []byte {
	dst = append(dst, '{')
	if o.keys != nil {
		dst = append(append(dst, `"rows":`...), o.json...)
		dst = strconv.AppendBool(append(dst, `,"truncated":`...), o.cut != "")
	}
	if o.affected >= 0 {
		if o.keys != nil {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `"affected":`...), o.affected, 10)
	}
	if o.lastID != 0 {
		dst = strconv.AppendInt(append(dst, `,"last_id":`...), o.lastID, 10)
	}
	return append(dst, '}')
}

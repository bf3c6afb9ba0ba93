package sql

import (
	"fmt"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An output collects the rows or effects of a statement as JSON, within the limits of its tool. An
// engine calls columns and then row for each row until cut is set, or sets affected and lastID.
type output struct {
	limits limits

	keys [][]byte // `"name":` of each column
	json []byte   // the rows: an array without its closing bracket
	rows int      // number of rows in json
	cut  string   // why rows are missing; "" if none are

	affected int64 // rows written; -1 if unknown
	lastID   int64 // id of the last row inserted; 0 if unknown
}

func newOutput(l limits) *output { return &output{limits: l, affected: -1} }

// columns sets the names of the columns. A repeated name becomes name_2, name_3 and so on.
func (o *output) columns(names []string) {
	taken := make(map[string]bool, len(names)) // false for a name that is not a key yet
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

// row adds a row, whose values value appends, unless that would exceed the limits: then it sets
// cut.
func (o *output) row(value func(dst []byte, column int) []byte) {
	if o.rows == o.limits.rows {
		o.cut = fmt.Sprintf("truncated: only the first %d rows are shown, and there are more. Narrow the query or ask for the next rows, if the tool can.", o.rows)
		return
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
		o.cut = fmt.Sprintf("truncated: only the first %d rows are shown, as many as fit into %d bytes, and there are more. Narrow the query or ask for the next rows, if the tool can.", o.rows, o.limits.bytes)
		return
	}
	o.rows++
}

// result returns the result of the call.
func (o *output) result() *toolformat.Result {
	var text []byte
	if o.keys == nil {
		text = o.structured(nil)
	} else {
		o.json = append(o.json, ']')
		text = o.json
	}
	b := make([]byte, 0, 2*len(text)+len(text)/2+256) // most escapes are those of quotes
	b = wire.AppendString(append(b, `{"content":[{"type":"text","text":`...), text)
	if o.cut != "" {
		b = wire.AppendString(append(b, `},{"type":"text","text":`...), o.cut)
	}
	b = o.structured(append(b, `}],"structuredContent":`...))
	return &toolformat.Result{JSON: append(b, '}')}
}

// structured appends the structured content; json must be a whole array by then.
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

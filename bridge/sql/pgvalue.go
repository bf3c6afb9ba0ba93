package sql

import (
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A pgFormat says how the text of a PostgreSQL value becomes JSON.
type pgFormat struct {
	format format // of the value, or of the items of an array
	comma  byte   // between the items of an array; 0 for any other type
}

// postgresFormat returns the format of a built-in type by its object id (pg_type.dat). Types that a
// database defines are text, except for arrays: see session.learnTypes.
func postgresFormat(types *pgtype.Map, oid uint32) pgFormat {
	if t, known := types.TypeForOID(oid); known {
		if array, ok := t.Codec.(*pgtype.ArrayCodec); ok {
			return pgFormat{postgresFormat(types, array.ElementType.OID).format, cmp.Or(array.Delimiter, ',')}
		}
	}
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		return pgFormat{format: numeric}
	case pgtype.BoolOID:
		return pgFormat{format: boolean}
	case pgtype.JSONOID, pgtype.JSONBOID:
		return pgFormat{format: object}
	case pgtype.TimestampOID, pgtype.TimestamptzOID:
		return pgFormat{format: instant}
	case pgtype.ByteaOID:
		return pgFormat{format: binary}
	case pgtype.TimetzArrayOID: // which pgx does not know
		return pgFormat{asText, ','}
	}
	return pgFormat{format: asText}
}

// append appends the text of a value; nil is NULL.
func (f pgFormat) append(dst, text []byte) []byte {
	switch {
	case text == nil:
		return append(dst, "null"...)
	case f.comma != 0:
		if all, ok := f.items(dst, string(text)); ok && wire.Valid(all[len(dst):]) == nil {
			return all
		}
		return appendText(dst, asText, string(text))
	}
	return f.one(dst, string(text))
}

func (f pgFormat) one(dst []byte, text string) []byte {
	if f.format == binary {
		return appendBytes(dst, unescapeBytes(text))
	}
	return appendText(dst, f.format, text)
}

// unescapeBytes returns the bytes that the text of a bytea stands for, in either form of bytea_output:
// https://www.postgresql.org/docs/current/datatype-binary.html.
func unescapeBytes(text string) string {
	if digits, ok := strings.CutPrefix(text, `\x`); ok {
		if raw, err := hex.DecodeString(digits); err == nil {
			return string(raw)
		}
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			c = text[i]
			if code, err := strconv.ParseUint(text[i:min(i+3, len(text))], 8, 8); err == nil {
				c = byte(code)
				i += 2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// items appends an array in PostgreSQL's notation as JSON; ok is false if text is not one. See
// https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO.
func (f pgFormat) items(dst []byte, text string) (_ []byte, ok bool) {
	if i := strings.Index(text, "={"); i > 0 && text[0] == '[' { // bounds: [0:1]={…}
		text = text[i+1:]
	}
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '{':
			dst, depth, i = append(dst, '['), depth+1, i+1
		case '}':
			dst, depth, i = append(dst, ']'), depth-1, i+1
		case f.comma:
			dst, i = append(dst, ','), i+1
		default:
			var item string
			var isNull bool
			if item, isNull, i = f.item(text, i); isNull {
				dst = append(dst, "null"...)
			} else {
				dst = f.one(dst, item)
			}
		}
		if depth <= 0 && i < len(text) {
			return nil, false
		}
	}
	return dst, depth == 0 && text != ""
}

// item returns the item of an array that begins at i, and its end.
func (f pgFormat) item(text string, i int) (item string, isNull bool, end int) {
	if text[i] != '"' {
		n := strings.IndexAny(text[i:], "}"+string(rune(f.comma)))
		if n < 0 {
			n = len(text) - i
		}
		return text[i : i+n], text[i:i+n] == "NULL", i + n
	}
	var b strings.Builder
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), false, i + 1
}

// parameters returns values as text, which the server reads as the types of the parameters. oids
// are their object ids, or nil if they are unknown.
func parameters(values []any, formatOf func(oid uint32) pgFormat, oids []uint32) [][]byte {
	texts := make([][]byte, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case bool:
			texts[i] = strconv.AppendBool(nil, v)
		case int64:
			texts[i] = strconv.AppendInt(nil, v, 10)
		case string:
			texts[i] = []byte(v)
		case jsonText:
			texts[i] = []byte(v)
			if i < len(oids) && v[0] == '[' && formatOf(oids[i]).comma != 0 {
				texts[i] = appendArray(nil, []byte(v))
			}
		}
	}
	return texts
}

// appendArray appends a JSON array in PostgreSQL's notation.
func appendArray(dst, raw []byte) []byte {
	dst = append(dst, '{')
	for item := range wire.Elements(raw) {
		dst = native.AppendComma(dst)
		switch item[0] {
		case '[':
			dst = appendArray(dst, item)
		case '"':
			text, _ := wire.Text(item)
			dst = appendQuoted(dst, text)
		case '{':
			dst = appendQuoted(dst, string(item))
		default: // a number, true, false, null
			dst = append(dst, item...)
		}
	}
	return append(dst, '}')
}

func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

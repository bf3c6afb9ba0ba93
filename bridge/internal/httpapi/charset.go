package httpapi

import (
	"bytes"
	"encoding/binary"
	"mime"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// toUTF8 returns a body as UTF-8 if it is text in one of the charsets, and any other body as it is. cut means
// that the body ends early; most bounds the result, in bytes. note is for the model: it says that
// the result has bytes that are not text, and is "" if it has none.
func toUTF8(res *http.Response, body []byte, cut bool, most int) (text []byte, isCut bool, note string) {
	mediaType, params, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	charset := strings.ToLower(strings.TrimSpace(params["charset"]))
	if coding(res) != "" || !IsText(mediaType) {
		return body, cut, ""
	}
	text = body
	if order := utf16Order(charset, body); order != nil && (!isUTF8(body, cut) || bytes.IndexByte(body, 0) >= 0) {
		text = fromUTF16(body, order)
	} else if table := tableOf(charset); table != nil && !isUTF8(body, cut) {
		text = fromTable(body, table)
	}
	if len(text) > most {
		text, cut = []byte(native.Whole(string(text[:most]))), true
	}
	switch {
	case isUTF8(text, cut):
		return text, cut, ""
	case charset == "" || charset == "utf-8" || charset == "utf8":
		return text, cut, "the answer is not UTF-8: \ufffd stands for what cannot be read"
	}
	return text, cut, "the character set of the answer, " + native.Shorten(charset) + ", is not supported: \ufffd stands for what cannot be read, and other characters may be wrong"
}

// isUTF8 reports whether a body, which may be cut within a character, is UTF-8.
func isUTF8(body []byte, cut bool) bool {
	return utf8.Valid(body) || cut && utf8.ValidString(native.Whole(string(body)))
}

// utf16Order returns the order of the bytes of UTF-16, nil for another charset. A byte order mark
// counts more than the name (WHATWG, Encoding, section 6).
func utf16Order(charset string, body []byte) binary.ByteOrder {
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return binary.LittleEndian
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return binary.BigEndian
	}
	switch charset {
	case "utf-16", "utf-16le", "unicode", "unicodefeff", "csunicode", "ucs-2", "iso-10646-ucs-2":
		return binary.LittleEndian
	case "utf-16be", "unicodefffe":
		return binary.BigEndian
	}
	return nil
}

func fromUTF16(body []byte, order binary.ByteOrder) []byte {
	text := make([]byte, 0, len(body))
	for ; len(body) >= 2; body = body[2:] {
		r := rune(order.Uint16(body))
		if utf16.IsSurrogate(r) && len(body) >= 4 {
			if both := utf16.DecodeRune(r, rune(order.Uint16(body[2:]))); both != utf8.RuneError {
				r, body = both, body[2:]
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}

func fromTable(body []byte, table *charmap.Charmap) []byte {
	text := make([]byte, 0, len(body)+len(body)/2)
	for _, c := range body {
		text = utf8.AppendRune(text, table.DecodeByte(c))
	}
	return text
}

// tableOf returns the table of a charset of one byte a character, by its name (WHATWG, Encoding, section 4.2),
// and nil for another one. Charsets of several bytes would add 600 KB to the program.
func tableOf(charset string) *charmap.Charmap {
	switch charset {
	case "866", "cp866", "csibm866", "ibm866":
		return charmap.CodePage866
	case "csisolatin2", "iso-8859-2", "iso-ir-101", "iso8859-2", "iso88592", "iso_8859-2", "iso_8859-2:1987", "l2", "latin2":
		return charmap.ISO8859_2
	case "csisolatin3", "iso-8859-3", "iso-ir-109", "iso8859-3", "iso88593", "iso_8859-3", "iso_8859-3:1988", "l3", "latin3":
		return charmap.ISO8859_3
	case "csisolatin4", "iso-8859-4", "iso-ir-110", "iso8859-4", "iso88594", "iso_8859-4", "iso_8859-4:1988", "l4", "latin4":
		return charmap.ISO8859_4
	case "csisolatincyrillic", "cyrillic", "iso-8859-5", "iso-ir-144", "iso8859-5", "iso88595", "iso_8859-5", "iso_8859-5:1988":
		return charmap.ISO8859_5
	case "arabic", "asmo-708", "csiso88596e", "csiso88596i", "csisolatinarabic", "ecma-114", "iso-8859-6", "iso-8859-6-e", "iso-8859-6-i", "iso-ir-127", "iso8859-6", "iso88596", "iso_8859-6", "iso_8859-6:1987":
		return charmap.ISO8859_6
	case "csisolatingreek", "ecma-118", "elot_928", "greek", "greek8", "iso-8859-7", "iso-ir-126", "iso8859-7", "iso88597", "iso_8859-7", "iso_8859-7:1987", "sun_eu_greek":
		return charmap.ISO8859_7
	case "csiso88598e", "csisolatinhebrew", "hebrew", "iso-8859-8", "iso-8859-8-e", "iso-ir-138", "iso8859-8", "iso88598", "iso_8859-8", "iso_8859-8:1988", "visual", "csiso88598i", "iso-8859-8-i", "logical":
		return charmap.ISO8859_8
	case "csisolatin6", "iso-8859-10", "iso-ir-157", "iso8859-10", "iso885910", "l6", "latin6":
		return charmap.ISO8859_10
	case "iso-8859-13", "iso8859-13", "iso885913":
		return charmap.ISO8859_13
	case "iso-8859-14", "iso8859-14", "iso885914":
		return charmap.ISO8859_14
	case "csisolatin9", "iso-8859-15", "iso8859-15", "iso885915", "iso_8859-15", "l9":
		return charmap.ISO8859_15
	case "iso-8859-16":
		return charmap.ISO8859_16
	case "cskoi8r", "koi", "koi8", "koi8-r", "koi8_r":
		return charmap.KOI8R
	case "koi8-ru", "koi8-u":
		return charmap.KOI8U
	case "csmacintosh", "mac", "macintosh", "x-mac-roman":
		return charmap.Macintosh
	case "dos-874", "iso-8859-11", "iso8859-11", "iso885911", "tis-620", "windows-874":
		return charmap.Windows874
	case "cp1250", "windows-1250", "x-cp1250":
		return charmap.Windows1250
	case "cp1251", "windows-1251", "x-cp1251":
		return charmap.Windows1251
	case "ansi_x3.4-1968", "ascii", "cp1252", "cp819", "csisolatin1", "ibm819", "iso-8859-1", "iso-ir-100", "iso8859-1", "iso88591", "iso_8859-1", "iso_8859-1:1987", "l1", "latin1", "us-ascii", "windows-1252", "x-cp1252":
		return charmap.Windows1252
	case "cp1253", "windows-1253", "x-cp1253":
		return charmap.Windows1253
	case "cp1254", "csisolatin5", "iso-8859-9", "iso-ir-148", "iso8859-9", "iso88599", "iso_8859-9", "iso_8859-9:1989", "l5", "latin5", "windows-1254", "x-cp1254":
		return charmap.Windows1254
	case "cp1255", "windows-1255", "x-cp1255":
		return charmap.Windows1255
	case "cp1256", "windows-1256", "x-cp1256":
		return charmap.Windows1256
	case "cp1257", "windows-1257", "x-cp1257":
		return charmap.Windows1257
	case "cp1258", "windows-1258", "x-cp1258":
		return charmap.Windows1258
	case "x-mac-cyrillic", "x-mac-ukrainian":
		return charmap.MacintoshCyrillic
	}
	return nil
}

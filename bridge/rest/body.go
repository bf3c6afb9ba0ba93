package rest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// The values of Spec.Body besides a placeholder.
const (
	bodyAuto      = ""
	bodyJSON      = "json"
	bodyForm      = "form"
	bodyMultipart = "multipart"
	bodyNone      = "none"
)

// A format is how a body is written.
type format int

const (
	formatJSON format = iota
	formatForm
	formatMultipart
	formatRaw // the characters of a string, or the bytes of a file
)

const (
	typeJSON      = "application/json"
	typeForm      = "application/x-www-form-urlencoded"
	typeMultipart = "multipart/form-data"
	typeBytes     = "application/octet-stream"
)

func (t *tool) compileBody(s *Spec) error {
	switch s.Body {
	case bodyAuto:
		if t.isSafe() {
			t.body = bodyNone
		}
		return nil
	case bodyJSON, bodyNone:
	case bodyForm:
		t.format = formatForm
	case bodyMultipart:
		t.format = formatMultipart
	default:
		whole, err := parseTemplate(s.Body)
		if err != nil || len(whole) != 1 || whole[0].name == "" {
			return fmt.Errorf(`body: expected "json", "form", "multipart", "none" or one placeholder such as "{document}", got %q`, native.Shorten(s.Body))
		}
		t.payload = whole[0].name
		t.use(whole)
		if t.format, err = formatOf(t.contentType()); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
		if s.Encoding[t.payload].Style == styleFile {
			t.format = formatRaw
		}
	}
	if s.Body != bodyNone && t.isSafe() {
		return fmt.Errorf("body: a %s has no body (RFC 9110, section 9.3.1)", t.method)
	}
	return nil
}

// contentType returns the media type that the tool's headers have: "" if that is none, or depends
// on an argument.
func (t *tool) contentType() string {
	for _, h := range t.headers {
		if strings.EqualFold(h.name, "Content-Type") && h.value.names() == nil {
			return h.value.expand(nil)
		}
	}
	return ""
}

// formatOf returns how a body of a media type is written.
func formatOf(contentType string) (format, error) {
	mediaType, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil, httpapi.IsJSON(mediaType):
		return formatJSON, nil
	case mediaType == typeForm:
		return formatForm, nil
	case mediaType == typeMultipart:
		return formatMultipart, nil
	case strings.HasPrefix(mediaType, "multipart/"):
		return formatRaw, fmt.Errorf("a body of the type %s is not supported: expected %s", mediaType, typeMultipart)
	}
	return formatRaw, nil
}

// expandBody returns the body and its media type, which is "" without a body.
func (t *tool) expandBody(args arguments) (body []byte, contentType string, err error) {
	names := args.names
	switch {
	case t.body == bodyNone:
		return nil, "", nil
	case t.payload == "":
		names = slices.DeleteFunc(names, func(name string) bool { return t.used[name] })
		if t.body == bodyAuto && len(names) == 0 {
			return nil, "", nil
		}
	default:
		v, ok := args.values[t.payload]
		switch {
		case !ok, isNull(v) && t.format != formatJSON:
			return nil, "", nil
		case t.format == formatJSON:
			return bytes.Clone(v), typeJSON, nil // the transport may read it after the call
		case t.format == formatRaw:
			return t.expandRaw(v)
		case !isObject(v):
			return nil, "", fmt.Errorf("argument %s: expected an object, whose members are the fields of a form", t.payload)
		}
		args = readArguments(v)
		names = args.names
	}
	switch t.format {
	case formatForm:
		body, err = t.form(names, args)
		return body, typeForm, err
	case formatMultipart:
		return t.multipart(names, args)
	}
	body = []byte{'{'}
	for _, name := range names { // each value as it came
		body = append(native.AppendKey(body, name), args.values[name]...)
	}
	return append(body, '}'), typeJSON, nil
}

// expandRaw returns the body that is neither JSON nor a form.
func (t *tool) expandRaw(v []byte) (body []byte, contentType string, err error) {
	if t.encoding[t.payload].style != styleFile {
		return []byte(native.Text(v)), "text/plain; charset=utf-8", nil
	}
	rest := maxFiles
	f, err := t.readFile(v, &rest)
	if err != nil {
		return nil, "", fmt.Errorf("argument %s: %w", t.payload, err)
	}
	return f.data, cmp.Or(f.mediaType, typeBytes), nil
}

// fields calls add with each of the named arguments that has a value, and with the pairs that it
// becomes unless it is a file.
func (t *tool) fields(names []string, args arguments, escape func(string) string, add func(name string, e encoding, all []pair) error) error {
	var taken map[string]bool
	isTaken := func(name string) bool {
		if taken == nil {
			taken = map[string]bool{}
			for _, name := range names {
				taken[fold(name)] = true
			}
		}
		return taken[name]
	}
	for _, name := range names {
		if args.missing(name) != "" {
			continue
		}
		e, own, p := t.encoding[name], escape(name), pairs{escape: escape}
		if e.style != styleFile {
			p.add(e, own, args.values[name])
		}
		if err := p.check(name, own, isTaken); err != nil {
			return err
		}
		if err := add(name, e, p.all); err != nil {
			return err
		}
	}
	return nil
}

// form returns the named arguments as application/x-www-form-urlencoded.
func (t *tool) form(names []string, args arguments) ([]byte, error) {
	var body []byte
	err := t.fields(names, args, escape, func(_ string, _ encoding, all []pair) error {
		for _, it := range all {
			if len(body) > 0 {
				body = append(body, '&')
			}
			body = append(append(append(body, it.name...), '='), it.value...)
		}
		return nil
	})
	return body, err
}

// multipart returns the named arguments as multipart/form-data (RFC 7578).
func (t *tool) multipart(names []string, args arguments) (body []byte, contentType string, err error) {
	var b bytes.Buffer
	w, rest := multipart.NewWriter(&b), maxFiles
	err = t.fields(names, args, verbatim, func(name string, e encoding, all []pair) error {
		for _, it := range all {
			contentType := e.contentType
			if contentType == "" && it.isJSON {
				contentType = typeJSON
			}
			if err := writePart(w, it.name, "", contentType, []byte(it.value)); err != nil {
				return err
			}
		}
		if e.style != styleFile {
			return nil
		}
		return t.writeFiles(w, name, args.values[name], &rest)
	})
	err = errors.Join(err, w.Close())
	return b.Bytes(), w.FormDataContentType(), err
}

// writeFiles writes the files of an argument: one, or a list of them.
func (t *tool) writeFiles(w *multipart.Writer, name string, v []byte, rest *int) error {
	for _, item := range items(v) {
		f, err := t.readFile(item, rest)
		if err != nil {
			return fmt.Errorf("argument %s: %w", name, err)
		}
		mediaType := cmp.Or(f.mediaType, t.encoding[name].contentType, typeBytes)
		if err := writePart(w, name, cmp.Or(f.name, name), mediaType, f.data); err != nil {
			return err
		}
	}
	return nil
}

// writePart writes a part of a multipart body; fileName is "" for a plain field.
func writePart(w *multipart.Writer, name, fileName, contentType string, data []byte) error {
	disposition := multipart.FileContentDisposition(name, fileName)
	if fileName == "" {
		disposition = strings.TrimSuffix(disposition, `; filename=""`)
	}
	header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	part, err := w.CreatePart(header)
	if err == nil {
		_, err = part.Write(data)
	}
	return err
}

package rest

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxFiles bounds the files of a call, in bytes.
const maxFiles = 64 << 20

// A file is what an argument of the style file stands for.
type file struct {
	name      string // "" if the argument has none
	mediaType string // the same
	data      []byte
}

// items returns the items of a list, or the value itself.
func items(v []byte) [][]byte {
	if isArray(v) {
		return slices.Collect(wire.Elements(v))
	}
	return [][]byte{v}
}

// readFile returns the file that a value stands for, as Encoding.Style has it, and takes its size
// from rest. Errors are for the model.
func (b *backend) readFile(v []byte, rest *int) (f file, err error) {
	text, isText := wire.Text(v)
	switch {
	case isObject(v):
		f, err = b.readResource(v, *rest)
	case !isText:
		return f, errors.New("expected a file: text, data:TYPE;base64,DATA, file:PATH, or an object of uri, mimeType, and text or blob")
	case strings.HasPrefix(text, "file:") && !strings.ContainsAny(text, "\r\n"):
		f, err = b.openFile(text, *rest)
	default:
		if f, isText, err = parseData(text); isText {
			f = file{data: []byte(text)}
		}
	}
	if err == nil && len(f.data) > *rest {
		err = fmt.Errorf("the files of a call have more than %d bytes", maxFiles)
	}
	if strings.ContainsFunc(f.mediaType, isControl) || f.mediaType != "" && !strings.Contains(f.mediaType, "/") {
		err = cmp.Or(err, fmt.Errorf("%q is not a media type", native.Shorten(f.mediaType)))
	}
	*rest -= len(f.data)
	return f, err
}

// parseData parses data:TYPE;base64,DATA (RFC 2397). isText means that the text is not that.
func parseData(text string) (f file, isText bool, err error) {
	rest, ok := strings.CutPrefix(text, "data:")
	const mark = ";base64,"
	head, _, isData := strings.Cut(rest[:min(len(rest), 256)], mark)
	if !ok || !isData || strings.ContainsAny(head, " \r\n,") {
		return f, true, nil
	}
	f.mediaType = head
	f.data, err = decodeBase64(rest[len(head)+len(mark):])
	return f, false, err
}

func decodeBase64(text string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("its base64 is not valid (RFC 4648, section 4)")
	}
	return data, nil
}

// readResource returns the file that the contents of an MCP resource are, or those that a result
// embeds (MCP 2025-06-18, schema.ts, TextResourceContents, BlobResourceContents and
// EmbeddedResource). It reads no URI but that of a file: the servers that have the others cannot be
// reached from a native tool.
func (b *backend) readResource(v []byte, limit int) (f file, err error) {
	if embedded := wire.Lookup(v, "resource"); isObject(embedded) {
		v = embedded
	}
	uri, _ := wire.Text(wire.Lookup(v, "uri"))
	mediaType, _ := wire.Text(wire.Lookup(v, "mimeType"))
	text, isText := wire.Text(wire.Lookup(v, "text"))
	blob, isBlob := wire.Text(wire.Lookup(v, "blob"))
	switch {
	case isText && isBlob:
		return f, errors.New("expected text or blob, not both")
	case isText:
		f.data = []byte(text)
	case isBlob:
		f.data, err = decodeBase64(blob)
	case strings.HasPrefix(uri, "file:"):
		f, err = b.openFile(uri, limit)
	default:
		return f, errors.New("expected text or blob (base64) in the object: read the resource first, its URI alone is not enough")
	}
	if f.name == "" && uri != "" {
		f.name = path.Base(uri)
	}
	f.mediaType = cmp.Or(mediaType, f.mediaType)
	return f, err
}

// openFile reads a file below the folder that the API's config allows. No error shows the folder.
func (b *backend) openFile(uri string, limit int) (f file, err error) {
	if b.files == "" {
		return f, errors.New(`files of this machine cannot be sent: the API's config allows none (its key "files" names a folder); send the text, or data:TYPE;base64,DATA`)
	}
	u, err := url.Parse(uri)
	if err != nil || u.Host != "" && u.Host != "localhost" {
		return f, fmt.Errorf("%q is not the URL of a file: expected file:PATH", native.Shorten(uri))
	}
	name := u.Path
	if u.Opaque != "" {
		if name, err = url.PathUnescape(u.Opaque); err != nil {
			return f, fmt.Errorf("%q is not the URL of a file: expected file:PATH", native.Shorten(uri))
		}
	}
	local := filepath.FromSlash(name)
	if rest := strings.TrimPrefix(local, `\`); filepath.VolumeName(rest) != "" { // file:///C:/a.txt
		local = rest
	}
	if filepath.IsAbs(local) {
		if local, err = filepath.Rel(b.files, local); err != nil {
			local = ".."
		}
	}
	root, err := os.OpenRoot(b.files)
	if err != nil {
		return f, errors.New("the folder of the API's files cannot be opened: the operator of the bridge has to look into it")
	}
	defer root.Close()
	f.name, f.mediaType = path.Base(filepath.ToSlash(local)), mime.TypeByExtension(path.Ext(name))
	f.data, err = readRegular(root, local, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, fmt.Errorf("%q does not exist in the folder that the API's config allows", native.Shorten(name))
	case err != nil:
		return f, fmt.Errorf("%q is not a file that can be read in the folder that the API's config allows", native.Shorten(name))
	}
	return f, nil
}

// readRegular reads a regular file, up to one byte more than limit. A root refuses paths and
// symbolic links that lead out of it.
func readRegular(root *os.Root, name string, limit int) ([]byte, error) {
	r, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe would wait
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return io.ReadAll(io.LimitReader(r, int64(limit)+1))
}

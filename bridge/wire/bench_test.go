package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

const call = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"text":%s},"_meta":{"progressToken":3}}}`

func payloads() map[string][]byte {
	fill := func(s string) string { return strings.Repeat(s, 64<<10/len(s)) }
	list := func(s string) string { return "[" + strings.TrimSuffix(fill(s), ",") + "]" }
	texts := map[string]string{
		"32B":     `"` + strings.Repeat("x", 32) + `"`,
		"plain":   `"` + fill("The quick brown fox jumps over the lazy dog. ") + `"`,
		"nested":  string(AppendString(nil, fill(`{"id":12,"name":"Ada","tags":["a","b"],"text":"some words in a row"},`))),
		"numbers": list("12345.678,-9,0,1e5,42,"),
		"objects": list(`{"id":12,"name":"Ada","tags":["a","b"],"ok":true,"text":"some words"},`),
		"chinese": `"` + fill("漢字かな交じり文") + `"`,
		"french":  `"` + fill("Dès Noël, où un zéphyr haï me vêt de glaçons würmiens, je dîne. ") + `"`,
	}
	if code, err := os.ReadFile("scan.go"); err == nil {
		texts["code"] = string(AppendString(nil, fill(string(code))))
	}
	all := map[string][]byte{}
	for name, text := range texts {
		all[name] = fmt.Appendf(nil, call, text)
	}
	return all
}

func BenchmarkSplit(b *testing.B) {
	for name, raw := range payloads() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Split(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	edits := []Edit{{Key: Name, Value: []byte(`"other"`)}, {Key: MetaProgressToken, Value: []byte("12345")}, {Key: MetaClientInfo, Value: nil}, {Key: InputResponses, Value: nil}}
	all := payloads()
	for _, name := range []string{"32B", "plain"} {
		m, err := Split(all[name])
		if err != nil {
			b.Fatal(err)
		}
		dst := make([]byte, 0, 96<<10)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(m.Raw)))
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendRequest(dst[:0], 42, m.Method, &m.Params, edits...)
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	dst := make([]byte, 0, 96<<10)
	for name, raw := range payloads() {
		params, err := Split(raw)
		if err != nil {
			b.Fatal(err)
		}
		arguments := params.Params.Get(Arguments)
		text, ok := Text(Lookup(arguments, "text"))
		if !ok {
			text = string(arguments) // JSON as text, as most results have it
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendString(dst[:0], text)
			}
		})
	}
}

func BenchmarkAppendQuoted(b *testing.B) {
	dst := make([]byte, 0, 128<<10)
	params, err := Split(payloads()["objects"])
	if err != nil {
		b.Fatal(err)
	}
	raw := params.Params.Get(Arguments)
	for name, f := range map[string]func() bool{
		"one reading": func() (ok bool) {
			dst, _, _, ok = AppendQuoted(dst[:0], raw)
			return ok
		},
		"two readings": func() bool {
			dst = AppendString(dst[:0], raw)
			return Valid(raw) == nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if !f() {
					b.Fatal("it is JSON")
				}
			}
		})
	}
}

// repeat is an endless stream of one line.
type repeat struct {
	line []byte
	at   int
}

func (r *repeat) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c := copy(p[n:], r.line[r.at:])
		n += c
		r.at = (r.at + c) % len(r.line)
	}
	return n, nil
}

func BenchmarkLineReader(b *testing.B) {
	for name, raw := range payloads() {
		if name != "32B" && name != "plain" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			r := NewLineReader(&repeat{line: append(bytes.Clone(raw), '\n')}, 1<<20)
			for b.Loop() {
				buf, err := r.Read()
				if err != nil {
					b.Fatal(err)
				}
				buf.Free()
			}
		})
	}
}

func BenchmarkEventReader(b *testing.B) {
	for name, raw := range payloads() {
		if name != "32B" && name != "plain" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			r := NewEventReader(&repeat{line: AppendEvent(nil, "message", "", raw)}, 1<<20)
			for b.Loop() {
				ev, err := r.Next()
				if err != nil {
					b.Fatal(err)
				}
				ev.Data.Free()
			}
		})
	}
}

func BenchmarkLineWriter(b *testing.B) {
	for name, raw := range payloads() {
		if name != "32B" && name != "plain" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			ctx := context.Background()
			w := NewLineWriter(io.Discard, 1<<20)
			for b.Loop() {
				buf := NewBuffer(len(raw))
				buf.B = append(buf.B, raw...)
				if err := w.Write(b.Context, buf, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(ctx); err != nil {
				b.Fatal(err)
			}
		})
	}
}

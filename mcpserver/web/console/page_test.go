package console_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/mcpserver/web/console"
)

// What is not ours is what its publisher has published.
func TestVendored(t *testing.T) {
	text, err := os.ReadFile("files/preact.js")
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); err != nil || got != "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7" {
		t.Errorf("the SHA-256 of preact.js is %s, %v", got, err)
	}
}

// Nothing that a server sends becomes markup: no script of the console sets any, and html.js makes text of what Preact would take for
// elements.
func TestNoMarkup(t *testing.T) {
	scripts, err := filepath.Glob("files/*.js")
	if err != nil || len(scripts) < 10 {
		t.Fatal(scripts, err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if path != "files/html.js" && strings.Contains(string(text), `"./preact.js"`) {
			t.Errorf("%s imports preact.js instead of html.js", path)
		}
		for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySetInnerHTML", "document.write", "srcdoc", "eval(", "new Function"} {
			if path != "files/preact.js" && strings.Contains(string(text), word) {
				t.Errorf("%s: %s", path, word)
			}
		}
	}
}

// A color that no rule defines would be none at all, without a word.
func TestColors(t *testing.T) {
	style, err := os.ReadFile("files/style.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range regexp.MustCompile(`var\((--[a-z-]+)\)`).FindAllSubmatch(style, -1) {
		if !bytes.Contains(style, append(use[1], ": "...)) {
			t.Errorf("style.css uses %s, which it does not define", use[1])
		}
	}
}

func TestPage(t *testing.T) {
	get := func(h http.Handler, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w
	}
	files := console.Files()["/console/"]
	for path, kind := range map[string]string{"/": "text/html", "/console/app.js": "text/javascript", "/console/style.css": "text/css", "/console/preact.js": "text/javascript"} {
		h := files
		if path == "/" {
			h = console.Page(sandbox("https://apps.example"))
		}
		w := get(h, path)
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) {
			t.Errorf("%s: HTTP %d, %s", path, w.Code, w.Header().Get("Content-Type"))
		}
		for name, want := range map[string]string{"Content-Security-Policy": "script-src 'self'; style-src 'self'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if got := w.Header().Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s: %s", path, name, got)
			}
		}
		if got := w.Header().Get("Content-Security-Policy"); path == "/" && !strings.HasSuffix(got, "; frame-src 'self' https://apps.example") {
			t.Errorf("%s: %s", path, got)
		}
		if text := w.Body.String(); strings.Contains(text, " style=\"") && kind == "text/html" {
			t.Errorf("%s has inline styles", path)
		}
	}
	if w := get(files, "/console/"); strings.Contains(w.Body.String(), "LICENSE") {
		t.Error("the folder is listed")
	}
}

// The page of an approval shows nothing by itself, and takes no answer.
func TestApprovalPage(t *testing.T) {
	page := console.Foreign(sandbox(""))[console.ApprovePath]
	for path, want := range map[string]int{"GET /approve/ABC": 200, "HEAD /approve/ABC": 200, "POST /approve/ABC": 404, "GET /approve/": 404, "GET /approve/a/b": 404} {
		method, url, _ := strings.Cut(path, " ")
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(method, url, nil))
		if w.Code != want || w.Header().Get("X-Frame-Options") != "DENY" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s: HTTP %d, %v", path, w.Code, w.Header())
		}
	}
}

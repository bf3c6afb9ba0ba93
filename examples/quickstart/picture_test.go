//go:build unix

package quickstart_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"
)

var update = flag.Bool("update", false, "write the picture of a chat, docs/chat.svg, and its text in docs/chat.md")

const columns = 80 // of the terminal

// TestPicture holds a chat in two places of the documentation to what the program shows.
func TestPicture(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles four programs")
	}
	rows := chat(t)
	page, err := os.ReadFile("../../docs/chat.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), "```text\n")
	_, after, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("docs/chat.md has no block of text")
	}
	second := slices.IndexFunc(rows, func(r row) bool { return strings.HasPrefix(r.String(), "> Note") })
	for _, file := range []struct{ name, text string }{
		{"../../docs/chat.svg", picture(rows)},
		{"../../docs/chat.md", before + "```text\n" + written(rows[:second-1]) + "```\n" + after},
	} {
		if *update {
			if err := os.WriteFile(file.name, []byte(file.text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(file.name); err != nil || string(have) != file.text {
			t.Errorf("%s is not what the chat shows (%v): go test ./examples/quickstart -run TestPicture -update\n%s", file.name, err, written(rows))
		}
	}
}

// chat holds the recorded conversation in a terminal, and returns what the screen shows.
func chat(t *testing.T) []row {
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "chat", "--config", "mcpbridge.json", "--context", "customerid=1", "--no-history")
	cmd.Env = append(os.Environ(), "SHOP_PORT="+freePort(t), "SHOP_DB="+filepath.Join(t.TempDir(), "shop.db"), "TERM=xterm", "NO_COLOR=")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	defer cmd.Wait()
	defer cancel()
	var output strings.Builder
	seen := 0
	sees := func(texts ...string) {
		buffer := make([]byte, 4096)
		for _, text := range texts {
			for !strings.Contains(output.String()[seen:], text) {
				n, err := terminal.Read(buffer)
				output.Write(buffer[:n])
				if err != nil {
					t.Fatalf("there is no %q (%v) in\n%s", text, err, output.String())
				}
			}
		}
		last := texts[len(texts)-1]
		seen += strings.Index(output.String()[seen:], last) + len(last)
	}
	types := func(text string) {
		if _, err := io.WriteString(terminal, text); err != nil {
			t.Fatal(err)
		}
	}
	sees("4 tools", "2 tools", "1 tool\x1b", "> ")
	types("What did I order last, and is there blue ink?\r")
	sees("2 turns", "> ")
	types("Note that down. How long would it take to Iceland?\r")
	sees("[d]efer: ")
	types("y")
	sees("2 turns", "> ")
	return settled(output.String())
}

// settled returns the rows of a screen, less what differs from one run to the next: how long a call
// took, and which of two that ran at once was the first.
func settled(output string) []row {
	rows := screen(regexp.MustCompile(` (<1|[0-9.]+)m?s\b`).ReplaceAllString(output, " 2ms"))
	for i := 0; i < len(rows); i++ {
		n := i
		for n < len(rows) && strings.HasPrefix(rows[n].String(), "✓ ") {
			n++
		}
		slices.SortFunc(rows[i:n], func(a, b row) int { return cmp.Compare(a.String(), b.String()) })
		i = n
	}
	return rows
}

func written(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(r.String(), " ") + "\n")
	}
	return b.String()
}

// A row of the screen is its cells: a character and its style.
type row []cell

type cell struct {
	text  rune
	style string // parameters of the escape sequences that set it
}

func (r row) String() string {
	var b strings.Builder
	for _, c := range r {
		b.WriteRune(c.text)
	}
	return b.String()
}

// sequence is an escape sequence, with its parameters and its letter.
var sequence = regexp.MustCompile(`^\x1b\[([?0-9;]*)([A-Za-z])`)

// screen returns what a terminal of any height shows of a program's output, as far as chat needs it:
// characters that are one column wide, colors, moves of the cursor, and erasing.
func screen(output string) []row {
	rows, x, y, style := []row{nil}, 0, 0, ""
	for output != "" {
		if m := sequence.FindStringSubmatch(output); m != nil {
			output = output[len(m[0]):]
			n := 1
			fmt.Sscan(m[1], &n)
			switch m[2] {
			case "A":
				y = max(0, y-n)
			case "B":
				y = min(len(rows)-1, y+n)
			case "C":
				x = min(columns-1, x+n)
			case "D":
				x = max(0, x-n)
			case "G":
				x = n - 1
			case "J":
				rows = rows[:y+1]
				rows[y] = rows[y][:min(x, len(rows[y]))]
			case "K":
				rows[y] = rows[y][:min(x, len(rows[y]))]
			case "m":
				if style += " " + strings.ReplaceAll(m[1], ";", " "); m[1] == "0" || m[1] == "" {
					style = ""
				}
			}
			continue
		}
		c := []rune(output[:min(len(output), 4)])[0]
		output = output[len(string(c)):]
		switch {
		case c == '\r':
			x = 0
		case c == '\b':
			x = max(0, x-1)
		case c == '\n':
			if y++; y == len(rows) {
				rows = append(rows, nil)
			}
		case c >= ' ':
			if x == columns {
				x = 0
				if y++; y == len(rows) {
					rows = append(rows, nil)
				}
			}
			for len(rows[y]) <= x {
				rows[y] = append(rows[y], cell{' ', ""})
			}
			rows[y][x] = cell{c, style}
			x++
		}
	}
	return rows
}

// classes are the classes of the picture for the styles of chat.
var classes = map[string]string{"1": "b", "2": "d", "31": "r", "32": "g", "35": "m"}

const (
	charWidth = 8.4
	rowHeight = 18
)

// picture draws the rows as a window, light or dark as whoever sees it prefers.
func picture(rows []row) string {
	var lines strings.Builder
	width, height := 704, 56+rowHeight*len(rows)
	for y, r := range rows {
		for begin := 0; begin < len(r); {
			end := begin
			for end < len(r) && r[end].style == r[begin].style {
				end++
			}
			run := r[begin:end].String()
			if text := strings.TrimSpace(run); text != "" {
				x := begin + len([]rune(run)) - len([]rune(strings.TrimLeft(run, " ")))
				fmt.Fprintf(&lines, `<text x="%.1f" y="%d"%s textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
					16+charWidth*float64(x), 60+rowHeight*y, class(r[begin].style), charWidth*float64(len([]rune(text))), escaper.Replace(text))
			}
			begin = end
		}
	}
	return fmt.Sprintf(window, width, height, width-1, height-1, width-17) + lines.String() + "</svg>\n"
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func class(style string) string {
	var names []string
	for _, code := range strings.Fields(style) {
		if name := classes[code]; name != "" {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

const window = `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="mcpbridge chat in a terminal">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#24292f;white-space:pre}
.w{fill:#fff;stroke:#d0d7de}.t{fill:#f6f8fa}.b{font-weight:bold}.d{opacity:.62}.r{fill:#cf222e}.g{fill:#1a7f37}.m{fill:#8250df}
@media (prefers-color-scheme:dark){text{fill:#d4d4d8}.w{fill:#1e1e2e;stroke:#3b3b4f}.t{fill:#313145}.r{fill:#f07178}.g{fill:#98c379}.m{fill:#c792ea}}
</style>
<rect class="w" x=".5" y=".5" width="%[3]d" height="%[4]d" rx="8"/>
<path class="t" d="M1 8.5a7.5 7.5 0 0 1 7.5-7.5h%[5]da7.5 7.5 0 0 1 7.5 7.5V30H1z"/>
<circle cx="18" cy="15.5" r="5.5" fill="#ff5f57"/><circle cx="36" cy="15.5" r="5.5" fill="#febc2e"/><circle cx="54" cy="15.5" r="5.5" fill="#28c840"/>
`

package markdown

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// A renderer renders one text.
type renderer struct {
	source []byte
	colors bool
}

// maxNesting bounds the depth of lists and quotations that are rendered.
const maxNesting = 50

// parse returns the document of a text.
func parse(source []byte) ast.Node {
	p := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0), util.Prioritized(extension.NewStrikethroughParser(), 500))...),
		// The default transformer takes away where links such as [a][1] lead ([1]: URL), which comes behind text that is final.
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)))
	document := p.Parse(text.NewReader(source))
	var headings []*ast.Heading
	_ = ast.Walk(document, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && enters && isBeforeTable(h) {
			headings = append(headings, h)
		}
		return ast.WalkContinue, nil
	})
	for _, h := range headings {
		splitAtTable(h)
	}
	return document
}

// isBeforeTable reports whether a heading is the text before the table that it comes after. The parser takes a line of
// dashes behind a table for the underline of that text, if there is no empty line in between.
func isBeforeTable(h *ast.Heading) bool {
	table, ok := h.PreviousSibling().(*east.Table)
	return ok && table.FirstChild() != nil && h.Pos() < table.FirstChild().Pos()
}

// splitAtTable makes of such a heading a paragraph before the table, and a rule behind it.
func splitAtTable(h *ast.Heading) {
	parent, table := h.Parent(), h.PreviousSibling()
	before := ast.NewParagraph()
	before.SetLines(h.Lines())
	before.SetBlankPreviousLines(h.HasBlankPreviousLines())
	for h.FirstChild() != nil {
		before.AppendChild(before, h.FirstChild())
	}
	parent.InsertBefore(parent, table, before)
	if h.Level == 2 {
		parent.InsertBefore(parent, h, ast.NewThematicBreak())
	}
	parent.RemoveChild(parent, h)
}

// Render returns a text in lines of at most so many columns, but for code, which is not broken.
func Render(source string, columns int, colors bool) []string {
	s := Stream{Colors: colors, source: []byte(source)}
	return s.End(columns)
}

// children returns the blocks below a node, with an empty line between two unless the node is tight.
func (r *renderer) children(n ast.Node, width, depth int, tight bool) (lines []string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		block := r.block(c, width, depth)
		if len(lines) > 0 && len(block) > 0 && !tight {
			lines = append(lines, "")
		}
		lines = append(lines, block...)
	}
	return lines
}

// block returns the lines of a block.
func (r *renderer) block(n ast.Node, width, depth int) []string {
	if depth > maxNesting {
		return []string{"…"}
	}
	switch x := n.(type) {
	case *ast.Heading:
		mark := ""
		if !r.colors {
			mark = strings.Repeat("#", x.Level) + " "
		}
		return r.text(x, mark, bold, width)
	case *ast.Paragraph, *ast.TextBlock:
		return r.text(x, "", 0, width)
	case *ast.FencedCodeBlock:
		fence := "```"
		if x.Info != nil {
			fence += terminal.Inline(string(x.Info.Value(r.source)))
		}
		return append(append([]string{r.paint(fence, dim)}, r.codeLines(x)...), r.paint("```", dim))
	case *ast.CodeBlock:
		return r.prefixed(r.codeLines(x), "    ", "    ")
	case *ast.HTMLBlock:
		lines := r.codeLines(x)
		if x.HasClosure() {
			lines = append(lines, terminal.Inline(string(x.ClosureLine.Value(r.source))))
		}
		return lines
	case *ast.Blockquote:
		bar := r.paint("│ ", dim)
		return r.prefixed(r.children(x, width-2, depth+1, false), bar, bar)
	case *ast.List:
		var lines []string
		index := 0
		for item := x.FirstChild(); item != nil; item = item.NextSibling() {
			if len(lines) > 0 && !x.IsTight {
				lines = append(lines, "")
			}
			lines = append(lines, r.item(x, item, index, width, depth)...)
			index++
		}
		return lines
	case *ast.ThematicBreak:
		return []string{r.paint(strings.Repeat("─", max(3, min(width, 40))), dim)}
	case *east.Table:
		return r.table(x, width)
	}
	return r.children(n, width, depth+1, false)
}

// text returns the inline text of a block.
func (r *renderer) text(n ast.Node, mark string, s style, width int) []string {
	w := words{r: r}
	w.add(mark, s)
	w.inline(n, s)
	return r.wrap(w.list, width)
}

// codeLines returns the lines of a block as they are, as code.
func (r *renderer) codeLines(n ast.Node) []string {
	var lines []string
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		text := strings.TrimRight(terminal.Clean(string(line.Value(r.source))), "\n")
		lines = append(lines, r.paint(strings.ReplaceAll(text, "\n", " "), code))
	}
	return lines
}

// item returns an item of a list.
func (r *renderer) item(list *ast.List, item ast.Node, index, width, depth int) []string {
	mark := "• "
	if list.IsOrdered() {
		mark = fmt.Sprintf("%d. ", list.Start+index)
	}
	indent := len([]rune(mark))
	return r.prefixed(r.children(item, width-indent, depth+1, list.IsTight), mark, strings.Repeat(" ", indent))
}

// prefixed returns lines with a prefix before the first and before the others.
func (r *renderer) prefixed(lines []string, first, others string) []string {
	if len(lines) == 0 {
		return []string{strings.TrimRight(first, " ")}
	}
	out := make([]string, 0, len(lines))
	for i, line := range lines {
		prefix := others
		if i == 0 {
			prefix = first
		}
		if line == "" {
			prefix = strings.TrimRight(prefix, " ")
		}
		out = append(out, prefix+line)
	}
	return out
}

package toolformat

import (
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// truncated ends a text that was cut, and replaces content that was left out (AbstractLLM,
// docs/architecture/tools.md, "Security Considerations").
const truncated = "... [output truncated]"

// Truncate returns the result with at most maxRunes characters of text, counted over its text blocks
// and text resources in order. A text that is cut ends with the mark "... [output truncated]", which
// does not count, and all text after it is left out. Structured content that alone is longer is left
// out; if there is no text, its JSON becomes the text. Images and other binary content stay.
//
// A result that needs no cut is returned as it is, with its bytes.
func (r *Result) Truncate(maxRunes int) *Result {
	if len(r.JSON) <= maxRunes || utf8.RuneCount(r.JSON) <= maxRunes {
		return r
	}
	root, err := tree.Parse(r.JSON)
	if err != nil || !root.Is(tree.Object) { // no part of it can be kept
		return TextResult(cutText(string(r.JSON), maxRunes), r.IsError())
	}
	t := truncation{left: maxRunes}
	content := t.content(root.Get("content"))
	if s := root.Get("structuredContent"); s != nil && utf8.RuneCount(s.JSON()) > maxRunes {
		root.Remove("structuredContent")
		switch {
		case !t.hasText:
			content.Items = append(content.Items, textBlock(cutText(string(s.JSON()), maxRunes)))
		case !t.cut:
			content.Items = append(content.Items, textBlock(truncated))
		}
		t.cut = true
	}
	if !t.cut {
		return r
	}
	root.Set("content", content)
	return &Result{JSON: root.JSON()}
}

// A truncation is the state of one Truncate.
type truncation struct {
	left    int // characters
	hasText bool
	cut     bool
}

// content returns the blocks that are kept.
func (t *truncation) content(blocks *tree.Node) *tree.Node {
	kept := tree.NewArray()
	for _, block := range blocks.List() {
		var holder *tree.Node // of the text
		switch ContentType(block.Get("type").Text()) {
		case TextContent:
			holder = block
		case ResourceContent:
			holder = block.Get("resource")
		}
		text := holder.Get("text")
		if !text.Is(tree.Text) {
			kept.Items = append(kept.Items, block)
			continue
		}
		t.hasText = true
		if t.cut {
			continue
		}
		if n := utf8.RuneCountInString(text.Text()); n > t.left {
			holder.Set("text", tree.NewText(cutText(text.Text(), t.left)))
			t.cut = true
		} else {
			t.left -= n
		}
		kept.Items = append(kept.Items, block)
	}
	return kept
}

// cutText returns the first characters of a text, and the mark if that is not all.
func cutText(s string, runes int) string {
	for i := range s {
		if runes--; runes < 0 {
			return s[:i] + truncated
		}
	}
	return s
}

func textBlock(text string) *tree.Node {
	return tree.NewObject(tree.NewMember("type", tree.NewText(string(TextContent))), tree.NewMember("text", tree.NewText(text)))
}

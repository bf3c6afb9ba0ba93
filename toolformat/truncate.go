package toolformat

import "unicode/utf8"

// truncated stands at the end of a text that has been cut, and in the place of what has
// been left out (AbstractLLM, docs/architecture/tools.md, "Security Considerations").
const truncated = "... [output truncated]"

// Truncate is the result with at most maxRunes characters of text: of its text blocks and
// text resources together, in their order. Where the text is cut it ends with the mark
// "... [output truncated]", which does not count, and what text follows is left out.
// Structured content that is longer by itself is left out as a whole; where there is no
// text, its JSON becomes the text. Images and other binary content stay, as does all else.
//
// A result that needs no cut is returned as it is, with its bytes.
func (r *Result) Truncate(maxRunes int) *Result {
	if len(r.JSON) <= maxRunes || utf8.RuneCount(r.JSON) <= maxRunes {
		return r
	}
	root, err := parseNode(r.JSON)
	if err != nil || !root.is(objectNode) { // not in a form in which a part could be kept
		return TextResult(cutText(string(r.JSON), maxRunes), r.IsError())
	}
	t := truncation{left: maxRunes}
	content := t.content(root.get("content"))
	if s := root.get("structuredContent"); s != nil && utf8.RuneCount(s.json()) > maxRunes {
		root.cut("structuredContent")
		switch {
		case !t.hasText:
			content.items = append(content.items, textBlock(cutText(string(s.json()), maxRunes)))
		case !t.cut:
			content.items = append(content.items, textBlock(truncated))
		}
		t.cut = true
	}
	if !t.cut {
		return r
	}
	root.set("content", content)
	return &Result{JSON: root.json()}
}

// A truncation is a cut under way.
type truncation struct {
	left    int // characters
	hasText bool
	cut     bool
}

// content are the blocks that are left.
func (t *truncation) content(blocks *node) *node {
	kept := newArray()
	for _, block := range blocks.list() {
		var holder *node // of the text
		switch ContentType(block.get("type").text()) {
		case TextContent:
			holder = block
		case ResourceContent:
			holder = block.get("resource")
		}
		text := holder.get("text")
		if !text.is(textNode) {
			kept.items = append(kept.items, block)
			continue
		}
		t.hasText = true
		if t.cut {
			continue
		}
		if n := utf8.RuneCountInString(text.text()); n > t.left {
			holder.set("text", newText(cutText(text.text(), t.left)))
			t.cut = true
		} else {
			t.left -= n
		}
		kept.items = append(kept.items, block)
	}
	return kept
}

// cutText is a text of so many characters and the mark.
func cutText(s string, runes int) string {
	for i := range s {
		if runes--; runes < 0 {
			return s[:i] + truncated
		}
	}
	return s
}

func textBlock(text string) *node {
	return newObject(member{"type", newText(string(TextContent))}, member{"text", newText(text)})
}

package providers

import (
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Blocks returns what a model reads of a result, in order, for an API that takes more than
// text: a block with Data is an image, audio or a file of its MimeType, every other block is
// text. Structured content is used if there is no other text, and a result that does not
// follow MCP is returned as text. A failed result always has a text.
func (r *Result) Blocks() []toolformat.Content {
	if r.Content == nil {
		return nil
	}
	blocks, err := r.Content.Content()
	if err != nil {
		return []toolformat.Content{textBlock(string(r.Content.JSON))}
	}
	hasText := false
	for i := range blocks {
		if blocks[i].Data == "" {
			blocks[i] = textBlock(blockText(&blocks[i]))
			hasText = hasText || strings.TrimSpace(blocks[i].Text) != ""
		}
	}
	switch structured := r.Content.Structured(); {
	case hasText:
	case structured != nil:
		blocks = append(blocks, textBlock(string(structured)))
	case r.Content.IsError(): // Anthropic refuses an error without text
		blocks = append(blocks, textBlock("the tool failed without an error message"))
	}
	return blocks
}

func textBlock(text string) toolformat.Content {
	return toolformat.Content{Type: toolformat.TextContent, Text: text}
}

// Text returns the blocks of a result as one text, each on its own lines, for an API that
// takes only text. Images are left to Images, other blocks that are not text are named. With
// marked a failed result begins with "Error: ", for APIs without a flag for it.
func (r *Result) Text(marked bool) string {
	var lines []string
	for _, c := range r.Blocks() {
		if line := blockText(&c); line != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "\n")
	if marked && r.Content != nil && r.Content.IsError() && !strings.HasPrefix(text, "Error") {
		text = "Error: " + text
	}
	return text
}

// Images returns the images of a result, in order, with their data in base64.
func (r *Result) Images() []toolformat.Content {
	var images []toolformat.Content
	for _, c := range r.Blocks() {
		if c.Type == toolformat.ImageContent {
			images = append(images, c)
		}
	}
	return images
}

// blockText returns a block as text; "" for an image.
func blockText(c *toolformat.Content) string {
	switch c.Type {
	case toolformat.TextContent:
		return c.Text
	case toolformat.ImageContent:
		return ""
	case toolformat.LinkContent:
		return fmt.Sprintf("[resource %s: %s]", c.Name, c.URI)
	case toolformat.ResourceContent:
		if c.Data == "" {
			return c.Text
		}
		return fmt.Sprintf("[resource %s: %s, not text]", c.URI, c.MimeType)
	case toolformat.AudioContent:
		return fmt.Sprintf("[audio: %s]", c.MimeType)
	}
	return string(c.Raw)
}

package providers

import (
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Text is the blocks of a result as one text, for an API that takes no more, each on lines
// of its own. Images are left to Images, and what else is no text is named. With marked
// set a result that failed begins with "Error: ", for APIs that have no other place to say
// so.
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

// Images are the images of a result, in order, their data in base64.
func (r *Result) Images() []toolformat.Content {
	var images []toolformat.Content
	for _, c := range r.Blocks() {
		if c.Type == toolformat.ImageContent {
			images = append(images, c)
		}
	}
	return images
}

// blockText is one block in words; "" for an image.
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
		return fmt.Sprintf("[resource %s: %s, which is no text]", c.URI, c.MimeType)
	case toolformat.AudioContent:
		return fmt.Sprintf("[audio: %s]", c.MimeType)
	}
	return string(c.Raw)
}

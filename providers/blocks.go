package providers

import (
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Blocks are what a model is to read of a result, in order, for an API that takes more
// than text: a block that has Data is an image, audio or a file of its MimeType, every
// other is text. Structured content is a text where there is no other, and a result that
// cannot be read is one as it is. A result that failed has a text that is not blank.
func (r *Result) Blocks() []toolformat.Content {
	if r.Content == nil {
		return nil
	}
	blocks, err := r.Content.Content()
	if err != nil {
		return []toolformat.Content{textBlock(string(r.Content.JSON))}
	}
	said := false
	for i := range blocks {
		if blocks[i].Data == "" {
			blocks[i] = textBlock(blockText(&blocks[i]))
			said = said || strings.TrimSpace(blocks[i].Text) != ""
		}
	}
	switch structured := r.Content.Structured(); {
	case said:
	case structured != nil:
		blocks = append(blocks, textBlock(string(structured)))
	case r.Content.IsError(): // Anthropic refuses a failure without a word
		blocks = append(blocks, textBlock("the tool failed and did not say why"))
	}
	return blocks
}

func textBlock(text string) toolformat.Content {
	return toolformat.Content{Type: toolformat.TextContent, Text: text}
}

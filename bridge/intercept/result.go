package intercept

import (
	"errors"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// blocks are the types of content that a result may have, and the members that a block of each must have
// (MCP specification, ContentBlock).
var blocks = map[string][]string{
	"text": {"text"}, "image": {"data", "mimeType"}, "audio": {"data", "mimeType"}, "resource_link": {"uri", "name"}, "resource": nil,
}

// checkResult returns what is wrong with a result in place of an old one: where that has content, it must be that
// of a tool. Others are those of tasks.
func checkResult(old, result []byte) error {
	for key, want := range map[string]string{"isError": "a boolean", "_meta": "an object"} {
		if value := wire.Lookup(result, key); value != nil && kindOf(value) != want {
			return fmt.Errorf("the result has the %s %.40s: expected %s", key, value, want)
		}
	}
	content := wire.Lookup(result, "content")
	switch {
	case content == nil && wire.Lookup(old, "content") == nil:
		return nil
	case content == nil:
		return errors.New("the result has no content: expected an array of blocks, which may be empty")
	case kindOf(content) != "an array":
		return fmt.Errorf("the result has the content %.40s: expected an array of blocks", content)
	}
	n := 0
	for block := range wire.Elements(content) {
		if err := checkBlock(block); err != nil {
			return fmt.Errorf("the result has content that is not MCP's: block %d %w", n, err)
		}
		n++
	}
	return nil
}

// checkBlock returns what is wrong with a block of content.
func checkBlock(block []byte) error {
	of, _ := wire.Text(wire.Lookup(block, "type"))
	members, known := blocks[of]
	if !known {
		return fmt.Errorf("has the type %.40q: expected text, image, audio, resource_link or resource", of)
	}
	for _, key := range members {
		if _, ok := wire.Text(wire.Lookup(block, key)); !ok {
			return fmt.Errorf("(%s) needs a string %q", of, key)
		}
	}
	if of != "resource" {
		return nil
	}
	resource := wire.Lookup(block, of)
	_, hasURI := wire.Text(wire.Lookup(resource, "uri"))
	_, hasText := wire.Text(wire.Lookup(resource, "text"))
	_, hasBlob := wire.Text(wire.Lookup(resource, "blob"))
	if !hasURI || hasText == hasBlob {
		return errors.New(`(resource) needs a "resource" with the strings "uri", and "text" or "blob"`)
	}
	return nil
}

// kindOf returns the type of a JSON value in words.
func kindOf(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	}
	return "something else"
}

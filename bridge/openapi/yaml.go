package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// toJSON returns a document as JSON, with the order and the numbers of the document.
func toJSON(doc []byte) ([]byte, error) {
	doc = bytes.TrimSpace(bytes.TrimPrefix(doc, []byte("\ufeff")))
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("the document has %d bytes; the limit is %d", len(doc), maxDocument)
	}
	if bytes.HasPrefix(doc, []byte("{")) {
		raw := bytes.Clone(doc) // Valid writes to it
		if err := wire.Valid(raw); err == nil {
			return raw, nil
		}
	}
	var root yaml.Node
	if err := yaml.Unmarshal(doc, &root); err != nil {
		return nil, fmt.Errorf("neither JSON nor YAML: %w", err)
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("not an OpenAPI document: expected a mapping at its root")
	}
	c := converter{}
	err := c.node(root.Content[0], 0)
	return c.dst, err
}

// A converter writes YAML as JSON. It expands aliases within the bounds of a document.
type converter struct{ dst []byte }

func (c *converter) node(n *yaml.Node, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("line %d: nested deeper than %d", n.Line, maxDepth)
	}
	if len(c.dst) > maxDocument {
		return fmt.Errorf("line %d: with its aliases expanded, the document has more than %d bytes", n.Line, maxDocument)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.node(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		c.dst = append(c.dst, '[')
		for _, item := range n.Content {
			if isNoNumber(item) {
				continue
			}
			c.dst = native.AppendComma(c.dst)
			if err := c.node(item, depth+1); err != nil {
				return err
			}
		}
		c.dst = append(c.dst, ']')
		return nil
	}
	return c.scalar(n)
}

func (c *converter) mapping(n *yaml.Node, depth int) error {
	members, err := merged(n, 0)
	if err != nil {
		return err
	}
	c.dst = append(c.dst, '{')
	for _, m := range members {
		if isNoNumber(m.value) {
			continue
		}
		c.dst = native.AppendKey(c.dst, m.key)
		if err := c.node(m.value, depth+1); err != nil {
			return err
		}
	}
	c.dst = append(c.dst, '}')
	return nil
}

// isNoNumber reports whether a value is .inf or .nan, which JSON does not have. It is left out: no value
// is beyond such a bound, or equals it.
func isNoNumber(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	text := strings.TrimLeft(n.Value, "+-")
	return n.Kind == yaml.ScalarNode && (strings.EqualFold(text, ".inf") || strings.EqualFold(text, ".nan")) && n.ShortTag() == "!!float"
}

type yamlMember struct {
	key   string
	value *yaml.Node
}

// merged returns the members of a mapping, including those that << merges into it.
func merged(n *yaml.Node, depth int) (members []yamlMember, err error) {
	if depth > 10 {
		return nil, fmt.Errorf("line %d: merged deeper than 10", n.Line)
	}
	has := map[string]bool{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("line %d: expected text as a key", key.Line)
		case key.ShortTag() == "!!merge":
			merges = append(merges, value)
		default:
			has[key.Value] = true
			members = append(members, yamlMember{key.Value, value})
		}
	}
	for i := 0; i < len(merges) && i < maxDepth; i++ {
		from := merges[i]
		if from.Kind == yaml.AliasNode {
			from = from.Alias
		}
		if from.Kind == yaml.SequenceNode {
			merges = append(merges, from.Content...)
			continue
		}
		if from.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("line %d: << merges a value that is not a mapping", from.Line)
		}
		more, err := merged(from, depth+1)
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			if !has[m.key] {
				has[m.key] = true
				members = append(members, m)
			}
		}
	}
	return members, nil
}

// scalar writes a scalar; a number keeps its digits if that is valid JSON.
func (c *converter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		c.dst = append(c.dst, "null"...)
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		c.dst = fmt.Appendf(c.dst, "%t", b)
	case "!!int", "!!float":
		if raw := []byte(n.Value); json.Valid(raw) {
			c.dst = append(c.dst, raw...)
			return nil
		}
		if i, ok := new(big.Int).SetString(strings.ReplaceAll(n.Value, "_", ""), 0); ok && len(n.Value) < 100 {
			c.dst = i.Append(c.dst, 10)
			return nil
		}
		var f float64
		err := n.Decode(&f)
		raw, jsonErr := json.Marshal(f)
		if err != nil || jsonErr != nil {
			return fmt.Errorf("line %d: JSON cannot represent the number %s", n.Line, native.Shorten(n.Value))
		}
		c.dst = append(c.dst, raw...)
	default:
		c.dst = wire.AppendString(c.dst, n.Value)
	}
	return nil
}

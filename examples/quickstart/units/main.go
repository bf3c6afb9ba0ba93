// Command units is an MCP server on standard input and output that converts units. Its results are
// structured, as the outputSchema of each tool describes.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("units", "1.0.0", server.WithToolCapabilities(false), server.WithInputSchemaValidation())
	s.AddTool(mcp.NewTool("convert",
		mcp.WithDescription("Converts a value between two units of one quantity."),
		mcp.WithInputSchema[convertArgs](),
		mcp.WithOutputSchema[converted](),
		mcp.WithToolAnnotation(pure("Convert units"))), mcp.NewStructuredToolHandler(convert))
	s.AddTool(mcp.NewTool("list",
		mcp.WithDescription("Lists the units that convert knows."),
		mcp.WithInputSchema[struct{}](),
		mcp.WithOutputSchema[listing](),
		mcp.WithToolAnnotation(pure("List units"))), mcp.NewStructuredToolHandler(list))
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, "units:", err)
		os.Exit(1)
	}
}

// pure returns the annotations of a tool without side effects or connections.
func pure(title string) mcp.ToolAnnotation {
	yes, no := true, false
	return mcp.ToolAnnotation{Title: title, ReadOnlyHint: &yes, IdempotentHint: &yes, DestructiveHint: &no, OpenWorldHint: &no}
}

type convertArgs struct {
	Value float64 `json:"value" jsonschema:"the number to convert"`
	From  string  `json:"from" jsonschema:"its unit, as in km"`
	To    string  `json:"to" jsonschema:"the unit wanted, as in mi"`
}

type converted struct {
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Quantity string  `json:"quantity"`
}

type listing struct {
	Units []unitInfo `json:"units"`
}

type unitInfo struct {
	Name     string `json:"name"`
	Quantity string `json:"quantity"`
}

// unit is a unit as a multiple of its quantity's base unit, from an offset.
type unit struct {
	quantity       string
	factor, offset float64
}

// units returns the known units by their symbols.
func units() map[string]unit {
	return map[string]unit{
		"m": {"length", 1, 0}, "km": {"length", 1000, 0}, "mi": {"length", 1609.344, 0}, "ft": {"length", 0.3048, 0},
		"kg": {"mass", 1, 0}, "g": {"mass", 0.001, 0}, "lb": {"mass", 0.45359237, 0},
		"K": {"temperature", 1, 0}, "C": {"temperature", 1, 273.15}, "F": {"temperature", 5.0 / 9, 273.15 - 32*5.0/9},
	}
}

// convert converts a value. Its errors become results with isError, which a model can read.
func convert(_ context.Context, _ mcp.CallToolRequest, args convertArgs) (converted, error) {
	known := units()
	from, okFrom := known[args.From]
	to, okTo := known[args.To]
	switch {
	case !okFrom:
		return converted{}, fmt.Errorf("unknown unit %q (list shows the known ones)", args.From)
	case !okTo:
		return converted{}, fmt.Errorf("unknown unit %q (list shows the known ones)", args.To)
	case from.quantity != to.quantity:
		return converted{}, fmt.Errorf("%s is a %s and %s is a %s", args.From, from.quantity, args.To, to.quantity)
	}
	return converted{(args.Value*from.factor + from.offset - to.offset) / to.factor, args.To, to.quantity}, nil
}

func list(context.Context, mcp.CallToolRequest, struct{}) (listing, error) {
	var l listing
	for name, u := range units() {
		l.Units = append(l.Units, unitInfo{name, u.quantity})
	}
	slices.SortFunc(l.Units, func(a, b unitInfo) int {
		return cmp.Or(cmp.Compare(a.Quantity, b.Quantity), cmp.Compare(a.Name, b.Name))
	})
	return l, nil
}

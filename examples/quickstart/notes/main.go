// Command notes is an MCP server on standard input and output. It keeps notes in memory until it
// ends.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("notes", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithInputSchemaValidation(),
		server.WithInstructions("Notes live as long as this server. Use search before you add one."))
	b := &book{}
	s.AddTool(mcp.NewTool("add",
		mcp.WithDescription("Adds a note."),
		mcp.WithInputSchema[addArgs]()), mcp.NewTypedToolHandler(b.add))
	s.AddTool(mcp.NewTool("list",
		mcp.WithDescription("Lists all notes."),
		mcp.WithInputSchema[struct{}](),
		mcp.WithReadOnlyHintAnnotation(true)), mcp.NewTypedToolHandler(b.list))
	s.AddTool(mcp.NewTool("search",
		mcp.WithDescription("Lists the notes that contain a text, in any letter case."),
		mcp.WithInputSchema[searchArgs](),
		mcp.WithReadOnlyHintAnnotation(true)), mcp.NewTypedToolHandler(b.search))
	s.AddTool(mcp.NewTool("import",
		mcp.WithDescription("Adds each line of a text as a note, slowly, and reports its progress."),
		mcp.WithInputSchema[importArgs]()), mcp.NewTypedToolHandler(b.importLines))
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		os.Exit(1)
	}
}

type addArgs struct {
	Text string `json:"text" jsonschema:"the note"`
}

type searchArgs struct {
	Query string `json:"query" jsonschema:"what the notes contain"`
}

type importArgs struct {
	Lines string `json:"lines" jsonschema:"one note a line"`
}

// book holds all notes. The number of a note is its position, starting at 1.
type book struct {
	mu    sync.Mutex // guards notes
	notes []string
}

func (b *book) add(_ context.Context, _ mcp.CallToolRequest, args addArgs) (*mcp.CallToolResult, error) {
	text := strings.TrimSpace(args.Text)
	if text == "" {
		return mcp.NewToolResultError("a note needs a text"), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("added note %d", b.put(text))), nil
}

func (b *book) put(text string) (number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, text)
	return len(b.notes)
}

func (b *book) list(context.Context, mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, error) {
	return b.result(func(string) bool { return true }), nil
}

func (b *book) search(_ context.Context, _ mcp.CallToolRequest, args searchArgs) (*mcp.CallToolResult, error) {
	query := strings.ToLower(args.Query)
	return b.result(func(note string) bool { return strings.Contains(strings.ToLower(note), query) }), nil
}

// result lists the wanted notes, one per line.
func (b *book) result(wanted func(note string) bool) *mcp.CallToolResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for i, note := range b.notes {
		if wanted(note) {
			lines = append(lines, fmt.Sprintf("%d. %s", i+1, note))
		}
	}
	if lines == nil {
		return mcp.NewToolResultText("no notes")
	}
	return mcp.NewToolResultText(strings.Join(lines, "\n"))
}

// work is the duration of a line of an import, long enough to see progress.
const work = 200 * time.Millisecond

func (b *book) importLines(ctx context.Context, r mcp.CallToolRequest, args importArgs) (*mcp.CallToolResult, error) {
	lines := strings.FieldsFunc(args.Lines, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		b.put(strings.TrimSpace(line))
		progress(ctx, r, i+1, len(lines))
		select {
		case <-time.After(work):
		case <-ctx.Done():
			return nil, ctx.Err() // the caller gave up
		}
	}
	return mcp.NewToolResultText(fmt.Sprintf("imported %d notes", len(lines))), nil
}

// progress reports the progress of a call that came with a token for it.
func progress(ctx context.Context, r mcp.CallToolRequest, done, total int) {
	if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
		return
	}
	err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": r.Params.Meta.ProgressToken, "progress": done, "total": total,
		"message": fmt.Sprintf("%d of %d", done, total),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "notes: progress:", err)
	}
}

// Command shop is a shop in a SQLite file. It is an MCP server on standard input and output for its
// staff, and a REST and a GraphQL API on loopback for its customers.
//
// SHOP_DB is the file (default shop.db), SHOP_PORT the port (default 7390). A shop resets the file
// when it starts, unless another shop serves the same file at the port: then that one has the APIs.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	file, err := filepath.Abs(cmp.Or(os.Getenv("SHOP_DB"), "shop.db"))
	if err != nil {
		return err
	}
	s, err := openStore(file)
	if err != nil {
		return err
	}
	defer s.close()
	address := net.JoinHostPort("127.0.0.1", cmp.Or(os.Getenv("SHOP_PORT"), "7390"))
	listener, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		stop, err := serveAPIs(ctx, listener, s)
		if err != nil {
			return err
		}
		defer stop()
	case servedAt(ctx, address) != file:
		return fmt.Errorf("%w (set SHOP_PORT to a free port)", err)
	}
	return server.ServeStdio(newMCP(s))
}

// serveAPIs resets the store and serves the APIs until stop is called.
func serveAPIs(ctx context.Context, listener net.Listener, s *store) (stop func(), err error) {
	handler, err := newAPIs(s)
	if err == nil {
		err = s.reset(ctx)
	}
	if err != nil {
		listener.Close()
		return nil, err
	}
	web := &http.Server{Handler: handler, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	return func() {
		web.Close()
		<-ended
	}, nil
}

// servedAt returns the file of the shop that serves an address, or "" if there is no shop.
func servedAt(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var shop about
	if json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&shop) != nil {
		return ""
	}
	return shop.File
}

func newMCP(s *store) *server.MCPServer {
	m := server.NewMCPServer("shop", "1.0.0", server.WithToolCapabilities(false), server.WithInputSchemaValidation())
	m.AddTool(mcp.NewTool("restock",
		mcp.WithDescription("Adds pieces of a product to the stock."),
		mcp.WithInputSchema[restockArgs](),
		mcp.WithOutputSchema[product]()),
		mcp.NewStructuredToolHandler(func(ctx context.Context, _ mcp.CallToolRequest, args restockArgs) (product, error) {
			return s.restock(ctx, args)
		}))
	return m
}

type restockArgs struct {
	Product int `json:"product" jsonschema:"the number of the product"`
	Pieces  int `json:"pieces" jsonschema:"how many to add"`
}

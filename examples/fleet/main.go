// Fleet runs three nodes of one bridge behind a balancer that never sticks. See README.md.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	nats "github.com/nats-io/nats-server/v2/server"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 3 && os.Args[1] == "whereami" {
		if err := whereami(os.Args[2]); err != nil {
			log.Fatal(err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listen := "127.0.0.1:7332"
	if len(os.Args) == 2 {
		listen = os.Args[1]
	}
	if err := run(ctx, listen); err != nil {
		log.Fatal(err)
	}
}

// whereami is an MCP server with a tool that tells which node has run it.
func whereami(node string) error {
	s := server.NewMCPServer("whereami", "1")
	tool := mcp.NewTool("whereami", mcp.WithDescription("Tells which node answers."), mcp.WithReadOnlyHintAnnotation(true))
	s.AddTool(tool, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(node), nil
	})
	return server.ServeStdio(s)
}

// run runs NATS, the nodes and the balancer until ctx ends.
func run(ctx context.Context, listen string) error {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bridge := filepath.Join(dir, "mcpbridge.exe")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bridge, "github.com/mcpbridge/mcpbridge/cmd/mcpbridge").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	engine, err := nats.NewServer(&nats.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: filepath.Join(dir, "nats"), NoSigs: true})
	if err != nil {
		return err
	}
	engine.Start()
	defer engine.Shutdown()
	if !engine.ReadyForConnections(10 * time.Second) {
		return fmt.Errorf("NATS is not ready")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var nodes sync.WaitGroup
	defer nodes.Wait()
	var addresses []string
	secret := rand.Text() + rand.Text()
	for _, name := range []string{"a", "b", "c"} {
		port, err := freePort()
		if err != nil {
			return err
		}
		node := exec.CommandContext(ctx, bridge, "serve", "--config", "examples/fleet/mcpbridge.json")
		node.Env = append(os.Environ(), "NODE="+name, "PORT="+port, "CLUSTER_SECRET="+secret, "NATS_URL="+engine.ClientURL(), "WHEREAMI="+self)
		node.Cancel = func() error { return node.Process.Signal(os.Interrupt) }
		node.Stderr = os.Stderr
		if err := node.Start(); err != nil {
			return err
		}
		nodes.Go(func() { node.Wait() })
		addresses = append(addresses, "127.0.0.1:"+port)
		log.Printf("node %s: pid %d, http://127.0.0.1:%s", name, node.Process.Pid, port)
	}
	front := &http.Server{Addr: listen, Handler: newBalancer(addresses)}
	defer context.AfterFunc(ctx, func() { front.Close() })()
	log.Printf("balancer on http://%s", listen)
	if err := front.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// freePort returns a port on which nobody listens.
func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return port, err
}

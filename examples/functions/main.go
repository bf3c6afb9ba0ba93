// Command functions is an MCP server on standard input and output whose tools are Go functions. The
// file mcpbridge_gen.go is written by mcpbridge gen.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "functions:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	dice, err := bridge.Func("roll_dice", "Rolls dice and adds them up.", rollDice) // without gen: the tags of its struct suffice
	if err != nil {
		return err
	}
	native, err := bridge.NewNative(bridge.NativeOptions{ServerInfo: []byte(`{"name":"functions","version":"1.0.0"}`), Log: log},
		append(Tools(), dice)...)
	if err != nil {
		return err
	}
	defer native.Close()
	server := mcpserver.New(native, mcpserver.Options{Log: log})
	defer server.Close()
	return server.ServeStdio(ctx, os.Stdin, os.Stdout)
}

package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// version returns the module's version, as the go command recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

// revisions returns the MCP revisions that the bridge speaks on both sides, newest first.
func revisions() []string {
	return append([]string{wire.ModernRevision}, wire.Revisions...)
}

// spoken returns the sentence of the help on MCP revisions.
func spoken() string {
	return "Clients and servers may each speak any of MCP's revisions " + wire.Revisions[len(wire.Revisions)-1] + " to " + wire.ModernRevision + "."
}

// commit returns the commit that was built, or "unknown" if it was not recorded.
func commit() string {
	revision, dirty := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.modified":
				if s.Value == "true" {
					dirty = " (modified)"
				}
			}
		}
	}
	return revision + dirty
}

func runVersion(_ context.Context, args []string, std streams) error {
	f := newFlags("version", "version", "Prints the version, the commit, the Go version and the MCP revisions.", std)
	if err := f.parseOwn(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("version: unexpected argument %s", hint.Quote(f.Arg(0)))
	}
	fmt.Fprintf(std.out, "mcpbridge %s\ncommit %s\n%s %s/%s\nMCP %s\n", version(), commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(revisions(), " "))
	return nil
}

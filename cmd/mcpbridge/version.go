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

// version is the module's version as the go command recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

// revisions are those of MCP that the bridge speaks on both sides, newest first.
func revisions() []string {
	return append([]string{wire.ModernRevision}, wire.Revisions...)
}

// spoken says in the help which revisions clients and servers may speak.
func spoken() string {
	return "Clients and servers may each speak any of MCP's revisions " + wire.Revisions[len(wire.Revisions)-1] + " to " + wire.ModernRevision + "."
}

// commit is the revision that was built; "unknown" when it was not recorded.
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
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		fmt.Fprint(std.out, "Prints the version, the commit, the Go version and the MCP revisions.\n\nUsage: mcpbridge version\n")
		return nil
	}
	if len(args) > 0 {
		return usagef("version: unexpected argument %s", hint.Quote(args[0]))
	}
	fmt.Fprintf(std.out, "mcpbridge %s\ncommit %s\n%s %s/%s\nMCP %s\n", version(), commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(revisions(), " "))
	return nil
}

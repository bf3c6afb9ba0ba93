//go:build !linux

package main

import "context"

func runService(context.Context, []string, streams) error {
	return usagef("service: it needs systemd, which this system does not have: mcpbridge stdio starts the daemon")
}

package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

const openAbout = `Opens the console of a mcpbridge serve that runs, and prints its address. The address
is good for one browser, for 15 minutes; the browser then has a cookie until serve ends.`

func runOpen(ctx context.Context, args []string, std streams) error {
	r := newRemote("open", "open [--no-browser] [--config FILE] [--json]", openAbout, std)
	noBrowser := r.Bool("no-browser", false, "only print the address")
	if err := r.parseWords(args, 0); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var found []string
	_, failed, away := r.askDone(limited, &daemon.Command{Name: "open"}, func(_ []byte, address string) error {
		found = append(found, address)
		return nil
	})
	switch {
	case away != nil && len(found) == 0:
		return away
	case len(found) == 0 && len(failed) > 0:
		return &exitError{exitAway, "open: " + failed[0]}
	case len(found) == 0:
		return &exitError{exitAway, "open: no mcpbridge serve of yours is running (mcpbridge serve starts one)"}
	}
	for _, address := range found {
		if r.json {
			if err := printJSON(std.out, map[string]string{"url": address}); err != nil {
				return err
			}
		} else {
			fmt.Fprintln(std.out, address)
		}
	}
	if *noBrowser {
		return away
	}
	if len(found) > 1 {
		return usagef("open: several are running: --config FILE chooses the one that is opened")
	}
	if err := openBrowser(ctx, found[0]); err != nil {
		fmt.Fprintf(std.err, "open this address in a browser: %v\n", err)
	}
	return away
}

// url returns an address of the console, good for one browser.
func (c *ownConsole) url() string {
	return c.base(c.live.Live.Stack().Config()) + "/?ticket=" + c.live.entry.operator.Ticket()
}

// base returns where a browser reaches the console, without a slash at its end.
func (c *ownConsole) base(cfg *config.Config) string {
	if cfg.PublicURL != "" {
		return strings.TrimSuffix(cfg.PublicURL, "/")
	}
	scheme, address, _ := strings.Cut(c.address, "://")
	host, port, _ := net.SplitHostPort(address)
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return scheme + "://" + net.JoinHostPort("127.0.0.1", port)
	}
	return c.address
}

// addAutoToken gives a config with "tokens": "auto" its token, that of the operator. It is made once, and kept
// in a file that only the user can read.
func addAutoToken(cfg *config.Config) error {
	if !cfg.AutoToken {
		return nil
	}
	path, err := autoTokenFile(cfg.Path)
	if err != nil {
		return err
	}
	err = file.Update(path, func(text []byte) ([]byte, error) {
		if len(strings.TrimSpace(string(text))) == 0 {
			text = []byte("mcpb_" + rand.Text() + "\n")
		}
		cfg.Tokens = map[string]string{auth.OperatorName: strings.TrimSpace(string(text))}
		return text, nil
	}, nil)
	if err != nil {
		return fmt.Errorf("%s: tokens: %s: %w", cfg.Path, path, err)
	}
	return nil
}

// autoTokenFile returns the file of the token of a config.
func autoTokenFile(config string) (string, error) {
	sum := sha256.Sum256([]byte(file.Real(config)))
	return file.State(filepath.Join("tokens", hex.EncodeToString(sum[:8])))
}

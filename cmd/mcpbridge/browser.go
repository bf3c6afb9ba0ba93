package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// openBrowser shows a web page in the browser of the person, or in the program that BROWSER names. It
// runs no shell, and returns when that program has started.
func openBrowser(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return errors.New("not the address of a web page")
	}
	command := browserCommand()
	if len(command) == 0 {
		return errors.New("there is no browser on this machine")
	}
	browser := exec.CommandContext(context.WithoutCancel(ctx), command[0], append(command[1:], u.String())...)
	if err := browser.Start(); err != nil {
		return err
	}
	go browser.Wait() // it may outlive this program
	return nil
}

// browserCommand returns the program that shows a page; nil if there is none.
func browserCommand() []string {
	if command := strings.Fields(os.Getenv("BROWSER")); len(command) > 0 {
		return command
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case "darwin":
		return []string{"open"}
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	return []string{"xdg-open"}
}

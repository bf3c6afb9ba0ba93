package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// gitTime bounds the question to git.
const gitTime = 3 * time.Second

// exposed returns a warning if git would commit a file with secrets: one in a repository that does not
// ignore it. Without git, and elsewhere, it is "".
func exposed(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	folder, name := filepath.Split(path)
	// Nothing that the repository configures is to run.
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "check-ignore", "--quiet", "--", name)
	cmd.Dir = folder
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 { // 0: ignored, 128: no repository
		return ""
	}
	return fmt.Sprintf("%s has secrets, and lies in a Git repository that does not ignore it: write %s into .gitignore before you commit, and git rm --cached %s if it is tracked", path, name, name)
}

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a program is made of is found by links, first lines, bin folders and packages, and is never the home.
func TestNeeds(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for path, text := range map[string]string{
		".nvm/v20/bin/node":                                "program",
		".nvm/v20/lib/node_modules/srv/dist/index.js":      "#!/usr/bin/env node\n",
		".nvm/v20/bin/srv":                                 "-> ../lib/node_modules/srv/dist/index.js",
		".pyenv/versions/3/bin/python3":                    "program",
		"venv/pyvenv.cfg":                                  "home = $HOME/.pyenv/versions/3/bin\n",
		"venv/bin/python":                                  "-> $HOME/.pyenv/versions/3/bin/python3",
		"venv/bin/tool":                                    "#!$HOME/venv/bin/python\n",
		".local/bin/own":                                   "#!/bin/sh\n",
		"bin/mine":                                         "#!/bin/sh\n",
		"src/server/package.json":                          "{}",
		"src/server/dist/main.js":                          "",
		"src/server/node_modules/dep/node_modules/x/in.js": "",
		"alone.js":                                         "",
	} {
		path = filepath.Join(home, path)
		text = strings.ReplaceAll(text, "$HOME", home)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if target, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		".nvm/v20/bin/srv":       ".nvm/v20 .nvm/v20/bin/node .nvm/v20/bin/srv .nvm/v20/lib/node_modules .nvm/v20/lib/node_modules/srv/dist/index.js",
		"venv/bin/tool --flag x": ".pyenv/versions/3 .pyenv/versions/3/bin/python3 venv venv/bin/python venv/bin/tool",
		".local/bin/own":         ".local/bin/own .local/lib /bin",
		"bin/mine":               "/bin bin/mine",
		".nvm/v20/bin/node --inspect src/server/dist/main.js":                ".nvm/v20 .nvm/v20/bin/node src/server src/server/dist/main.js",
		".nvm/v20/bin/node src/server/node_modules/dep/node_modules/x/in.js": ".nvm/v20 .nvm/v20/bin/node src/server/node_modules src/server/node_modules/dep/node_modules/x/in.js",
		".nvm/v20/bin/node alone.js":                                         ".nvm/v20 .nvm/v20/bin/node alone.js",
		".nvm/v20/bin/node .":                                                ".nvm/v20 .nvm/v20/bin/node",
	} {
		words := strings.Fields(command)
		cmd := &exec.Cmd{
			Path: filepath.Join(home, words[0]), Args: words, Dir: home,
			Env: []string{"HOME=" + home, "PATH=" + filepath.Join(home, ".nvm/v20/bin")},
		}
		var got []string
		for _, path := range Needs(cmd) {
			rel, err := filepath.Rel(home, path)
			switch {
			case err != nil || path == home:
				t.Errorf("%s needs %s", command, path)
			case rel == ".local/share/uv/python":
			case strings.HasPrefix(rel, ".."):
				if !slices.Contains(got, "/bin") {
					got = append(got, "/bin") // of the system
				}
			default:
				got = append(got, rel)
			}
		}
		slices.Sort(got)
		wants := strings.Fields(want)
		slices.Sort(wants)
		if !slices.Equal(got, wants) {
			t.Errorf("%s needs %q, want %q", command, got, wants)
		}
	}
}

func TestPresetFor(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	git := Presets["git"].For([]string{"--repository", dir, "relative", filepath.Join(dir, "none")}, nil)
	if !slices.Equal(git.Write, []string{dir}) || !slices.Equal(git.Read, []string{filepath.Join(home, ".gitconfig")}) || git.Network {
		t.Errorf("%+v", git)
	}
	memory := Presets["memory"].For(nil, map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "m.json")})
	if !slices.Equal(memory.Write, []string{dir}) {
		t.Errorf("%+v", memory)
	}
	if Presets["git"].Write != nil {
		t.Error("the preset has changed")
	}
}

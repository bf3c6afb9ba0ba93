//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// At a terminal a command asks about its call, as the rule of the policy wants it.
func TestCallAtATerminal(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcpbridge.json")
	err := os.WriteFile(config, []byte(`{ "mcpServers": { "one": { "command": "fakeserver" } }, "policy": { "rules": [
		{ "tools": ["echo"], "arguments": { "/text": "a*" }, "decision": "ask", "reason": "look at it", "edit": true },
		{ "decision": "ask" } ] } }`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		steps [][2]string // what is seen, and what is typed then
		want  string      // is seen at last
		exit  int
	}{
		{"abc", [][2]string{{"look at it", ""}, {`run echo {"text":"abc"}?`, ""}, {"[y]es, [n]o and why, [e]dit: ", "y\r"}}, "abc", 0},
		{"abc", [][2]string{{"[e]dit: ", "e\r"}, {"arguments: ", `{"text":"other"}` + "\r"}}, "with arguments that the person who approved it has changed", 0},
		{"abc", [][2]string{{"[e]dit: ", "n not now\r"}}, "denied by the user (rule 1): the user says: not now", exitAway},
		{"abc", [][2]string{{"[e]dit: ", "\x04"}}, "denied by the user (rule 1): the user did not answer", exitAway},
		{"abc", [][2]string{{"[e]dit: ", "e\r"}, {"arguments: ", "\x04"}}, "denied by the user (rule 1): the user did not answer", exitAway},
		{"b", [][2]string{{"[y]es, [n]o and why: ", "e\r"}, {"expected y or n", ""}, {"[y]es, [n]o and why: ", "a\r"}, {"[y]es, [n]o and why: ", "y\r"}}, "b", 0},
	} {
		k := &talk{T: t}
		k.start("", t.TempDir(), "tools", "call", "echo", "--args", `{"text":"`+c.text+`"}`, "--config", config)
		for _, step := range c.steps {
			k.sees(step[0])
			k.types(step[1])
		}
		k.sees(c.want)
		err := k.command.Wait()
		var exit *exec.ExitError
		if code := 0; errors.As(err, &exit) {
			code = exit.ExitCode()
			if code != c.exit {
				t.Errorf("%+v: exit %d", c, code)
			}
		} else if err != nil || c.exit != 0 {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A call that a rule of the policy asks about is asked about once, with the rule's reason and the answers that it
// leaves; the word holds for the policy, too.
func TestChatPolicy(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcpbridge.json")
	if err := os.WriteFile(config, []byte(`{ "mcpServers": { "one": { "command": "fakeserver", "args": ["--tools", "echo,other"] } },
		"policy": { "rules": [ { "tools": ["echo"], "decision": "ask", "reason": "it costs money" } ] } }`), 0o600); err != nil {
		t.Fatal(err)
	}
	k := startTalk(t, t.TempDir(), "--config", config)
	k.sees("2 tools")
	k.types("go" + enter)
	k.asked().calls("echo", `{"n":1}`)
	k.sees("it costs money")
	k.sees("[y]es, [n]o and why, [d]efer: ")
	k.types("y")
	k.sees("✓")
	k.asked(`fake echo {\"n\":1}`).calls("echo", `{"n":1}`)
	k.sees("[d]efer: ") // once more
	k.types("n" + enter)
	k.sees("✗")
	k.asked("denied by the user").calls("other", `{"n":2}`)
	k.sees("[y]es, [n]o and why, [a]lways, [e]dit, [d]efer: ")
	k.types("y")
	k.sees("✓")
}

// A prompt and a resource that a rule asks about are asked about in a chat, too.
func TestChatPolicyOfPrompts(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcpbridge.json")
	if err := os.WriteFile(config, []byte(`{ "mcpServers": { "one": { "command": "fakeserver", "args": ["--library"] } },
		"policy": { "rules": [ { "prompts": ["*"], "resources": ["*"], "decision": "ask", "reason": "who knows" } ] } }`), 0o600); err != nil {
		t.Fatal(err)
	}
	k := startTalk(t, t.TempDir(), "--config", config)
	k.sees("1 tool")
	k.types("/prompt review language=go" + enter)
	k.sees(`{"language":"go"}`)
	k.sees("who knows")
	k.sees("[y]es, [n]o and why: ")
	k.types("y")
	turn := k.asked(`Review {\"language\":\"go\"}`)
	turn.says("Fine.")
	turn.ends()
	k.sees("Fine.")
	k.types("what is in @notes://tea" + enter)
	k.sees("who knows")
	k.sees("[y]es, [n]o and why: ")
	k.types("n" + enter)
	k.sees("@notes://tea: denied by the user (rule 1)")
	k.types("what is in @notes://tea" + enter)
	k.sees("[y]es, [n]o and why: ")
	k.types("y")
	k.asked("green")
}

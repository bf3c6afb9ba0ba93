package main

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

func TestPromptArguments(t *testing.T) {
	const two = `{"name":"p","arguments":[{"name":"city","required":true},{"name":"days"}]}`
	for text, want := range map[string]string{
		"city=Rome days=2": `{"city":"Rome","days":"2"}`,
		"New York days=2":  `{"city":"New York","days":"2"}`,
		"a=b":              `{"city":"a=b"}`,
		"days=2":           "argument city is missing: /prompt NAME city=VALUE",
		"city=Rome x y":    `{"city":"Rome","days":"x y"}`,
		"city=a days=b c":  `unexpected "c": it takes no more arguments`,
	} {
		got, err := promptArguments([]byte(two), text)
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestPartsOfPrompt(t *testing.T) {
	parts, err := partsOfPrompt([]byte(`{"messages":[{"role":"user","content":{"type":"text","text":"Look."}},{"role":"user","content":{"type":"image","mimeType":"image/png","data":"AAAA"}},{"role":"assistant","content":{"type":"text","text":"Yes?"}}]}`))
	var got []string
	for _, p := range parts {
		got = append(got, string(p.Type)+" "+p.Text+p.MimeType)
	}
	if all := strings.Join(got, "|"); err != nil || all != "text Look.\n|image image/png|text assistant:\n|text Yes?\n" {
		t.Errorf("%q, %v", all, err)
	}
	if _, err := partsOfPrompt([]byte(`{}`)); err == nil {
		t.Error("a prompt without messages is taken")
	}
	if p := dataPart(nil, "application/pdf", "x"); p.Type != providers.PartFile {
		t.Errorf("%+v", p)
	}
}

func TestMention(t *testing.T) {
	var got []string
	for _, m := range mention().FindAllStringSubmatch("@a.txt and me@example.com, see @file:///x y@z @b", -1) {
		got = append(got, m[1])
	}
	if all := strings.Join(got, " "); all != "a.txt file:///x b" {
		t.Error(all)
	}
}

package wire

import (
	"strings"
	"testing"
)

func TestCreatedTask(t *testing.T) {
	for _, c := range []struct{ result, want string }{
		{`{"task":{"taskId":"a","status":"working"}}`, "a"},
		{`{"resultType":"task","taskId":"b"}`, "b"},
		{`{"resultType":"t\u0061sk","taskId":"b"}`, "b"},
		{`{"resultType":"task","taskId":"b","task":{"taskId":"a"}}`, "b"},
		{`{"resultType":"complete","taskId":"b"}`, ""},
		{`{"taskId":"b"}`, ""},
		{`{"task":{"taskId":1}}`, ""},
		{`{"task":"a"}`, ""},
		{`{"resultType":"task"}`, ""},
		{`{"content":[]}`, ""},
		{`{"task":{"taskId":"` + strings.Repeat("i", MaxTaskID) + `"}}`, ""},
		{``, ""},
	} {
		if id, ok := CreatedTask([]byte(c.result)); id != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.result, id, ok, c.want)
		}
	}
}

func TestTakesTasks(t *testing.T) {
	for capabilities, want := range map[string]bool{
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`: true,
		`{"extensions":{"tasks":{}}}`:                         false,
		`{"tasks":{"list":{}}}`:                               false,
		`{}`:                                                  false,
		``:                                                    false,
	} {
		if got := TakesTasks([]byte(capabilities)); got != want {
			t.Errorf("%s: %v", capabilities, got)
		}
	}
}

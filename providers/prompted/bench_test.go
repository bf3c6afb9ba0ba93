package prompted

import (
	"strings"
	"testing"
)

// The text arrives in tokens of about four bytes.
func BenchmarkScanner(b *testing.B) {
	long := `<tool_call>{"name": "get_weather", "arguments": {"location": "` + strings.Repeat("Paris, ", 1000) + `"}}</tool_call>`
	for _, c := range []struct{ name, text string }{
		{"text", strings.Repeat("It is sunny in Paris, `72°F`, and <b>dry</b>; see [1].\n", 200)},
		{"calls", strings.Repeat("I look.\n<tool_call>\n"+paris+"\n</tool_call>\n", 100)},
		{"long call", long},
		{"unclosed", strings.Repeat("<function=add><parameter=a></function>", 400)},
		{"hostile", strings.Repeat(`<tool_call>{"arguments":'`, 400)},
	} {
		b.Run(c.name, func(b *testing.B) {
			tokens := portions(c.text, []byte{3})
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				s := newTestScanner(1<<20, func(piece) {})
				for _, token := range tokens {
					s.write(token)
				}
				s.close()
			}
		})
	}
}

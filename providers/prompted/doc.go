// Package prompted gives tools to models without native tool calling: the system prompt
// describes the tools, the model writes its calls as text, and their results go back as text.
//
// Families of models write calls in different grammars (families.go). The one of a model is found by
// its name, or named by Options.Grammar: in it the prompt asks for calls, and calls and results of
// earlier turns are written. Models that no grammar names get that of Hermes,
// <tool_call>{"name", "arguments"}, which most open models know. All grammars are read from every
// model, as are the other forms that models write (form.go): those of AbstractLLM and its tool_use,
// blocks of code and bare JSON. Only the plain ones, whose marks are words that occur in any text,
// are read from models of their own family alone.
//
// # Adding a family
//
// A family of models is a row of grammars: the name for the config, parts of the models' names, the
// marks around a call and around all calls of a turn, and templates for what is between them and for
// results (render.go). A row is enough if the marks enclose one of the shapes that are read:
//
//   - JSON with a name and arguments, or {"name": {arguments}}, or a list of them (call.go)
//   - f(a=1) of Python, or a list (lenient.go)
//   - f{"a": 1}, also with an argument mark or a number between (match_named.go)
//   - f<arg_key>a</arg_key><arg_value>1</arg_value> of GLM, and elements such as <invoke name="f">
//     with <parameter name="a">, which are rows of allTags (match_tagged.go)
//   - call:f{a:1} of Gemma (match_braced.go)
//
// Then add its name to grammars in cmd/mcpbridge/config, a file of texts to testdata/families, and run
// go test -update: TestFamilies shows what is read, TestLoop what the model is sent. TestWritten
// demands that what is written can be read, TestNoCalls that none of 200 texts about calls makes one.
// A form that is never written is a row of variants.
//
// Precision comes first. What is only quoted is text: in code spans, block quotes, indented code,
// strings, comments, and blocks of code that are not a form (place.go, fence.go, quote.go). Indented
// calls that end a reply are the exception, where the row of the model's grammar says that its marks are
// special tokens (trial.go). A call
// that is cut does not run. In a form that is marked, an unknown name makes a call that the loop
// answers with the names that exist; elsewhere it is text. In results each mark of a form is
// escaped, so that a model that repeats a result does not make a call.
//
// # How a reply is read
//
// A reply arrives in pieces of any size. Its text must be passed on at once, but not the text
// of a call. So a scanner (scanner.go) holds text back only from a byte with which a call may
// begin: one of < | [, a { at the start of a line, or one of ` t T, or the first byte of a plain
// mark of the model's grammar, after nothing but white space in its line, and never in fenced code.
// What is held back is matched from its first byte against all forms of calls (match.go), as a window
// of up to Options.MaxCall bytes that is final if no more will be added. A match returns a finding
// about the first n bytes of the window:
//
//   - undecided: they may begin a call. The scanner waits for more text and matches again.
//   - notCall: they are text. The scanner emits them and continues after them. A call at a
//     place that is quoted is text as a whole: its own quotation marks do not end the quotation.
//   - isCall: they are calls. The scanner emits them and, in the mode afterCall, looks for
//     the end of the form or for another call in it.
//   - isThought: thinking begins. In the mode inThought all is thinking up to </think>.
//   - isMarkup: they are a header of harmony or the like, neither text nor a call, and are dropped.
//   - madeUp: the model writes a result itself. The rest of the reply is ignored.
//
// As a window is matched again after each piece, some state keeps the total time linear. For
// the value in the window, brackets has the offset up to which it was scanned and what is open
// there, and searched is the offset up to which the end of the form was searched for. Both are
// reset once a window is decided. wasted counts the bytes that turned out to be text: beyond
// a limit that only a malicious text reaches, everything is taken for text.
//
// A match has these steps. A form is found by its opener, a block of code by its language
// (form.go); bare JSON is a strict form, in which a call needs arguments. Within the form
// there is one of the shapes above. The first keys of JSON show early whether it can be a call (call.go), so
// that other JSON is not held back. brackets finds the end of the value; if the form ends before,
// the open brackets are closed. lenient.go parses Python and what is almost JSON, call.go finds
// the names and arguments in it, and name.go the tools that the names mean. Arguments that cannot
// be parsed, are cut or have an unknown place become a string, of which the model is told.
//
// Whether a call is quoted is known before it, but for a mark that is still open where its paragraph
// ends: a quotation may go on, or the mark is a lone one. A call behind it is doubtful. The scanner
// holds it back and reads on as if it were quoted. If the mark is closed, it is; if another one
// opens or the reply ends, the scanner goes back to the call and emits it. Indented calls in special
// tokens are held back too, for a trial: a scanner of their own reads them and what follows, until that
// is more than one form with calls and white space, or the reply ends.
//
// The scanner drops white space between a call and the start or end of a reply.
//
// # Other files
//
// prompted.go is the Provider, prompt.go its requests: the system prompt, and the way of calls
// and results back to the model. harmony.go reads the messages of gpt-oss. check.go refuses arguments that a tool does not list. The package
// has no goroutines; a scanner belongs to one turn.
package prompted

// Package secret keeps secrets in sealed files for this user.
//
// A [Store] is one file, which is sealed with AES-256-GCM and replaced as a whole by each change. Its
// key lies in the system's keychain where there is one, else in a file beside it, or comes from
// MCPBRIDGE_SECRET_KEY; the first line of the file says where. Long values are thereby no matter of the
// keychain, which on some systems bounds their size.
//
// Files: store.go (the Store), seal.go (the format of the file), key.go (where its key is), keychain*.go
// (the system's keychain, with a bounded wait).
package secret

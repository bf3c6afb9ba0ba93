// Package auth says who may come in: it makes the credentials of a request an Identity.
//
// # Files
//
//	auth     Authenticator: from credentials to an identity; Any of several; Refusal
//	tokens   bearer tokens that are known beforehand, of which hashes are enough
package auth

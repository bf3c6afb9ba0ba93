// Package auth says who may come in: it makes the credentials of a request an Identity.
//
// # Files
//
//	auth           Authenticator: from credentials to an identity; Any of several; Refusal
//	tokens         bearer tokens that are known beforehand, of which hashes are enough
//	oauth          access tokens of an issuer, which are JWTs
//	operator       whoever runs the bridge, in a browser: tickets and cookies
//	keys           the public keys of an issuer, and when they are fetched
//	certificates   certificates of TLS clients
package auth

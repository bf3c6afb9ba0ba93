// Package httpapi holds what kinds of native tool share that speak to an API over HTTP:
//
//   - config.go, header.go: Config, where the API is and with which credentials and headers
//   - client.go: Client, which sends requests to that API and nowhere else
//   - answer.go, away.go: the results of failed answers and the errors of missing ones
//   - secrets.go: the credentials of a config, which no answer may repeat
//
// A Client may be used from many goroutines and starts none; [Client.Close] closes its idle
// connections. What is not about HTTP is in bridge/internal/native.
package httpapi

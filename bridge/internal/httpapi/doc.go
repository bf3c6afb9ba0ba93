// Package httpapi holds what kinds of native tool share that speak to an API over HTTP:
//
//   - config.go: Config, where the API is
//   - header.go: its headers and credentials, which no result may repeat
//   - credentials.go: those that a request is sent with, where the config has not all
//   - client.go: Client, which sends requests to that API and nowhere else, perhaps again
//   - answer.go: the results of failed answers and the errors of missing ones
//
// A Client may be used from many goroutines and starts none; [Client.Close] closes its idle
// connections. What is not about HTTP is in bridge/internal/native.
package httpapi

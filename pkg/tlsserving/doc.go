// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tlsserving serves the handler of an API server over TLS, and ends connections of HTTP/2
// in two steps.
//
// The servers of Go's libraries tell the client of a connection in one step (GOAWAY with the last
// stream that they know) that it ends: what the client sends in that moment is not answered. A
// client that still has the body sends it again elsewhere. One that has passed it on, as
// kube-apiserver does with what it aggregates, has not, and answers 503.
//
// Guarantees: a server that is stopped first tells its clients to open no more streams, which
// none takes for the end of one (RFC 9113, 6.8), and answers what comes until they had time to
// read it. Only then connections end. Certificates, authorities, versions, ciphers and limits are
// those that the API server library would serve with, and its metric of failed handshakes counts.
package tlsserving

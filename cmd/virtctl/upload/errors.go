// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
)

// statusError is an unsuccessful response.
type statusError struct {
	code int
	err  error
}

// Error implements error.
func (e *statusError) Error() string { return e.err.Error() }

// refusedError is a permanent error.
type refusedError struct{ err error }

// Error implements error.
func (e *refusedError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *refusedError) Unwrap() error { return e.err }

// expiredError is returned when the update session has expired in vCenter.
type expiredError struct{ err error }

// Error implements error.
func (e *expiredError) Error() string { return "the update session has expired" }

// Unwrap returns the cause.
func (e *expiredError) Unwrap() error { return e.err }

// codes are the HTTP statuses that are handled differently.
var codes = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests,
	http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// passing are the statuses of servers that are starting, stopping or overloaded, and of an expired login.
var passing = []int{
	http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// status returns the status of the response in err, or 0 for other errors.
func status(err error) int {
	for ; err != nil; err = errors.Unwrap(err) {
		var s *statusError
		if errors.As(err, &s) {
			return s.code
		}
		if i := slices.IndexFunc(codes, func(code int) bool { return rest.IsStatusError(err, code) }); i >= 0 {
			return codes[i]
		}
	}
	return 0
}

// temporary reports whether a retry may succeed: after a connection error or if the server is unavailable.
func temporary(err error) bool {
	var refused *refusedError
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &refused) || errors.As(err, &untrusted) {
		return false
	}
	var connection *url.Error
	return slices.Contains(passing, status(err)) || errors.As(err, &connection) || errors.Is(err, context.DeadlineExceeded)
}

// classes matches error names in responses (com.vmware.vapi.std.errors).
var classes = regexp.MustCompile(`com\.vmware\.vapi\.std\.errors\.([a-z_]+)`)

// class returns the error name in vCenter's response.
func class(err error) string {
	if found := classes.FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return ""
}

// explain converts a structured error of vCenter into readable text.
func explain(err error) error {
	text := err.Error()
	switch {
	case status(err) == http.StatusForbidden || class(err) == "unauthorized":
		before, _, _ := strings.Cut(text, ": POST ")
		return fmt.Errorf("%s: the account lacks a privilege: it needs the Content Library privileges to add and update library items", before)
	}
	at := strings.Index(text, "{")
	if at < 0 || class(err) == "" {
		return err
	}
	var answer struct {
		Value struct {
			Messages []rest.LocalizableMessage `json:"messages"`
		} `json:"value"`
	}
	if json.NewDecoder(strings.NewReader(text[at:])).Decode(&answer) != nil {
		return err
	}
	words := []string{strings.TrimSuffix(strings.TrimSpace(text[:at]), ": 400 Bad Request:")}
	for _, m := range answer.Value.Messages {
		words = append(words, m.DefaultMessage)
	}
	return errors.New(strings.Join(append(words, strings.ReplaceAll(class(err), "_", " ")), ": "))
}

// said formats a message of vCenter as the end of a sentence.
func said(m *rest.LocalizableMessage) string {
	if m == nil || m.DefaultMessage == "" {
		return ""
	}
	return ": " + m.DefaultMessage
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

// RecordReviewFailures makes the authenticator and the authorizer of c record in the request that the management
// cluster did not answer a review. BuildHandlerChain then answers with status 503. The API server library would
// answer with 401, 403 or 500, which clients do not retry, and some of these messages contain addresses.
func RecordReviewFailures(c *genericapiserver.Config) {
	if a := c.Authentication.Authenticator; a != nil {
		c.Authentication.Authenticator = recordingAuthenticator{a}
	}
	if a := c.Authorization.Authorizer; a != nil {
		c.Authorization.Authorizer = recordingAuthorizer{a}
	}
}

type recordingAuthenticator struct{ authenticator.Request }

// AuthenticateRequest implements authenticator.Request.
func (a recordingAuthenticator) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	response, ok, err := a.Request.AuthenticateRequest(r)
	if err != nil && isReviewFailure(err) {
		recordReviewFailure(r.Context())
	}
	return response, ok, err
}

// isReviewFailure reports whether err means that a TokenReview was not answered. It is false if the token is not
// valid.
func isReviewFailure(err error) bool {
	var aggregate utilerrors.Aggregate
	if errors.As(err, &aggregate) {
		for _, e := range aggregate.Errors() {
			if isReviewFailure(e) {
				return true
			}
		}
		return false
	}
	var connection *url.Error
	var status apierrors.APIStatus
	return errors.As(err, &connection) || errors.As(err, &status) || errors.Is(err, context.DeadlineExceeded)
}

type recordingAuthorizer struct{ authorizer.Authorizer }

// Authorize implements authorizer.Authorizer.
func (a recordingAuthorizer) Authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := a.Authorizer.Authorize(ctx, request)
	if err != nil && decision != authorizer.DecisionAllow {
		recordReviewFailure(ctx)
	}
	return decision, reason, err
}

// reviewFailureKey is the context key of an *atomic.Bool.
type reviewFailureKey struct{}

func recordReviewFailure(ctx context.Context) {
	if failed, ok := ctx.Value(reviewFailureKey{}).(*atomic.Bool); ok {
		failed.Store(true)
	}
}

// withReviewFailures replaces refusals by status 503 if a review failed for the request.
func withReviewFailures(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &reviewAnswer{ResponseWriter: w, request: r}
		r = r.WithContext(context.WithValue(r.Context(), reviewFailureKey{}, &answer.failed))
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(answer), r)
	})
}

// reviewAnswer is a response writer that replaces refusals if a review failed.
type reviewAnswer struct {
	http.ResponseWriter
	request *http.Request
	failed  atomic.Bool
	// replaced is true after the response has been replaced.
	replaced bool
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *reviewAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *reviewAnswer) WriteHeader(code int) {
	refused := code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusInternalServerError
	if !refused || !a.failed.Load() {
		a.ResponseWriter.WriteHeader(code)
		return
	}
	a.replaced = true
	unavailable := apierrors.NewServiceUnavailable("the management cluster did not answer whether the request is allowed; try again")
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	responsewriters.ErrorNegotiated(unavailable, scheme.Codecs, schema.GroupVersion{Version: "v1"}, a.ResponseWriter, a.request)
}

// Write implements http.ResponseWriter.
func (a *reviewAnswer) Write(data []byte) (int, error) {
	if a.replaced {
		return len(data), nil
	}
	return a.ResponseWriter.Write(data)
}

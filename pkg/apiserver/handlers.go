// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine/storage"
)

// BuildHandlerChain is the usual chain around handlers that know the user agent, which
// subresources record in managed fields, and the patch. RecordReviewFailures completes it.
func BuildHandlerChain(api http.Handler, c *genericapiserver.Config) http.Handler {
	withAgent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(storage.WithUserAgent(r.Context(), r.UserAgent())))
	})
	return withReviewFailures(genericapiserver.DefaultBuildHandlerChain(withChecks(withoutCopies(withAgent)), c))
}

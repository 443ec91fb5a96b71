// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine/storage"
)

// BuildHandlerChain returns the default handler chain with additions: the user agent, which subresources record in
// managed fields, checks of the request and of patches, and Cache-Control for consoles. Use it together with
// RecordReviewFailures.
func BuildHandlerChain(api http.Handler, c *genericapiserver.Config) http.Handler {
	withAgent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(storage.WithUserAgent(r.Context(), r.UserAgent())))
	})
	return withReviewFailures(genericapiserver.DefaultBuildHandlerChain(withChecks(withNoStore(withAgent)), c))
}

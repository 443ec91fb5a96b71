// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
)

// withFrontProxyKnown lets whoever shows a certificate come again in a second until the
// server knows how kube-apiserver, the front proxy, shows whose request it passes on.
// The server reads that from the host cluster after it began to listen; until then it
// would take all users for system:anonymous, and refuse for good what it must only not
// do yet. Without a host cluster proxy is nil, and nobody waits.
func withFrontProxyKnown(next http.Handler, proxy *authenticatorfactory.RequestHeaderConfig) http.Handler {
	if proxy == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || known(proxy) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the server is starting: it has not read yet how kube-apiserver identifies users "+
			"(requestheader-client-ca-file and requestheader-username-headers in ConfigMap kube-system/extension-apiserver-authentication)",
			http.StatusServiceUnavailable)
	})
}

// known is true when a request of the front proxy would be taken for its user's.
func known(proxy *authenticatorfactory.RequestHeaderConfig) bool {
	_, ok := proxy.CAContentProvider.VerifyOptions()
	return ok && len(proxy.UsernameHeaders.Value()) > 0
}

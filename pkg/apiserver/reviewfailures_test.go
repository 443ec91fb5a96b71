// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

const (
	tokenReviews  = "/apis/authentication.k8s.io/v1/tokenreviews"
	accessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
)

// reviews answers reviews like a management cluster that knows every token except "unknown" and allows alice
// everything except objects named "secret".
func reviews(t *testing.T, w http.ResponseWriter, r *http.Request) {
	var answer any
	switch r.URL.Path {
	case tokenReviews:
		review := &authenticationv1.TokenReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil {
			t.Error(err)
		}
		if review.Spec.Token == "unknown" {
			review.Status.Error = "invalid bearer token"
		} else {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: review.Spec.Token}}
		}
		answer = review
	case accessReviews:
		review := &authorizationv1.SubjectAccessReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil {
			t.Error(err)
		}
		review.Status.Allowed = review.Spec.User == "alice" && (review.Spec.ResourceAttributes == nil || review.Spec.ResourceAttributes.Name != "secret")
		answer = review
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		t.Error(err)
	}
}

// reviewed returns a handler that authenticates and authorizes with host as the server does.
func reviewed(t *testing.T, host *httptest.Server, api http.HandlerFunc) http.Handler {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"` + host.URL + `"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	once := &wait.Backoff{Steps: 1}
	config := genericapiserver.NewConfig(scheme.Codecs)
	config.FeatureGate = utilfeature.DefaultFeatureGate
	config.RequestInfoResolver = genericapiserver.NewRequestInfoResolver(config)
	authentication := genericoptions.NewDelegatingAuthenticationOptions()
	authentication.SkipInClusterLookup, authentication.RemoteKubeConfigFile, authentication.WebhookRetryBackoff = true, kubeconfig, once
	if err := authentication.ApplyTo(&config.Authentication, nil, nil); err != nil {
		t.Fatal(err)
	}
	authorization := genericoptions.NewDelegatingAuthorizationOptions()
	authorization.RemoteKubeConfigFile, authorization.WebhookRetryBackoff = kubeconfig, once
	if err := authorization.ApplyTo(&config.Authorization); err != nil {
		t.Fatal(err)
	}
	RecordReviewFailures(config)
	return BuildHandlerChain(api, config)
}

func TestReviewFailures_AreTemporaryAndHideTheManagementCluster(t *testing.T) {
	t.Parallel()
	const object = "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachines/web"
	for failure, fail := range map[string]http.HandlerFunc{
		"429": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"500":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"401":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"403":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"dropped": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		for name, tc := range map[string]struct {
			fails, token, impersonate, path string
			code                            int
		}{
			"allowed":                            {"", "alice", "", object, http.StatusOK},
			"denied":                             {"", "bob", "", object, http.StatusForbidden},
			"token unknown":                      {"", "unknown", "", object, http.StatusUnauthorized},
			"impersonation denied":               {"", "bob", "alice", object, http.StatusForbidden},
			"authorizer fails":                   {accessReviews, "alice", "", object, http.StatusServiceUnavailable},
			"authorizer fails for anonymous":     {accessReviews, "", "", "/version", http.StatusServiceUnavailable},
			"authorizer fails for impersonation": {accessReviews, "alice", "bob", object, http.StatusServiceUnavailable},
			"authorizer fails, not needed":       {accessReviews, "", "", "/livez", http.StatusOK},
			"authenticator fails":                {tokenReviews, "alice", "", object, http.StatusServiceUnavailable},
		} {
			t.Run(name+"/"+failure, func(t *testing.T) {
				t.Parallel()
				host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == tc.fails {
						fail(w, r)
						return
					}
					reviews(t, w, r)
				}))
				defer host.Close()
				handler := reviewed(t, host, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
				w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tc.path, nil)
				if tc.token != "" {
					r.Header.Set("Authorization", "Bearer "+tc.token)
				}
				if tc.impersonate != "" {
					r.Header.Set("Impersonate-User", tc.impersonate)
				}
				handler.ServeHTTP(w, r)
				body := w.Body.String()
				if w.Code != tc.code || strings.Contains(body, "127.0.0.1") {
					t.Fatalf("got status %d %s, want %d without an address", w.Code, body, tc.code)
				}
				if tc.code != http.StatusServiceUnavailable {
					return
				}
				status := &metav1.Status{}
				if err := json.Unmarshal([]byte(body), status); err != nil || status.Reason != metav1.StatusReasonServiceUnavailable || w.Header().Get("Retry-After") != "1" {
					t.Errorf("body %q (%v) with headers %v, want one Status ServiceUnavailable and Retry-After 1", body, err, w.Header())
				}
			})
		}
	}
}

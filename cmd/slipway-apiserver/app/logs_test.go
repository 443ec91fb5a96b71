// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// The log of client-go's own requests is looked at, so that a new wording of it shows.
func TestNoLevelOfLoggingShowsSecretsOrTokens(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			_, _ = io.Copy(w, r.Body)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"Secret","apiVersion":"v1","stringData":{"password":"hunter2"}}`)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, BearerToken: "mellon", ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(&out))).GetSink()
	ctx := klog.NewContext(t.Context(), withoutBodies(sink).WithName("test").WithValues("key", "value"))

	if _, err := client.CoreV1().Secrets("n").Get(ctx, "s", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "sesame"}}
	if _, err := client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "mellon", "sesame", "68 75 6e 74 65 72", "73 65 73 61 6d 65"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, out.String())
		}
	}
	for _, want := range []string{`"Response Body" logger="test" key="value" body="withheld"`, `"Request Body"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %q, so that it shows less than it may, or nothing was tried:\n%s", want, out.String())
		}
	}
}

func TestLinesNameTheirOwnSource(t *testing.T) {
	var out bytes.Buffer
	sink := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))).GetSink()
	withoutBodies(sink).Info("hello", "body", "shown")
	if got := out.String(); !strings.Contains(got, " logs_test.go:") || !strings.Contains(got, `body="shown"`) {
		t.Errorf("line %q, want one from logs_test.go that shows its values", got)
	}
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/grpc"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// The test uses client-go's own log lines, so that it fails when their text changes.
func TestLogs_ShowNoSecretsOrTokens(t *testing.T) {
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

func TestLogs_ReportTheSourceOfALine(t *testing.T) {
	var out bytes.Buffer
	sink := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))).GetSink()
	withoutBodies(sink).Info("hello", "body", "shown")
	if got := out.String(); !strings.Contains(got, " logs_test.go:") || !strings.Contains(got, `body="shown"`) {
		t.Errorf("line %q, want one from logs_test.go that shows its values", got)
	}
}

// clientLogs is set in the process whose log TestLog_OfTheEtcdClientHasTheFormatOfTheServer reads.
const clientLogs = "SLIPWAY_TEST_ETCD_CLIENT_LOGS"

func TestLog_OfTheEtcdClientHasTheFormatOfTheServer(t *testing.T) {
	if os.Getenv(clientLogs) != "" {
		probeUnimplemented(t)
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), clientLogs+"=1")
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), `] "Warning of the etcd client: retrying of unary invoker failed" attempt=`) {
		t.Errorf("the warning is not in the log:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "{") {
			t.Errorf("a line is JSON: %s", line)
		}
	}
}

// probeUnimplemented probes a server that is not an etcd, as the server probes its store.
func probeUnimplemented(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	config := *storagebackend.NewDefaultConfig("/test", nil)
	config.Transport.ServerList = []string{"http://" + listener.Addr().String()}
	prober, err := factory.CreateProber(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = prober.Close() }()
	if err := prober.Probe(t.Context()); err == nil {
		t.Error("a server that is not an etcd answers the probe")
	}
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// hostThatHolds blocks reads of the authorities of users from the management cluster while slipway-apiserver starts.
// The server can check that they exist, but cannot read them until release is called.
func (s *scene) hostThatHolds() (letGo func()) {
	s.Helper()
	path := ""
	for _, argument := range s.arguments(slipway) {
		if value, ok := strings.CutPrefix(argument, "--authentication-kubeconfig="); ok {
			path = value
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		s.Fatal(err)
	}
	host, err := url.Parse(config.Host)
	if err != nil {
		s.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		s.Fatal(err)
	}
	held := make(chan struct{})
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(host) }, Transport: transport, FlushInterval: -1}
	// Watches that begin while the server closes would prevent it from closing.
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/namespaces/kube-system/configmaps" { // a list or a watch
			select {
			case <-held:
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	s.Cleanup(func() { cancel(); server.Close() })
	through := clientcmdapi.NewConfig()
	through.Clusters["host"] = &clientcmdapi.Cluster{Server: server.URL}
	through.Contexts["host"], through.CurrentContext = &clientcmdapi.Context{Cluster: "host"}, "host"
	if err := clientcmd.WriteToFile(*through, path); err != nil {
		s.Fatal(err)
	}
	return sync.OnceFunc(func() { close(held) })
}

// The server listens after a short wait for the authorities of users. A client that connects earlier is not treated
// as system:anonymous.
func TestStart_ListensAfterTheAuthoritiesAreRead(t *testing.T) {
	t.Parallel()
	const list = "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachines"
	s := newScene(t)
	direct := s.direct("")
	letGo := s.hostThatHolds()
	t.Cleanup(letGo)
	if err := s.KillSlipway(); err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() { started <- s.RestartSlipway(t.Context()) }()
	answers := 0
	s.eventually("users get a Retry-After answer", func() error {
		switch code, again, text := s.ask(direct, list); {
		case code == 0:
			return fmt.Errorf("no answer: %s", text)
		case code != http.StatusServiceUnavailable || !again:
			t.Fatalf("the response to an administrator is %d, Retry-After %t: %s", code, again, text)
		}
		if answers++; answers < 20 {
			return fmt.Errorf("%d times", answers)
		}
		return nil
	})
	letGo()
	s.eventually("they are served", func() error {
		code, again, text := s.ask(direct, list)
		if code != http.StatusOK && (code != http.StatusServiceUnavailable || !again) {
			t.Fatalf("the response to an administrator is %d, Retry-After %t: %s", code, again, text)
		}
		if code != http.StatusOK {
			return fmt.Errorf("%d: %s", code, text)
		}
		return nil
	})
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

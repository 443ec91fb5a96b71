// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// partition is a proxy in front of etcd that can stop forwarding data, like a network that drops packets: connections
// stay open and nothing arrives.
type partition struct {
	listener net.Listener
	mu       sync.RWMutex // locked while nothing is forwarded
}

func newPartition(t *testing.T, socket string) *partition {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &partition{listener: l}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				return
			}
			go p.pass(client, server)
			go p.pass(server, client)
		}
	}()
	return p
}

func (p *partition) pass(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.RLock()
		_, err = to.Write(buffer[:n])
		p.mu.RUnlock()
		if err != nil {
			return
		}
	}
}

// answer is the response to a GET. closes is true for the header Connection: close, which only HTTP/1.1 has. reused is
// true if the connection was already open.
type answer struct {
	code             int
	retryAfter, body string
	closes, reused   bool
}

func fetch(ctx context.Context, client *http.Client, url string) (a answer, err error) {
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { a.reused = c.Reused }}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, url, nil)
	if err != nil {
		return a, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	a.code, a.retryAfter, a.closes, a.body = resp.StatusCode, resp.Header.Get("Retry-After"), resp.Close, string(body)
	return a, err
}

func TestStoreHealth_SendsClientsAwayWhileEtcdIsCutOff(t *testing.T) {
	t.Parallel()
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	p := newPartition(t, strings.TrimPrefix(etcd.Endpoint(), "unix://"))
	s := framework.StartStandaloneIn(t, "", func(o *app.Options) {
		o.EtcdUnsafeNoFsync = false
		o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{"http://" + p.listener.Addr().String()}
	})
	for _, protocol := range []string{"h2", "http/1.1"} {
		t.Run(protocol, func(t *testing.T) { cutOff(t, p, s, protocol) })
	}
}

func cutOff(t *testing.T, p *partition, s *framework.Server, protocol string) {
	t.Helper()
	config := s.Config()
	config.NextProtos = []string{protocol}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	objects := config.Host + "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachineclasses"
	becomes := func(what string, is func(answer) bool) {
		t.Helper()
		var last answer
		if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			var err error
			last, err = fetch(ctx, client, objects+"/absent")
			return err == nil && is(last), nil
		}); err != nil {
			t.Fatalf("%s: %v; last %+v", what, err, last)
		}
	}
	served := func(a answer) bool { return a.code == http.StatusNotFound && !a.closes && a.reused }
	becomes("before the cut", served)

	ended := make(chan error, 2)
	watch, err := client.Get(objects + "?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := io.Copy(io.Discard, watch.Body)
		ended <- err
	}()
	p.mu.Lock()
	heal := sync.OnceFunc(p.mu.Unlock)
	defer heal()
	go func() {
		a, err := fetch(t.Context(), client, objects+"/absent")
		switch {
		case err == nil && a.code < http.StatusInternalServerError:
			err = fmt.Errorf("a request that was in progress is answered %+v", a)
		// A race in the library: the response is 504 or 500, or the connection ends (with HTTP/2 the stream).
		case err == nil || closed(err) || strings.Contains(err.Error(), "INTERNAL_ERROR"):
			err = nil
		}
		ended <- err
	}()
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for range 3 {
		a, err := fetch(t.Context(), client, objects+"/absent")
		if err != nil || a.code != http.StatusServiceUnavailable || a.retryAfter != "1" || !strings.Contains(a.body, "etcd has not answered for 3s") {
			t.Errorf("while etcd is cut off: %+v, %v", a, err)
		}
		if protocol == "http/1.1" && !a.closes {
			t.Errorf("an answer does not close its connection: %+v", a)
		}
	}
	becomes("each answer closes its connection", func(a answer) bool { return a.code == http.StatusServiceUnavailable && !a.reused })
	heal()
	becomes("after the cut", served)
}

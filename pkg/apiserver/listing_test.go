// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

func TestInformers_BeginWithAList(t *testing.T) {
	requests := make(chan *http.Request, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case requests <- r:
		default: // only the first request is checked
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	client, err := versioned.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	informers := externalversions.NewSharedInformerFactory(WithoutWatchList(client), 0)
	informers.Vm().V1alpha1().VirtualMachines().Informer()
	stop := make(chan struct{})
	informers.Start(stop)
	defer informers.Shutdown()
	defer close(stop)
	select {
	case r := <-requests:
		if q := r.URL.Query(); q.Get("watch") != "" || q.Get("sendInitialEvents") != "" {
			t.Errorf("the first request is %s, want a list", r.URL)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the informer sent no request")
	}
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// listing is a server without streaming lists and Nodes whose watches are told by events; what is
// asked of Namespaces, namespaces answers.
func listing(t *testing.T, events, namespaces http.HandlerFunc) *hostile {
	return newHostile(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
		case r.URL.Query().Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusBadRequest)
		case strings.HasSuffix(r.URL.Path, "/namespaces"):
			namespaces(w, r)
		case r.URL.Query().Get("watch") != "":
			w.Header().Set("Content-Type", "application/json")
			events(w, r)
		default:
			write(w, &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
		}
	})
}

func hang(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// event tells of Node i.
func event(w http.ResponseWriter, kind string, i int) {
	_, _ = fmt.Fprintf(w, `{"type":%q,"object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d","resourceVersion":"%d"}}}`+"\n", kind, i, i+2)
}

func TestNodesCountHoweverTheyAreTold(t *testing.T) {
	var told atomic.Int32
	for name, events := range map[string]http.HandlerFunc{
		"as modified": func(w http.ResponseWriter, r *http.Request) {
			for i := range maxNodes + 1 {
				event(w, "MODIFIED", i)
			}
			hang(w, r)
		},
		"in several watches": func(w http.ResponseWriter, r *http.Request) {
			for range maxNodes/2 + 1 {
				event(w, "ADDED", int(told.Add(1)))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := listing(t, events, hang)
			c, err := s.connect(t, onLoopback, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.breaks(t, c); !strings.Contains(err.Error(), "more than 10000 Nodes") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

func TestNamespacesWithoutEndEndTheConnection(t *testing.T) {
	list := &corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}, ListMeta: metav1.ListMeta{Continue: "more", ResourceVersion: "1"}}
	large := list.DeepCopy()
	large.Items = []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": strings.Repeat("x", maxNamespace)}}}}
	for want, give := range map[string]*corev1.NamespaceList{"pages": list, "may have 16384": large} {
		s := listing(t, hang, func(w http.ResponseWriter, _ *http.Request) { write(w, give) })
		c, err := s.connect(t, onLoopback, s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Namespaces()
		if err := s.breaks(t, c); !strings.Contains(err.Error(), want) {
			t.Errorf("it ends with %v, want %s", err, want)
		}
	}
}

func TestWhatAServerRefusesWithIsBounded(t *testing.T) {
	long := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: strings.Repeat("x", 1<<20)}
	s := listing(t, hang, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		write(w, &long)
	})
	c, err := s.connect(t, onLoopback, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err == nil || len(err.Error()) > 2*maxRefusal {
		t.Errorf("the error has %d bytes", len(fmt.Sprint(err)))
	}
	watched, _ := (&crowd[*corev1.Node]{}).let(watch.Event{Type: watch.Error, Object: long.DeepCopy()})
	if status, ok := watched.Object.(*metav1.Status); !ok || len(status.Message) > 2*maxReason {
		t.Errorf("the error of a watch has %d bytes", len(status.Message))
	}
}

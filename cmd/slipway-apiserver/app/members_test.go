// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/pkg/apiserver"
)

func TestMembersAreThoseOfTheStatefulSet(t *testing.T) {
	set := func(replicas *int32, first int32, change func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: "slipway"}, Spec: appsv1.StatefulSetSpec{Replicas: replicas}}
		if first > 0 {
			s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: first}
		}
		if change != nil {
			change(s)
		}
		return s
	}
	for name, tc := range map[string]struct {
		set    *appsv1.StatefulSet
		own    string
		wanted string // of 0, 1, 2, 3, and another set's 2
		alone  bool
	}{
		"three":           {set(ptr.To[int32](3), 0, nil), "slipway-0", "yyyny", false},
		"one":             {set(ptr.To[int32](1), 0, nil), "slipway-2", "ynnny", true},
		"no number":       {set(nil, 0, nil), "slipway-0", "ynnny", true},
		"begins with one": {set(ptr.To[int32](2), 1, nil), "slipway-1", "nyyny", false},
		"is stopped":      {set(ptr.To[int32](0), 0, nil), "slipway-0", "yyyyy", false},
		"is being deleted": {set(ptr.To[int32](1), 0, func(s *appsv1.StatefulSet) {
			s.DeletionTimestamp = ptr.To(metav1.Now())
			s.Finalizers = []string{"f/f"}
		}), "slipway-0", "yyyyy", false},
		"another set":     {set(ptr.To[int32](1), 0, nil), "other-0", "yyyyy", false},
		"no pod of a set": {set(ptr.To[int32](1), 0, nil), "slipway", "yyyyy", false},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := wantedMembers(t.Context(), fake.NewClientset(tc.set), defaultNamespace, tc.own)
			if err != nil {
				t.Fatal(err)
			}
			if alone, err := aloneInSet(t.Context(), fake.NewClientset(tc.set), defaultNamespace, tc.own); err != nil || alone != tc.alone {
				t.Errorf("alone %t, %v, want %t", alone, err, tc.alone)
			}
			got := ""
			for _, member := range []string{"slipway-0", "slipway-1", "slipway-2", "slipway-3", "third-2"} {
				if wanted(member) {
					got += "y"
				} else {
					got += "n"
				}
			}
			if got != tc.wanted {
				t.Errorf("wanted %s, want %s", got, tc.wanted)
			}
		})
	}
}

func TestASetThatCannotBeReadMakesNoClusterSmaller(t *testing.T) {
	sets := appsv1.SchemeGroupVersion.WithResource("statefulsets").GroupResource()
	for name, tc := range map[string]struct {
		err  error
		fail bool
	}{
		"forbidden": {apierrors.NewForbidden(sets, "slipway", errors.New("no right")), false},
		"away":      {errors.New("connection refused"), true},
	} {
		host := fake.NewClientset()
		host.PrependReactor("get", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		wanted, err := wantedMembers(t.Context(), host, defaultNamespace, "slipway-0")
		if (err != nil) != tc.fail || err == nil && !wanted("slipway-9") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestWhereAMemberIsHasToBeSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(*Options)
		want string
	}{
		"nothing":         {func(*Options) {}, ""},
		"a host":          {func(o *Options) { o.Members = MemberOptions{"s-0", "s-0.peers.svc:2380"} }, ""},
		"an address":      {func(o *Options) { o.Members = MemberOptions{"s-0", "[::1]:2380"} }, ""},
		"no port":         {func(o *Options) { o.Members = MemberOptions{"s-0", "s-0.peers.svc"} }, `--etcd-peer-address "s-0.peers.svc": must be a host and a port`},
		"port 0":          {func(o *Options) { o.Members = MemberOptions{"s-0", "s-0:0"} }, "must be a host and a port"},
		"a URL":           {func(o *Options) { o.Members = MemberOptions{"s-0", "https://s-0:2380"} }, "must be a host and a port"},
		"a name alone":    {func(o *Options) { o.Members.Name = "s-0" }, "--etcd-name needs --etcd-peer-address"},
		"no name":         {func(o *Options) { o.Members = MemberOptions{"S 0", "s-0:2380"} }, `--etcd-name "S 0"`},
		"no host cluster": {func(o *Options) { o.Members = MemberOptions{"s-0", "s-0:1"}; o.Recommended.CoreAPI = nil }, "needs a host cluster"},
		"an external etcd": {func(o *Options) {
			o.Members = MemberOptions{"s-0", "s-0:1"}
			o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{"http://x"}
		}, "excludes --etcd-servers"},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			o.DataDir = t.TempDir()
			tc.set(o)
			err := errors.Join(o.validateMembers()...)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestReadinessSaysForWhatTheEmbeddedEtcdWaits(t *testing.T) {
	var w waiting
	for _, said := range []struct{ reason, want string }{
		{"", "waits for other members"}, {"nobody answers", "waits: nobody answers"}, {"", "waits for other members"},
	} {
		if said.reason != "" || w.reason.Load() != nil {
			w.say(said.reason)
		}
		got := httptest.NewRecorder()
		apiserver.Starting(w.String).ServeHTTP(got, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), said.want) {
			t.Errorf("after %q: %d %q, want %q", said.reason, got.Code, got.Body, said.want)
		}
	}
}

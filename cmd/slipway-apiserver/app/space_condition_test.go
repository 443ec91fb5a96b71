// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/apiservices"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// taken is a store of 100 MiB of which so much is taken.
func taken(mebibytes int64) *embedded.Space {
	return &embedded.Space{Size: mebibytes << 20, InUse: mebibytes << 20, Quota: 100 << 20, DiskFree: 1 << 30}
}

func TestReplicasShareTheConditionOfTheRoomOfTheirStores(t *testing.T) {
	c := &spaceCondition{replica: "a", members: func() []string { return []string{"a", "b"} }}
	said := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: "StorageSpace", Status: status, Reason: reason, Message: message}
	}
	room := said("True", "SpaceEnough", "a: the embedded etcd has room")
	scarce := said("False", "SpaceScarce", "a: the embedded etcd is nearly full: 80 MiB of the quota of 100 MiB, 80 MiB of it in use, 1024 MiB of disk free")
	for name, tc := range map[string]struct {
		was   *metav1.Condition
		space int64
		due   bool
		want  *metav1.Condition
	}{
		"the first one, with room":             {nil, 79, true, room},
		"the first one, without":               {nil, 80, true, scarce},
		"another has room, too":                {said("True", "SpaceEnough", "b: the embedded etcd has room"), 10, true, nil},
		"another has room":                     {said("True", "SpaceEnough", "b: the embedded etcd has room"), 80, false, scarce},
		"another has none":                     {said("False", "SpaceFull", "b: the embedded etcd is full"), 10, true, nil},
		"another has none, either":             {said("False", "SpaceScarce", "b: the embedded etcd is nearly full"), 80, true, nil},
		"one that is no member any more":       {said("False", "SpaceFull", "c: the embedded etcd is full"), 10, true, room},
		"it has room again":                    {said("False", "SpaceFull", "a: the embedded etcd is full"), 10, true, room},
		"it still has none":                    {said("False", "SpaceScarce", "a: the embedded etcd is nearly full"), 80, false, nil},
		"it still has none after a long time":  {said("False", "SpaceScarce", "a: the embedded etcd is nearly full"), 80, true, scarce},
		"it has less":                          {said("False", "SpaceFull", "a: the embedded etcd is full"), 80, false, scarce},
		"somebody has written something there": {said("Unknown", "Why", ""), 10, true, room},
	} {
		if diff := cmp.Diff(tc.want, c.next(tc.was, taken(tc.space), tc.due)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// theirs is an APIService that the host cluster takes for available.
func theirs(service string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1alpha1.vm.slipway.dev"},
		"spec":   map[string]any{"service": map[string]any{"namespace": defaultNamespace, "name": service}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}}},
	}}
}

func TestTheConditionIsLookedAtOftenOnlyWhileRoomIsScarce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kinds := map[schema.GroupVersionResource]string{apiservices.Resource: "APIServiceList"}
		host := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, theirs(serviceName))
		var refuse error
		host.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return refuse != nil, nil, refuse })
		c := &spaceCondition{
			objects: host, namespace: defaultNamespace, replica: "a", members: func() []string { return []string{"default"} },
		}
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "apiservices"}, "a", nil)
		for i, tc := range []struct {
			size          int64
			refuse        error
			after         time.Duration
			reads, writes int
			want          string
		}{
			0:  {10, nil, 0, 3, 1, "SpaceEnough"},
			1:  {10, nil, 0, 0, 0, "SpaceEnough"},
			2:  {10, nil, time.Hour, 3, 0, "SpaceEnough"},
			3:  {80, errors.New("the host cluster is away"), 0, 3, 1, "SpaceEnough"},
			4:  {80, nil, 0, 3, 1, "SpaceScarce"},
			5:  {81, nil, 0, 3, 0, "SpaceScarce"},
			6:  {81, nil, time.Hour, 3, 1, "SpaceScarce"},
			7:  {100, nil, 0, 3, 1, "SpaceFull"},
			8:  {10, forbidden, 0, 3, 1, "SpaceFull"},
			9:  {10, forbidden, 0, 0, 0, "SpaceFull"},
			10: {10, nil, time.Hour, 3, 1, "SpaceEnough"},
		} {
			time.Sleep(tc.after + time.Second)
			refuse = tc.refuse
			host.ClearActions()
			c.look(t.Context(), taken(tc.size))
			reads, writes := 0, 0
			for _, a := range host.Actions() {
				switch {
				case a.Matches("get", "apiservices"):
					reads++
				case a.Matches("patch", "apiservices/status"):
					writes++
				default:
					t.Errorf("step %d: %s of %s", i, a.GetVerb(), a.GetResource())
				}
			}
			is, err := apiservices.Read(t.Context(), host, "v1alpha1.vm.slipway.dev")
			if err != nil {
				t.Fatal(err)
			}
			if said := is.Condition("StorageSpace"); said == nil || said.Reason != tc.want || is.Condition("Available") == nil || reads != tc.reads || writes != tc.writes {
				t.Errorf("step %d: the condition %+v after %d reads and %d writes, want %s after %d and %d", i, said, reads, writes, tc.want, tc.reads, tc.writes)
			}
		}
	})
}

func TestWithAnExternalEtcdTheConditionOfBeforeIsTakenBack(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{apiservices.Resource: "APIServiceList"}
	host := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, theirs(serviceName))
	said := func() *metav1.Condition {
		is, err := apiservices.Read(t.Context(), host, "v1alpha1.vm.slipway.dev")
		if err != nil {
			t.Fatal(err)
		}
		return is.Condition("StorageSpace")
	}
	c := &spaceCondition{objects: host, namespace: defaultNamespace, replica: "a", members: func() []string { return nil }}
	external := &spaceCondition{objects: host, namespace: defaultNamespace, replica: "a"}
	external.look(t.Context(), nil)
	if got := said(); got != nil {
		t.Errorf("%+v where nothing was said before", got)
	}
	c.look(t.Context(), taken(99))
	external = &spaceCondition{objects: host, namespace: defaultNamespace, replica: "a"}
	external.look(t.Context(), nil)
	if got := said(); got == nil || got.Status != metav1.ConditionUnknown || got.Reason != "ExternalEtcd" || got.Message != "a: the room of an external etcd is not looked at" {
		t.Errorf("%+v with an external etcd", got)
	}
	host.ClearActions()
	external.look(t.Context(), nil)
	if n := len(host.Actions()); n != 0 {
		t.Errorf("%d requests when all is said", n)
	}
	c = &spaceCondition{objects: host, namespace: defaultNamespace, replica: "a", members: func() []string { return nil }}
	c.look(t.Context(), taken(10))
	if got := said(); got == nil || got.Status != metav1.ConditionTrue {
		t.Errorf("%+v with an embedded one again", got)
	}
}

func TestAnAPIServiceThatLeadsElsewhereGetsNoCondition(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{apiservices.Resource: "APIServiceList"}
	host := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, theirs("another"))
	c := &spaceCondition{
		objects: host, namespace: defaultNamespace, replica: "a", members: func() []string { return nil },
	}
	c.look(t.Context(), taken(99))
	for _, a := range host.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("%s of %s", a.GetVerb(), a.GetResource())
		}
	}
}

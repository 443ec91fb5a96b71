// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// The caches of the harness have no instance types and preferences.
// Behaviors F2, F7, F8, F13, F18, F19 of test/behaviours.
func TestReader_ReadsSourcesThatTheCacheLacksFromTheServer(t *testing.T) {
	object := metav1.ObjectMeta{Namespace: "ns", Name: "small"}
	cluster := metav1.ObjectMeta{Name: "small"}
	h := newHarness(t,
		&itv1alpha1.VirtualMachineInstancetype{ObjectMeta: object}, &itv1alpha1.VirtualMachineClusterInstancetype{ObjectMeta: cluster},
		&itv1alpha1.VirtualMachinePreference{ObjectMeta: object}, &itv1alpha1.VirtualMachineClusterPreference{ObjectMeta: cluster})
	for _, kind := range []instancetype.Kind{
		instancetype.KindInstancetype, instancetype.KindClusterInstancetype, instancetype.KindPreference, instancetype.KindClusterPreference,
	} {
		t.Run(string(kind), func(t *testing.T) {
			namespace := ""
			if kind.Namespaced() {
				namespace = "ns"
			}
			got, err := h.reader.Source(t.Context(), kind, namespace, "small")
			if err != nil || got.Kind != kind || got.Meta.Name != "small" || got.Meta.Namespace != namespace {
				t.Errorf("read %+v, %v; want small", got, err)
			}
			if _, err := h.reader.Source(t.Context(), kind, namespace, "gone"); !apierrors.IsNotFound(err) {
				t.Errorf("error %v, want NotFound", err)
			}
			h.api.fail["get "+kind.Resource()] = errTest
			if _, err := h.reader.Source(t.Context(), kind, namespace, "small"); !errors.Is(err, errTest) {
				t.Errorf("error %v, want the read error", err)
			}
		})
	}
	if _, err := h.reader.Source(t.Context(), "deployment", "ns", "small"); err == nil {
		t.Error("a deployment was read as an instance type")
	}
}

func TestReader_ReportsAnotherKindWithTheName(t *testing.T) {
	h := newHarness(t)
	object, cluster := metav1.ObjectMeta{Namespace: "ns", Name: "own"}, metav1.ObjectMeta{Name: "shared"}
	informers := externalversions.NewSharedInformerFactory(h.api, 0)
	it := informers.Instancetype().V1alpha1()
	reader := newObjectReader(h.api.InstancetypeV1alpha1(), informers, nil, nil)
	for indexer, o := range map[cache.Indexer]any{
		it.VirtualMachineInstancetypes().Informer().GetIndexer():        &itv1alpha1.VirtualMachineInstancetype{ObjectMeta: object},
		it.VirtualMachineClusterInstancetypes().Informer().GetIndexer(): &itv1alpha1.VirtualMachineClusterInstancetype{ObjectMeta: cluster},
		it.VirtualMachinePreferences().Informer().GetIndexer():          &itv1alpha1.VirtualMachinePreference{ObjectMeta: object},
		it.VirtualMachineClusterPreferences().Informer().GetIndexer():   &itv1alpha1.VirtualMachineClusterPreference{ObjectMeta: cluster},
	} {
		if err := indexer.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		kind, has instancetype.Kind
		name      string
	}{
		{instancetype.KindInstancetype, instancetype.KindClusterInstancetype, "shared"}, {instancetype.KindClusterInstancetype, instancetype.KindInstancetype, "own"},
		{instancetype.KindPreference, instancetype.KindClusterPreference, "shared"}, {instancetype.KindClusterPreference, instancetype.KindPreference, "own"},
	} {
		_, err := reader.Source(t.Context(), tc.kind, "ns", tc.name)
		if want := "set kind to " + tc.has.TypeName(); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s %s: %v, want %q", tc.kind, tc.name, err, want)
		}
	}
}

func TestReader_SuggestsASimilarName(t *testing.T) {
	absent := apierrors.NewNotFound(itv1alpha1.Resource("virtualmachineinstancetypes"), "u1.smal")
	cluster := func(name string) (*itv1alpha1.VirtualMachineClusterInstancetype, error) {
		if name != "u1.smal" {
			return nil, absent
		}
		return &itv1alpha1.VirtualMachineClusterInstancetype{}, nil
	}
	for name, tc := range map[string]struct {
		err       error
		names     []string
		elsewhere func(string) string
		want      string
	}{
		"a similar name":      {absent, []string{"u1.large", "u1.small"}, nil, absent.Error() + `, did you mean "u1.small"?`},
		"no similar name":     {absent, []string{"windows"}, nil, absent.Error()},
		"in the cluster":      {absent, []string{"u1.small"}, hintOtherKind(cluster, "VirtualMachineClusterInstancetype"), absent.Error() + "; there is a VirtualMachineClusterInstancetype of this name: set kind to VirtualMachineClusterInstancetype"},
		"another error":       {errTest, []string{"u1.small"}, nil, errTest.Error()},
		"not in the cluster":  {absent, nil, hintOtherKind(func(string) (int, error) { return 0, absent }, "X"), absent.Error()},
		"nothing is the same": {absent, []string{"u1.smal"}, nil, absent.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			err := addHint(tc.err, "u1.smal", func(labels.Selector) (all []*itv1alpha1.VirtualMachineInstancetype, _ error) {
				for _, n := range tc.names {
					all = append(all, &itv1alpha1.VirtualMachineInstancetype{ObjectMeta: metav1.ObjectMeta{Name: n}})
				}
				return all, nil
			}, tc.elsewhere)
			if err.Error() != tc.want || apierrors.IsNotFound(err) != apierrors.IsNotFound(tc.err) {
				t.Errorf("error %q, want %q", err, tc.want)
			}
		})
	}
	if err := addHint[*itv1alpha1.VirtualMachineInstancetype](nil, "x", nil, nil); err != nil {
		t.Errorf("error %v for an existing object", err)
	}
}

func TestReader_DecodesARevisionOnce(t *testing.T) {
	h := newHarness(t)
	h.revision("rev")
	read := func() *instancetype.DecodedRevision {
		t.Helper()
		captured, err := h.reader.Revision(t.Context(), "ns", "rev")
		if err != nil {
			t.Fatal(err)
		}
		return captured
	}
	first := read()
	if again := read(); again != first {
		t.Error("a revision that did not change was decoded again")
	}
	changed := first.Revision.DeepCopy()
	changed.ResourceVersion = "2"
	if err := h.revisionCache.Update(changed); err != nil {
		t.Fatal(err)
	}
	if again := read(); again == first || again.Revision.ResourceVersion != "2" {
		t.Error("the previous version of a changed revision is still used")
	}
	if _, err := h.reader.Revision(t.Context(), "ns", "gone"); !apierrors.IsNotFound(err) {
		t.Errorf("error %v of a revision that does not exist, want NotFound", err)
	}
}

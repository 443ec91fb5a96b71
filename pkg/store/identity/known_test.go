// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const namespace = "slipway-system"

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// fakeStore is a store whose state a function returns.
type fakeStore struct {
	now  func() (state, error)
	held string
}

func (s *fakeStore) read(context.Context) (state, string, error) {
	now, err := s.now()
	return now, s.held, err
}

func (s *fakeStore) hold(_ context.Context, reason string) error {
	s.held = reason
	return nil
}

// storeOf is a store that stays as it is.
func storeOf(s state) *fakeStore {
	return &fakeStore{now: func() (state, error) { return s, nil }}
}

// mine is a store in the etcd cluster "c".
func mine(revision int64) state { return state{id: "mine", cluster: "c", revision: revision} }

// data is that of a ConfigMap.
func data(id, revision string) map[string]string {
	return map[string]string{idKey: id, clusterKey: "c", revisionKey: revision}
}

func configMap(accept string, data map[string]string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Namespace: namespace}, Data: data}
	if accept != "" {
		m.Annotations = map[string]string{AcceptAnnotation: accept}
	}
	return m
}

// known returns the data of the ConfigMap, and its annotation.
func known(t *testing.T, host *fake.Clientset) (data map[string]string, accepted string) {
	t.Helper()
	m, err := host.CoreV1().ConfigMaps(namespace).Get(t.Context(), ConfigMapName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Data, m.Annotations[AcceptAnnotation]
}

func TestCompare_RecordsOnlyTheServedStore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before   *corev1.ConfigMap
		want     map[string]string
		accepted string // the annotation afterwards
		held     bool
		err      string // a part of the error; empty when it is served
	}{
		"none":                      {nil, data("mine", "50"), "", false, ""},
		"an empty ConfigMap":        {configMap("", nil), data("mine", "50"), "", false, ""},
		"without a cluster":         {configMap("", map[string]string{idKey: "mine", revisionKey: "40"}), data("mine", "50"), "", false, ""},
		"the same":                  {configMap("", data("mine", "50")), data("mine", "50"), "", false, ""},
		"an earlier revision":       {configMap("", data("mine", "40")), data("mine", "50"), "", false, ""},
		"another cluster":           {configMap("", map[string]string{idKey: "mine", clusterKey: "d", revisionKey: "40"}), data("mine", "50"), "", true, ""},
		"another store":             {configMap("", data("theirs", "40")), data("theirs", "40"), "", false, "the management cluster expects theirs"},
		"a later revision":          {configMap("", data("mine", "51")), data("mine", "51"), "", false, "was at 51 before"},
		"another store, accepted":   {configMap("mine", data("theirs", "40")), data("mine", "50"), "", true, ""},
		"later revision, accepted":  {configMap("mine", data("mine", "51")), data("mine", "50"), "", true, ""},
		"the same, accepted":        {configMap("mine", data("mine", "50")), data("mine", "50"), "", false, ""},
		"a third store is accepted": {configMap("other", data("theirs", "40")), data("theirs", "40"), "other", false, "the store is not served"},
		"same, third is accepted":   {configMap("other", data("mine", "40")), data("mine", "50"), "other", false, ""},
		"how to accept it":          {configMap("", data("theirs", "40")), data("theirs", "40"), "", false, "kubectl annotate configmap --overwrite -n slipway-system slipway-store slipway.dev/accept-store=mine"},
		"not a revision":            {configMap("", data("mine", "x")), data("mine", "x"), "", false, `slipway-system/slipway-store: revision "x": must be a number`},
	} {
		t.Run(name, func(t *testing.T) {
			host := fake.NewClientset()
			if tc.before != nil {
				host = fake.NewClientset(tc.before)
			}
			s := storeOf(mine(50))
			_, held, err := newGate(s, host, namespace).compare(t.Context())
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if (held != "") != tc.held || held != s.held {
				t.Errorf("the controllers wait because of %q, and the store has %q; want that they wait: %t", held, s.held, tc.held)
			}
			got, accepted := known(t, host)
			if diff := cmp.Diff(tc.want, got); diff != "" || accepted != tc.accepted {
				t.Errorf("the annotation is %q, want %q; data (-want +got):\n%s", accepted, tc.accepted, diff)
			}
		})
	}
}

func TestCompare_WritesNothingForAStoreThatDoesNotChange(t *testing.T) {
	t.Parallel()
	host := fake.NewClientset(configMap("", data("mine", "50")))
	if _, _, err := newGate(storeOf(mine(50)), host, namespace).compare(t.Context()); err != nil {
		t.Fatal(err)
	}
	onlyReads(t, host)
}

func onlyReads(t *testing.T, host *fake.Clientset) {
	t.Helper()
	for _, a := range host.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("%s in the management cluster", a.GetVerb())
		}
	}
}

func TestCompare_DoesNotTakeUnreadableForMissing(t *testing.T) {
	t.Parallel()
	host, broken := fake.NewClientset(), errors.New("no leader")
	_, _, err := newGate(&fakeStore{now: func() (state, error) { return state{}, broken }}, host, namespace).compare(t.Context())
	if !errors.Is(err, broken) || errors.Is(err, errRefused) {
		t.Errorf("a store that cannot be read: %v", err)
	}
	host.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(configMaps.GroupResource(), ConfigMapName, errors.New("no permission"))
	})
	_, _, err = newGate(storeOf(mine(1)), host, namespace).compare(t.Context())
	if !apierrors.IsForbidden(err) || errors.Is(err, errRefused) {
		t.Errorf("a management cluster that cannot be read: %v", err)
	}
	onlyReads(t, host)
}

func TestCompare_OfReplicasAtTheSameTimeAgrees(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		verb     string
		before   []runtime.Object
		conflict error
	}{
		"at the first start": {"create", nil, apierrors.NewAlreadyExists(configMaps.GroupResource(), ConfigMapName)},
		"later":              {"update", []runtime.Object{configMap("", data("mine", "1"))}, apierrors.NewConflict(configMaps.GroupResource(), ConfigMapName, errors.New("changed"))},
	} {
		t.Run(name, func(t *testing.T) {
			host := fake.NewClientset(tc.before...)
			revision, writes := int64(10), 0
			host.PrependReactor("*", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if a.GetVerb() != tc.verb {
					return false, nil, nil
				}
				writes++
				// The other replica has recorded a later write.
				revision = 20
				if err := errors.Join(host.Tracker().Delete(configMaps, namespace, ConfigMapName), host.Tracker().Add(configMap("", data("mine", "20")))); err != nil && tc.before != nil {
					t.Error(err)
				}
				return true, nil, tc.conflict
			})
			_, _, err := newGate(&fakeStore{now: func() (state, error) { return mine(revision), nil }}, host, namespace).compare(t.Context())
			if err != nil || writes != 1 {
				t.Errorf("error %v after %d writes, want none after one", err, writes)
			}
		})
	}
}

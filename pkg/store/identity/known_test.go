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

// is a store that can be read.
func is(s store) func(context.Context) (store, error) {
	return func(context.Context) (store, error) { return s, nil }
}

// data is that of a ConfigMap.
func data(id, revision string) map[string]string {
	return map[string]string{idKey: id, revisionKey: revision}
}

func configMap(accept string, data map[string]string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Namespace: namespace}, Data: data}
	if accept != "" {
		m.Annotations = map[string]string{AcceptAnnotation: accept}
	}
	return m
}

// known is what the host cluster knows, and whom an administrator has accepted.
func known(t *testing.T, host *fake.Clientset) (data map[string]string, accepted string) {
	t.Helper()
	m, err := host.CoreV1().ConfigMaps(namespace).Get(t.Context(), ConfigMapName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Data, m.Annotations[AcceptAnnotation]
}

func TestF3TheHostClusterKnowsWhatIsServedAndForgetsNothingElse(t *testing.T) {
	for name, tc := range map[string]struct {
		before   *corev1.ConfigMap
		want     map[string]string
		accepted string // what is left of the annotation
		err      string // a part of the error; empty when it is served
	}{
		"nothing":                 {nil, data("mine", "50"), "", ""},
		"an empty ConfigMap":      {configMap("", nil), data("mine", "50"), "", ""},
		"the same":                {configMap("", data("mine", "50")), data("mine", "50"), "", ""},
		"an earlier revision":     {configMap("", data("mine", "40")), data("mine", "50"), "", ""},
		"another":                 {configMap("", data("theirs", "40")), data("theirs", "40"), "", "the host cluster expects theirs"},
		"a later revision":        {configMap("", data("mine", "51")), data("mine", "51"), "", "was at 51 before"},
		"another, accepted":       {configMap("mine", data("theirs", "40")), data("mine", "50"), "", ""},
		"later, accepted":         {configMap("mine", data("mine", "51")), data("mine", "50"), "", ""},
		"the same, accepted":      {configMap("mine", data("mine", "50")), data("mine", "50"), "", ""},
		"a third one is accepted": {configMap("other", data("theirs", "40")), data("theirs", "40"), "other", "the store is not served"},
		"same, third is accepted": {configMap("other", data("mine", "40")), data("mine", "50"), "other", ""},
		"how to accept it":        {configMap("", data("theirs", "40")), data("theirs", "40"), "", "kubectl annotate configmap --overwrite -n slipway-system slipway-store slipway.dev/accept-store=mine"},
		"not a revision":          {configMap("", data("mine", "x")), data("mine", "x"), "", `slipway-system/slipway-store: revision "x": must be a number`},
	} {
		t.Run(name, func(t *testing.T) {
			host := fake.NewClientset()
			if tc.before != nil {
				host = fake.NewClientset(tc.before)
			}
			_, err := compare(t.Context(), host, namespace, nil, is(store{id: "mine", revision: 50}))
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			got, accepted := known(t, host)
			if diff := cmp.Diff(tc.want, got); diff != "" || accepted != tc.accepted {
				t.Errorf("the annotation is %q, want %q; data (-want +got):\n%s", accepted, tc.accepted, diff)
			}
		})
	}
}

func TestF3NothingIsWrittenForAStoreThatStandsStill(t *testing.T) {
	host := fake.NewClientset(configMap("", data("mine", "50")))
	if _, err := compare(t.Context(), host, namespace, nil, is(store{id: "mine", revision: 50})); err != nil {
		t.Fatal(err)
	}
	for _, a := range host.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("the host cluster was asked to %s", a.GetVerb())
		}
	}
}

func TestF3WhatCannotBeReadIsNotMissing(t *testing.T) {
	host := fake.NewClientset()
	broken := errors.New("no leader")
	_, err := compare(t.Context(), host, namespace, nil, func(context.Context) (store, error) { return store{}, broken })
	if !errors.Is(err, broken) || errors.Is(err, errRefused) {
		t.Errorf("a store that cannot be read: %v", err)
	}
	host.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(configMaps.GroupResource(), ConfigMapName, errors.New("no rights"))
	})
	_, err = compare(t.Context(), host, namespace, nil, is(store{id: "mine", revision: 1}))
	if !apierrors.IsForbidden(err) || errors.Is(err, errRefused) {
		t.Errorf("a host cluster that may not be asked: %v", err)
	}
	for _, a := range host.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("the host cluster was asked to %s", a.GetVerb())
		}
	}
}

func TestF3ReplicasThatTellTheHostAtTheSameTimeAgree(t *testing.T) {
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
				// The other replica has told of a later write.
				revision = 20
				if err := errors.Join(host.Tracker().Delete(configMaps, namespace, ConfigMapName), host.Tracker().Add(configMap("", data("mine", "20")))); err != nil && tc.before != nil {
					t.Error(err)
				}
				return true, nil, tc.conflict
			})
			_, err := compare(t.Context(), host, namespace, nil, func(context.Context) (store, error) {
				return store{id: "mine", revision: revision}, nil
			})
			if err != nil || writes != 1 {
				t.Errorf("error %v after %d writes, want none after one", err, writes)
			}
		})
	}
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestEachPage_StopsAtTheLimit(t *testing.T) {
	var requests []string
	pages := func(next ...string) func(metav1.ListOptions) (string, error) {
		return func(o metav1.ListOptions) (string, error) {
			requests = append(requests, o.Continue)
			return next[len(requests)-1], nil
		}
	}
	if err := EachPage(t.Context(), metav1.ListOptions{}, pages("a", "b", "")); err != nil || strings.Join(requests, ",") != ",a,b" {
		t.Errorf("%v, requested %q", err, requests)
	}
	err := EachPage(t.Context(), metav1.ListOptions{}, func(metav1.ListOptions) (string, error) { return "more", nil })
	if err == nil || err.Error() != "the list has more than 1000 pages" {
		t.Errorf("endless pages: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	err = EachPage(ctx, metav1.ListOptions{}, func(metav1.ListOptions) (string, error) { n++; stop(); return "more", nil })
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("after the timeout: %v, %d pages", err, n)
	}
}

// It limits the memory that a tenant's server can occupy.
func TestDrain_LimitsTheNumberAndSizeOfPods(t *testing.T) {
	client := fake.NewClientset(node())
	list := &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "more"}}
	for i := range podPage {
		list.Items = append(list.Items, *pod(fmt.Sprint("p", i)))
	}
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, list, nil })
	if _, err := Drain(t.Context(), client, input()); err == nil || err.Error() != "reading the Pods of Node node-1: the Node has more than 13000" {
		t.Errorf("Drain: %v", err)
	}
	plain := list.DeepCopy()
	for what, change := range map[string]func(*corev1.Pod){
		"large labels": func(p *corev1.Pod) { p.Labels["large"] = strings.Repeat("x", 1<<20) },
		"empty volumes": func(p *corev1.Pod) {
			p.Spec.Volumes = slices.Repeat([]corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}, 5000)
		},
	} {
		list = plain.DeepCopy()
		for i := range list.Items {
			change(&list.Items[i])
		}
		if _, err := Drain(t.Context(), client, input()); err == nil || err.Error() != fmt.Sprintf("reading the Pods of Node node-1: they exceed the limit of %d bytes", maxPodBytes) {
			t.Errorf("Drain of Pods with %s: %v", what, err)
		}
	}
}

func TestMessage_IsValidUTF8(t *testing.T) {
	if got := message(entries(1, "a\xff", Entry{Step: Deleting}), false, now); !utf8.ValidString(got) {
		t.Errorf("message %q", got)
	}
}

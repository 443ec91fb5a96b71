// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"context"
	"encoding/json"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// Noon is the current time in tests.
var Noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Before returns the time at this duration before Noon.
func Before(d time.Duration) metav1.Time { return metav1.NewTime(Noon.Add(-d)) }

// AtNoon calls test in a bubble of testing/synctest that begins at Noon.
func AtNoon(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(Noon))
		test(t)
	})
}

// Condition returns a condition that changed at this duration before Noon.
func Condition(kind string, status metav1.ConditionStatus, reason, message string, ago time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: Before(ago)}
}

// EventOf returns an Event at this duration before Noon.
func EventOf(kind, name, reason, message string, ago time.Duration) corev1.Event {
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name + reason}, Type: corev1.EventTypeNormal, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{APIVersion: "vm.slipway.dev/v1alpha1", Kind: kind, Name: name}, EventTime: metav1.NewMicroTime(Before(ago).Time),
	}
}

// Sized returns a size.
func Sized(vcpus int32, memory string) *vmv1alpha1.VirtualMachineResources {
	return &vmv1alpha1.VirtualMachineResources{VCPUs: vcpus, Memory: ptr.To(resource.MustParse(memory))}
}

// WatchEvent returns one event of a watch.
func WatchEvent(t *testing.T, kind string, object any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

// UseVCenter starts a simulated vCenter and sets govc's environment variables for it.
func UseVCenter(t *testing.T) *vcenter.Server {
	t.Helper()
	dir := t.TempDir()
	vc, err := vcenter.Start(t.Context(), vcenter.Options{Listen: "127.0.0.1:0", Username: vcenter.DefaultUsername, StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vc.Stop(context.WithoutCancel(t.Context())) })
	u, err := url.Parse(vc.Ready().URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOVC_URL": u.Host, "GOVC_USERNAME": vcenter.DefaultUsername, "GOVC_PASSWORD": vcenter.DefaultPassword, "GOVC_TLS_CA_CERTS": vc.Ready().CAFile, "GOVC_INSECURE": "",
	} {
		t.Setenv(name, value)
	}
	return vc
}

// WithEvents adds events of the virtual machines web and db, each with a snapshot, and of a publish request for web.
func WithEvents(all ...corev1.Event) *APIServer {
	snapshots := vmv1alpha1.VirtualMachineSnapshotList{Items: []vmv1alpha1.VirtualMachineSnapshot{
		{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "web"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: vmv1alpha1.VirtualMachineSnapshotSpec{VMName: "db"}},
	}}
	list := corev1.EventList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: all}
	return &APIServer{Answers: map[string]any{
		APIPrefix + "dev/virtualmachinesnapshots":       snapshots,
		APIPrefix + "dev/virtualmachinepublishrequests": vmv1alpha1.VirtualMachinePublishRequestList{Items: []vmv1alpha1.VirtualMachinePublishRequest{{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}},
		"/api/v1/namespaces/dev/events":                 list, "/api/v1/events": list,
	}}
}

// Refreshed returns a response to a refresh.
var Refreshed = vmv1alpha1.RefreshResult{
	SourceName: "u1.small", OldRevision: "a-1", OldGeneration: 1, NewRevision: "a-2", NewGeneration: 2, Changed: true,
	Fields: []vmv1alpha1.RefreshField{
		{Path: "memory.guest", Old: "2Gi", New: "4Gi", Effect: vmv1alpha1.RefreshEffectLive},
		{Path: "cpu.cores", New: "2", Effect: vmv1alpha1.RefreshEffectRestart},
		{Path: "nodeSelector", New: "a=b", Effect: vmv1alpha1.RefreshEffectNone},
	},
}

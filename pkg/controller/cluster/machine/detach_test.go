// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/detach"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
)

var now = time.Date(2026, 11, 21, 7, 30, 0, 0, time.UTC)

// node returns a Node with attached volumes.
func node(ready corev1.ConditionStatus, volumes ...string) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
	for _, v := range volumes {
		n.Status.VolumesAttached = append(n.Status.VolumesAttached, corev1.AttachedVolume{Name: corev1.UniqueVolumeName(v)})
	}
	return n
}

// attachment returns a VolumeAttachment of a PersistentVolume, or an inline one if pv is empty.
func attachment(node, pv string, attached bool) *storagev1.VolumeAttachment {
	va := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "va-" + node + "-" + pv},
		Spec:       storagev1.VolumeAttachmentSpec{NodeName: node},
		Status:     storagev1.VolumeAttachmentStatus{Attached: attached},
	}
	if pv != "" {
		va.Spec.Source.PersistentVolumeName = &pv
	}
	return va
}

// pv returns a PersistentVolume with a CSI handle and, unless claim is empty, a claim.
func pv(name, claim string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: name},
		}},
	}
	if claim != "" {
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: claim}
	}
	return v
}

// csi returns the name of a volume in the status of a Node.
func csi(name string) string { return "kubernetes.io/csi/csi.vsphere.vmware.com^" + name }

// pod returns a Pod with one volume; owner is the kind of its controller.
func pod(name, owner string, source corev1.VolumeSource, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name,
			OwnerReferences: []metav1.OwnerReference{{Kind: owner, Name: "agent", Controller: ptr.To(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: "node-1", Volumes: []corev1.Volume{{Name: "data", VolumeSource: source}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func claim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func labeled(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{clusterv1alpha1.PodDrainLabel: value} }
}

func input() drain.Input {
	return drain.Input{
		Node: "node-1", Started: now, Now: now,
	}
}

// Behaviors MB142-145 of test/behaviours.
func TestDetach_WaitsForAttachedVolumes(t *testing.T) {
	daemonSet := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}}
	const (
		claims  = "* PersistentVolumeClaims: "
		volumes = "* PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim: "
		onNode  = "* Node with .status.volumesAttached entries not matching a PersistentVolume: "
		named   = "* VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume: "
		inline  = "* VolumeAttachment without .spec.source.persistentVolumeName: "
	)
	kindless := pv("v", "c")
	kindless.Spec.ClaimRef.Kind = ""
	deleted := pod("a", "ReplicaSet", claim("c"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} })
	for name, tc := range map[string]struct {
		objects []runtime.Object
		want    []string
	}{
		"no node":                          {nil, nil},
		"nothing attached":                 {[]runtime.Object{node("True"), pv("v", "c"), pod("a", "ReplicaSet", claim("c"))}, nil},
		"unreachable, nothing attached":    {[]runtime.Object{node("Unknown")}, nil},
		"unreachable, something attached":  {[]runtime.Object{node("Unknown", csi("v")), pv("v", "c"), attachment("node-1", "v", true)}, nil},
		"not ready, with a volume":         {[]runtime.Object{node("False", csi("v")), pv("v", "c")}, []string{claims + "default/c"}},
		"on the node, with claim":          {[]runtime.Object{node("True", csi("v")), pv("v", "c")}, []string{claims + "default/c"}},
		"on the node, without claim":       {[]runtime.Object{node("True", csi("v")), pv("v", "")}, []string{volumes + "v"}},
		"on the node, no volume":           {[]runtime.Object{node("True", "kubernetes.io/csi/x^1")}, []string{onNode + "kubernetes.io/csi/x^1"}},
		"attachment, with claim":           {[]runtime.Object{node("True"), pv("v", "c"), attachment("node-1", "v", true)}, []string{claims + "default/c"}},
		"attachment, without claim":        {[]runtime.Object{node("True"), pv("v", ""), attachment("node-1", "v", true)}, []string{volumes + "v"}},
		"attachment, no volume":            {[]runtime.Object{node("True"), attachment("node-1", "v", true)}, []string{named + "v"}},
		"attachment of an inline volume":   {[]runtime.Object{node("True"), attachment("node-1", "", true)}, []string{inline + "va-node-1-"}},
		"attachment that is not attached":  {[]runtime.Object{node("True"), pv("v", "c"), attachment("node-1", "v", false)}, nil},
		"attachment to another node":       {[]runtime.Object{node("True"), pv("v", "c"), attachment("node-2", "v", true)}, nil},
		"claim reference without kind":     {[]runtime.Object{node("True", csi("v")), kindless}, []string{claims + "default/c"}},
		"node and attachment":              {[]runtime.Object{node("True", csi("v")), pv("v", "c"), attachment("node-1", "v", true)}, []string{claims + "default/c"}},
		"of a Pod of a DaemonSet, on node": {[]runtime.Object{node("True", csi("v")), pv("v", "c"), daemonSet, pod("a", "DaemonSet", claim("c"))}, nil},
		"of a Pod of a DaemonSet": {
			[]runtime.Object{node("True"), attachment("node-1", "v", true), pv("v", "c"), daemonSet, pod("a", "DaemonSet", claim("c"))}, nil,
		},
		"of a Pod of a deleted DaemonSet": {
			[]runtime.Object{node("True", csi("v")), pv("v", "c"), pod("a", "DaemonSet", claim("c"))}, []string{claims + "default/c"},
		},
		"ephemeral, of a Pod of a DaemonSet": {
			[]runtime.Object{
				node("True", csi("v")), pv("v", "a-data"), daemonSet,
				pod("a", "DaemonSet", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}),
			}, nil,
		},
		"of a Pod that is skipped":                 {[]runtime.Object{node("True", csi("v")), pv("v", "c"), pod("a", "ReplicaSet", claim("c"), labeled("skip"))}, nil},
		"of a Pod that must complete":              {[]runtime.Object{node("True", csi("v")), pv("v", "c"), pod("a", "ReplicaSet", claim("c"), labeled("wait-completed"))}, []string{claims + "default/c"}},
		"of a Pod that is deleted":                 {[]runtime.Object{node("True", csi("v")), pv("v", "c"), deleted}, []string{claims + "default/c"}},
		"another claim than that of a skipped Pod": {[]runtime.Object{node("True", csi("v")), pv("v", "c"), daemonSet, pod("a", "DaemonSet", claim("other"))}, []string{claims + "default/c"}},
		"an empty volume name": {
			[]runtime.Object{node("True", ""), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "nfs"}}}, []string{onNode},
		},
		"all kinds": {
			[]runtime.Object{
				node("True", csi("v1"), csi("v2"), "x"), pv("v1", "c1"), pv("v2", ""), attachment("node-1", "v1", true),
				attachment("node-1", "v3", true), pv("v4", "c4"), attachment("node-1", "v4", true), attachment("node-1", "", true),
			},
			[]string{claims + "default/c1, default/c4", volumes + "v2", onNode + "x", named + "v3", inline + "va-node-1-"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := drain.Result{Done: true}
			if tc.want != nil {
				want = drain.Result{Message: "Waiting for Node volumes to be detached (started at 2026-11-21T07:30:00Z)\n" + strings.Join(tc.want, "\n")}
			}
			got, err := detach.Check(t.Context(), fake.NewClientset(tc.objects...), input())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("Check: %v, result (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDetach_ReturnsReadErrors(t *testing.T) {
	down := errors.New("the server is down")
	for _, resource := range []string{"nodes", "pods", "persistentvolumes", "volumeattachments"} {
		t.Run(resource, func(t *testing.T) {
			client := fake.NewClientset(node("True", csi("v")), pv("v", "c"))
			client.PrependReactor("*", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, down })
			if got, err := detach.Check(t.Context(), client, input()); !errors.Is(err, down) || got.Done {
				t.Errorf("Check = %+v, %v, want the error and not done", got, err)
			}
		})
	}
}

func TestDetach_LimitsMessages(t *testing.T) {
	volumes := make([]string, 0, 30)
	for i := range 30 {
		volumes = append(volumes, fmt.Sprintf("%02d%s", i, strings.Repeat("ä", 5000)))
	}
	got, err := detach.Check(t.Context(), fake.NewClientset(node("True", volumes...)), input())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Message) > 4096 {
		t.Errorf("%d bytes, want at most 4096", len(got.Message))
	}
	if want := "... (25 more)"; !strings.HasSuffix(got.Message, want) {
		t.Errorf("message ends with %q, want %q", got.Message[len(got.Message)-20:], want)
	}
}

// It limits the memory that a tenant's server can occupy.
func TestDetach_LimitsTheNumberOfVolumes(t *testing.T) {
	client := fake.NewClientset(node("True"))
	n := 0
	client.PrependReactor("list", "volumeattachments", func(clienttesting.Action) (bool, runtime.Object, error) {
		list := &storagev1.VolumeAttachmentList{ListMeta: metav1.ListMeta{Continue: "more"}}
		for range 500 {
			n++
			list.Items = append(list.Items, *attachment("node-1", fmt.Sprint("v", n), true))
		}
		return true, list, nil
	})
	_, err := detach.Check(t.Context(), client, input())
	if err == nil || err.Error() != "reading the VolumeAttachments of Node node-1: more than 5000 volumes are reported as attached" {
		t.Errorf("Check: %v", err)
	}
}

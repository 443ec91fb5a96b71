// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// objects are the objects of a test; all others are not found.
type objects struct {
	classes  map[string]*vmv1alpha1.VirtualMachineClass
	images   map[string]*vmv1alpha1.VirtualMachineImage
	sizes    []*itv1alpha1.VirtualMachineInstancetype
	machines []vmv1alpha1.VirtualMachine
	failure  error
}

func missing(kind, name string) error { return apierrors.NewNotFound(vmv1alpha1.Resource(kind), name) }

func (o *objects) Class(_ context.Context, _, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	if c := o.classes[name]; c != nil {
		return c, nil
	}
	return nil, missing("virtualmachineclasses", name)
}

func (o *objects) Image(_ context.Context, _ string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	if o.failure != nil {
		return nil, o.failure
	}
	if i := o.images[ref.Name]; i != nil {
		return i, nil
	}
	return nil, missing("virtualmachineimages", ref.Name)
}

func (o *objects) Source(_ context.Context, kind instancetype.Kind, _, name string) (*instancetype.Object, error) {
	for _, it := range o.sizes {
		if kind == instancetype.KindInstancetype && it.Name == name {
			return instancetype.FromInstancetype(it), nil
		}
	}
	return nil, missing("virtualmachineinstancetypes", name)
}

func (*objects) Revision(_ context.Context, _, name string) (*instancetype.DecodedRevision, error) {
	return nil, missing("controllerrevisions", name)
}

func (*objects) PersistentVolumeClaim(_ context.Context, _, name string) (*corev1.PersistentVolumeClaim, error) {
	return nil, missing("persistentvolumeclaims", name)
}

func (o *objects) VirtualMachines(context.Context, string) ([]vmv1alpha1.VirtualMachine, error) {
	return o.machines, nil
}

func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}

func class(name string, sockets int32) *vmv1alpha1.VirtualMachineClass {
	return &vmv1alpha1.VirtualMachineClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: vmv1alpha1.VirtualMachineClassSpec{
			CPU: vmv1alpha1.VirtualMachineCPU{Sockets: sockets}, Memory: vmv1alpha1.VirtualMachineMemory{Guest: quantity("1Gi")},
		},
	}
}

func image(capacities ...string) *vmv1alpha1.VirtualMachineImage {
	var disks []*resource.Quantity
	for _, c := range capacities {
		disks = append(disks, quantity(c))
	}
	return sized(disks...)
}

// sized returns an image with disks of the given sizes; nil is an unknown size.
func sized(capacities ...*resource.Quantity) *vmv1alpha1.VirtualMachineImage {
	i := &vmv1alpha1.VirtualMachineImage{}
	for _, c := range capacities {
		i.Status.Disks = append(i.Status.Disks, vmv1alpha1.VirtualMachineImageDisk{Capacity: c})
	}
	return i
}

func size(vcpus int32, memory string) *vmv1alpha1.VirtualMachineResources {
	return &vmv1alpha1.VirtualMachineResources{VCPUs: vcpus, Memory: quantity(memory)}
}

// machine returns a powered-off VM with 2 vCPUs and 2Gi, from an image with one disk of 10Gi.
func machine(changes ...func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", Generation: 1}}
	vm.Status.ObservedGeneration = -1
	vm.Spec.PowerState = vmv1alpha1.PoweredOff
	vm.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{Sockets: 2}
	vm.Spec.Memory = &vmv1alpha1.VirtualMachineMemory{Guest: quantity("2Gi")}
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Name: "photon"}
	for _, change := range changes {
		change(vm)
	}
	return vm
}

func evaluators(o *objects) *Evaluators {
	e := New()
	e.SetReader(o)
	return e
}

func catalogue() *objects {
	return &objects{
		classes: map[string]*vmv1alpha1.VirtualMachineClass{"c": class("c", 4)},
		images:  map[string]*vmv1alpha1.VirtualMachineImage{"photon": image("10Gi"), "two": image("10Gi", "5Gi"), "unread": image(), "open": sized(nil), "half": sized(quantity("1Gi"), nil)},
	}
}

func TestMachineEvaluator_ChargesTheGreaterOfCurrentAndDesiredSize(t *testing.T) {
	type vm = vmv1alpha1.VirtualMachine
	disk := func(name, capacity string) vmv1alpha1.VirtualMachineVolume {
		return vmv1alpha1.VirtualMachineVolume{Name: name, Disk: &vmv1alpha1.DiskVolumeSource{Capacity: quantity(capacity)}}
	}
	for name, tc := range map[string]struct {
		change func(*vm)
		// vcpus, memory, running vcpus, running memory, storage
		want [5]string
	}{
		"powered off":           {func(*vm) {}, [5]string{"2", "2Gi", "0", "0", "10Gi"}},
		"to be powered on":      {func(v *vm) { v.Spec.PowerState = vmv1alpha1.PoweredOn }, [5]string{"2", "2Gi", "2", "2Gi", "10Gi"}},
		"powered on by default": {func(v *vm) { v.Spec.PowerState = "" }, [5]string{"2", "2Gi", "2", "2Gi", "10Gi"}},
		"still powered on":      {func(v *vm) { v.Status.PowerState = vmv1alpha1.PoweredOn }, [5]string{"2", "2Gi", "2", "2Gi", "10Gi"}},
		"suspended":             {func(v *vm) { v.Spec.PowerState, v.Status.PowerState = vmv1alpha1.Suspended, vmv1alpha1.Suspended }, [5]string{"2", "2Gi", "0", "0", "10Gi"}},
		"to be shrunk":          {func(v *vm) { v.Status.Resources = size(8, "1Gi") }, [5]string{"8", "2Gi", "0", "0", "10Gi"}},
		"growing according to status": {func(v *vm) {
			v.Status.ObservedGeneration, v.Status.Resources, v.Status.DesiredResources = 1, size(2, "2Gi"), size(3, "4Gi")
		}, [5]string{"3", "4Gi", "0", "0", "10Gi"}},
		"of a class": {func(v *vm) { v.Spec.CPU, v.Spec.Memory, v.Spec.ClassName = nil, nil, "c" }, [5]string{"4", "1Gi", "0", "0", "10Gi"}},
		"of a class that has grown since the last status update": {func(v *vm) {
			v.Spec.CPU, v.Spec.Memory, v.Spec.ClassName = nil, nil, "c"
			v.Status.ObservedGeneration, v.Status.Resources = 1, size(1, "1Gi")
		}, [5]string{"4", "1Gi", "0", "0", "10Gi"}},
		"two disks of the image, the first grown": {func(v *vm) {
			v.Spec.Image.Name, v.Spec.BootDisk = "two", &vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity("20Gi")}
		}, [5]string{"2", "2Gi", "0", "0", "25Gi"}},
		"a boot disk smaller than the image's": {func(v *vm) { v.Spec.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity("1Gi")} }, [5]string{"2", "2Gi", "0", "0", "10Gi"}},
		"a boot disk that has grown, of a deleted image": {func(v *vm) {
			v.Spec.Image.Name = "gone"
			v.Status.Storage = &vmv1alpha1.VirtualMachineStorageStatus{BootDisk: &vmv1alpha1.VirtualMachineBootDiskStatus{Capacity: quantity("30Gi")}}
		}, [5]string{"2", "2Gi", "0", "0", "30Gi"}},
		"volumes and a claim, which is not charged": {func(v *vm) {
			v.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("a", "1Gi"), disk("b", "2Gi"), {Name: "c", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}
			v.Status.Volumes = []vmv1alpha1.VirtualMachineVolumeStatus{{Name: "b", Capacity: quantity("4Gi")}, {Name: "c", Capacity: quantity("100Gi"), ClaimName: "c"}}
		}, [5]string{"2", "2Gi", "0", "0", "15Gi"}},
		"a volume removed from spec but not from status": {func(v *vm) {
			v.Status.Volumes = []vmv1alpha1.VirtualMachineVolumeStatus{{Name: "old", Capacity: quantity("4Gi")}, {Name: "claimed", Capacity: quantity("4Gi"), ClaimName: "c"}}
		}, [5]string{"2", "2Gi", "0", "0", "14Gi"}},
		"is being reverted to more": {func(v *vm) {
			v.Annotations = map[string]string{vmv1alpha1.AnnotationReverting: `{"powerState":"PoweredOn","cpu":{"sockets":1,"cores":3},"memory":{"guest":"1Gi"},"volumes":[{"name":"old","disk":{"size":"4Gi"}}]}`}
			v.Status.ObservedGeneration, v.Status.Resources = 1, size(2, "2Gi")
		}, [5]string{"3", "2Gi", "3", "2Gi", "10Gi"}},
		"is being reverted to less": {func(v *vm) {
			v.Annotations = map[string]string{vmv1alpha1.AnnotationReverting: `{"powerState":"PoweredOff","cpu":{"sockets":1},"memory":{"guest":"1Gi"}}`}
		}, [5]string{"2", "2Gi", "0", "0", "10Gi"}},
		"is being reverted to a class": {func(v *vm) {
			v.Annotations = map[string]string{vmv1alpha1.AnnotationReverting: `{"powerState":"PoweredOff","className":"c"}`}
		}, [5]string{"4", "2Gi", "0", "0", "10Gi"}},
		"no image": {func(v *vm) { v.Spec.Image = nil }, [5]string{"2", "2Gi", "0", "0", "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := evaluators(catalogue())
			charged, err := e.machines.Usage(machine(tc.change))
			if err != nil {
				t.Fatal(err)
			}
			var got [5]string
			for i, name := range []corev1.ResourceName{vmv1alpha1.QuotaVCPUs, vmv1alpha1.QuotaMemory, vmv1alpha1.QuotaRunningVCPUs, vmv1alpha1.QuotaRunningMemory, vmv1alpha1.QuotaStorage} {
				q := charged[name]
				got[i] = q.String()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("charge (-want +got):\n%s", diff)
			}
			if n := charged["count/virtualmachines.vm.slipway.dev"]; n.Value() != 1 {
				t.Errorf("counted %v virtual machines, want 1", n)
			}
		})
	}
}

func TestMachineEvaluator_RejectsUnknownSizesOnlyIfLimited(t *testing.T) {
	unsized := func(v *vmv1alpha1.VirtualMachine) {
		v.Spec.CPU, v.Spec.Memory, v.Spec.ClassName = nil, nil, "nowhere"
	}
	unread := func(v *vmv1alpha1.VirtualMachine) { v.Spec.Image.Name = "unread" }
	for name, tc := range map[string]struct {
		change   func(*vmv1alpha1.VirtualMachine)
		required []corev1.ResourceName
		want     []string
	}{
		"a missing class, vCPUs limited":                          {unsized, []corev1.ResourceName{vmv1alpha1.QuotaVCPUs}, []string{"vm.slipway.dev/vcpus", `"nowhere"`}},
		"a missing class, storage limited":                        {unsized, []corev1.ResourceName{vmv1alpha1.QuotaStorage}, nil},
		"a missing class, only the count limited":                 {unsized, []corev1.ResourceName{"count/virtualmachines.vm.slipway.dev"}, nil},
		"an image that was not read yet, storage limited":         {unread, []corev1.ResourceName{vmv1alpha1.QuotaStorage}, []string{"vm.slipway.dev/storage", `"unread"`}},
		"an image that was not read yet, vCPUs limited":           {unread, []corev1.ResourceName{vmv1alpha1.QuotaVCPUs}, nil},
		"an image whose first disk has no size, storage limited":  {func(v *vmv1alpha1.VirtualMachine) { v.Spec.Image.Name = "open" }, []corev1.ResourceName{vmv1alpha1.QuotaStorage}, []string{`"open"`}},
		"an image whose second disk has no size, storage limited": {func(v *vmv1alpha1.VirtualMachine) { v.Spec.Image.Name = "half" }, []corev1.ResourceName{vmv1alpha1.QuotaStorage}, []string{`"half"`}},
		"an image that was not read yet, disk size set": {func(v *vmv1alpha1.VirtualMachine) {
			unread(v)
			v.Spec.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity("20Gi")}
		}, []corev1.ResourceName{vmv1alpha1.QuotaStorage}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := evaluators(catalogue()).machines.Constraints(tc.required, machine(tc.change))
			if (err != nil) != (tc.want != nil) {
				t.Fatalf("got error %v, want one with %q", err, tc.want)
			}
			for _, text := range tc.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error %q does not contain %q", err, text)
				}
			}
		})
	}
}

func TestEvaluators_ReturnReadErrors(t *testing.T) {
	o := catalogue()
	o.machines, o.failure = []vmv1alpha1.VirtualMachine{*machine()}, apierrors.NewTimeoutError("the store is away", 1)
	hard := corev1.ResourceList{vmv1alpha1.QuotaStorage: resource.MustParse("1Ti")}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Status: corev1.ResourceQuotaStatus{Hard: hard}}
	if used, err := evaluators(o).Usage(q); err == nil || !strings.Contains(err.Error(), "the store is away") {
		t.Errorf("got usage %v and error %v, want the read error", used, err)
	}
	o.failure = nil
	used, err := evaluators(o).Usage(q)
	if err != nil {
		t.Fatal(err)
	}
	if got := used[vmv1alpha1.QuotaStorage]; got.Cmp(resource.MustParse("10Gi")) != 0 || len(used) != 1 {
		t.Errorf("got usage %v, want 10Gi of storage", used)
	}
}

func TestMachineEvaluator_HandlesOnlyRequestsThatMayNeedMore(t *testing.T) {
	on := func(v *vmv1alpha1.VirtualMachine) { v.Spec.PowerState = vmv1alpha1.PoweredOn }
	for name, tc := range map[string]struct {
		old, updated *vmv1alpha1.VirtualMachine
		want         bool
	}{
		"nothing":      {machine(), machine(), false},
		"a label":      {machine(), machine(func(v *vmv1alpha1.VirtualMachine) { v.Labels = map[string]string{"a": "b"} }), false},
		"power on":     {machine(), machine(on), true},
		"power off":    {machine(on), machine(), false},
		"more vCPUs":   {machine(), machine(func(v *vmv1alpha1.VirtualMachine) { v.Spec.CPU.Sockets = 3 }), true},
		"another type": {machine(), machine(func(v *vmv1alpha1.VirtualMachine) { v.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "x"} }), true},
		"a refresh": {machine(func(v *vmv1alpha1.VirtualMachine) {
			v.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "x", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "r"}}
		}), machine(func(v *vmv1alpha1.VirtualMachine) { v.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "x"} }), true},
		"being deleted": {machine(), machine(func(v *vmv1alpha1.VirtualMachine) {
			on(v)
			v.DeletionTimestamp = &metav1.Time{}
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := New().machines.Handles(request(admission.Update, "", tc.updated, tc.old)); got != tc.want {
				t.Errorf("Handles is %v, want %v", got, tc.want)
			}
		})
	}
	if New().machines.Handles(request(admission.Update, "status", machine(on), machine())) {
		t.Error("a status update is charged")
	}
}

func TestMachineEvaluator_HandlesOnlyUpdatesThatIncreaseUsage(t *testing.T) {
	type vm = vmv1alpha1.VirtualMachine
	runs := func(v *vm) {
		v.Spec.PowerState, v.Status.PowerState, v.Status.Resources = vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOn, size(4, "4Gi")
	}
	for name, tc := range map[string]struct {
		from, to func(*vm)
		want     bool
	}{
		"fewer vCPUs":                  {runs, func(v *vm) { runs(v); v.Spec.CPU.Sockets = 1 }, false},
		"as many vCPUs as vSphere has": {runs, func(v *vm) { runs(v); v.Spec.CPU.Sockets = 4 }, false},
		"more vCPUs than vSphere has":  {runs, func(v *vm) { runs(v); v.Spec.CPU.Sockets = 5 }, true},
		"a class of the same size":     {runs, func(v *vm) { runs(v); v.Spec.CPU, v.Spec.Memory, v.Spec.ClassName = nil, nil, "c" }, false},
		"a missing class":              {runs, func(v *vm) { runs(v); v.Spec.CPU, v.Spec.Memory, v.Spec.ClassName = nil, nil, "nowhere" }, true},
		"an image with a smaller disk": {func(v *vm) { v.Spec.Image.Name = "two" }, func(*vm) {}, false},
		"an image with more disks":     {func(*vm) {}, func(v *vm) { v.Spec.Image.Name = "two" }, true},
		"less memory and more vCPUs":   {runs, func(v *vm) { runs(v); v.Spec.CPU.Sockets, v.Spec.Memory.Guest = 6, quantity("1Gi") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := evaluators(catalogue())
			if got := e.machines.Handles(request(admission.Update, "", machine(tc.to), machine(tc.from))); got != tc.want {
				t.Errorf("Handles is %v, want %v", got, tc.want)
			}
		})
	}
}

func request(operation admission.Operation, subresource string, obj, old runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(obj, old, vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine"), "ns", "vm",
		vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines"), subresource, operation, nil, false, nil)
}

func TestClassEvaluator_ChargesTheGrowthOfItsVMs(t *testing.T) {
	of := func(class string, has int32) vmv1alpha1.VirtualMachine {
		return *machine(func(v *vmv1alpha1.VirtualMachine) {
			v.Spec.CPU, v.Spec.Memory, v.Spec.ClassName = nil, nil, class
			v.Status.Resources = size(has, "1Gi")
		})
	}
	o := catalogue()
	o.machines = []vmv1alpha1.VirtualMachine{of("c", 4), of("c", 7), of("other", 1)}
	for sockets, want := range map[int32]int64{2: 0, 4: 0, 6: 2, 8: 5} {
		charged, err := evaluators(o).classes.Usage(class("c", sockets))
		if err != nil {
			t.Fatal(err)
		}
		if got := charged[vmv1alpha1.QuotaVCPUs]; got.Value() != want {
			t.Errorf("changing a class from 4 to %d vCPUs is charged %v, want %d", sockets, got.String(), want)
		}
	}
}

func TestEvaluators_FailWithoutStores(t *testing.T) {
	if _, err := New().machines.Usage(machine()); err == nil {
		t.Error("no error for a virtual machine without stores")
	}
	if _, err := New().classes.Usage(class("c", 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("unexpected result for a class without stores: %v", err)
	}
}

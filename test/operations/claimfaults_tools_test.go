// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/testenv"
)

// faultDeadline is the time limit for all rows together. Some of them are retried after a delay.
const faultDeadline = 5 * time.Minute

// held keeps objects that are being deleted until the end of the test.
const held = "e2e.slipway.dev/held"

// faultyClaim describes a claim and its volume before they are created.
type faultyClaim struct {
	// id is the ID of the disk.
	id  string
	pvc *corev1.PersistentVolumeClaim
	// pv is nil if there is no volume.
	pv    *corev1.PersistentVolume
	phase corev1.PersistentVolumeClaimPhase
	// node is the node to which the volume is attached, or empty.
	node string
	// deleted and pvDeleted are true if the object is being deleted. elsewhere is true if the disk is attached to a VM
	// that is not managed.
	deleted, pvDeleted, elsewhere bool
}

func (c *faultyClaim) modes(modes ...corev1.PersistentVolumeAccessMode) {
	c.pvc.Spec.AccessModes, c.pv.Spec.AccessModes = modes, modes
}

// faultScene has the rows and their namespace.
type faultScene struct {
	*testing.T
	user
	host      kubernetes.Interface
	vms       vmclient.VirtualMachineInterface
	vcenter   *govmomi.Client
	datastore *object.Datastore
	claims    map[string]*faultyClaim
	// disks are the created disks, by row.
	disks map[string]string
}

func newFaultScene(t *testing.T) *faultScene {
	t.Helper()
	s := &faultScene{T: t, user: admin(t), claims: map[string]*faultyClaim{}, disks: map[string]string{}}
	config := testenv.Of(t).RestConfig()
	config.QPS = -1
	s.host = kubernetes.NewForConfigOrDie(config)
	s.vms = versioned.NewForConfigOrDie(config).VmV1alpha1().VirtualMachines(s.Namespace)
	s.Apply(testenv.Catalogue)
	s.vcenter = testenv.VCenterClient(t.Context(), t)
	t.Cleanup(func() { _ = s.vcenter.Logout(context.WithoutCancel(t.Context())) })
	finder := find.NewFinder(s.vcenter.Client)
	dc, err := finder.DefaultDatacenter(t.Context())
	s.must(err)
	s.datastore, err = finder.SetDatacenter(dc).Datastore(t.Context(), testenv.ClaimDatastore)
	s.must(err)
	for _, class := range faultyClasses() {
		_, err := s.host.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{})
		s.must(err)
		t.Cleanup(func() {
			s.tidy(s.host.StorageV1().StorageClasses().Delete(s.late(), class.Name, metav1.DeleteOptions{}))
		})
	}
	tiers(t)
	return s
}

// late is the context for cleanup after the test.
func (s *faultScene) late() context.Context { return context.WithoutCancel(s.Context()) }

func (s *faultScene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *faultScene) tidy(err error) {
	if err != nil && !apierrors.IsNotFound(err) {
		s.Log(err)
	}
}

// machine returns the virtual machine of a row.
func (s *faultScene) machine(row storageFault) *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("128Mi")
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: row.name}}
	vm.Spec.CPU, vm.Spec.Memory = &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, &vmv1alpha1.VirtualMachineMemory{Guest: &memory}
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"}
	if row.claim != nil || row.condition == volumes || row.reason == refusedRequest {
		vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "data", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: row.name}}}
	}
	if row.vm != nil {
		row.vm(vm)
	}
	return vm
}

// refuses fails the test unless the API rejects a row.
func (s *faultScene) refuses(row storageFault) {
	s.Helper()
	_, err := s.vms.Create(s.Context(), s.machine(row), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		s.Errorf("%s: %v, want it refused as invalid", row.name, err)
		return
	}
	for _, text := range row.says {
		if !strings.Contains(err.Error(), text) {
			s.Errorf("%s: refused without %q: %v", row.name, text, err)
		}
	}
}

// make creates the claim of a row, configures its fault and creates its virtual machine.
func (s *faultScene) make(row storageFault) {
	s.Helper()
	c := &faultyClaim{}
	if row.claim != nil {
		c = s.claim(row)
	}
	if row.order != "" {
		method, path, ok := strings.Cut(row.order, " ")
		if !ok {
			method, path = http.MethodPut, row.order
		}
		testenv.Order(s.T, method, strings.ReplaceAll(path, "{id}", c.id))
	}
	s.claims[row.name] = c
	_, err := s.vms.Create(s.Context(), s.machine(row), metav1.CreateOptions{})
	s.must(err)
}

// claim creates disk, volume and claim.
func (s *faultScene) claim(row storageFault) *faultyClaim {
	s.Helper()
	id := testenv.NewDisk(s.Context(), s.T, s.vcenter, s.datastore)
	s.disks[row.name] = id
	c := s.template(row.name, id)
	row.claim(c)
	if c.deleted {
		c.pvc.Finalizers = []string{held}
	}
	status := c.pvc.Status
	status.Phase = c.phase
	pvc, err := s.host.CoreV1().PersistentVolumeClaims(s.Namespace).Create(s.Context(), c.pvc, metav1.CreateOptions{})
	s.must(err)
	pvc.Status = status
	_, err = s.host.CoreV1().PersistentVolumeClaims(s.Namespace).UpdateStatus(s.Context(), pvc, metav1.UpdateOptions{})
	s.must(err)
	if c.deleted {
		s.must(s.host.CoreV1().PersistentVolumeClaims(s.Namespace).Delete(s.Context(), pvc.Name, metav1.DeleteOptions{}))
	}
	if c.pv != nil {
		s.volume(c, pvc.UID)
	}
	if c.elsewhere {
		s.attachElsewhere(c)
	}
	return c
}

// template returns a claim that can be attached, with its volume.
func (s *faultScene) template(name, id string) *faultyClaim {
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Mi")}
	pvName := s.Namespace + "-" + name
	c := &faultyClaim{id: id, phase: corev1.ClaimBound}
	c.pvc = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.pvc.Spec.AccessModes, c.pvc.Spec.VolumeName, c.pvc.Spec.StorageClassName = modes, pvName, new("faulty-expands")
	c.pvc.Spec.Resources.Requests, c.pvc.Status.Capacity = size, size
	c.pv = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: pvName}}
	c.pv.Spec = corev1.PersistentVolumeSpec{AccessModes: modes, Capacity: size, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, StorageClassName: "faulty-expands"}
	c.pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: s.Namespace, Name: name}
	c.pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: id}
	return c
}

// volume creates the volume of a claim, bound to the claim, and its attachment to a Node.
func (s *faultScene) volume(c *faultyClaim, claim types.UID) {
	s.Helper()
	if c.pv.Spec.ClaimRef.UID == "" {
		c.pv.Spec.ClaimRef.UID = claim
	}
	if c.pvDeleted {
		c.pv.Finalizers = []string{held}
	}
	pvs := s.host.CoreV1().PersistentVolumes()
	_, err := pvs.Create(s.Context(), c.pv, metav1.CreateOptions{})
	s.must(err)
	s.Cleanup(func() {
		_, err := pvs.Patch(s.late(), c.pv.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		s.tidy(err)
		s.tidy(pvs.Delete(s.late(), c.pv.Name, metav1.DeleteOptions{}))
	})
	if c.pvDeleted {
		s.must(pvs.Delete(s.Context(), c.pv.Name, metav1.DeleteOptions{}))
	}
	if c.node == "" {
		return
	}
	attachments := s.host.StorageV1().VolumeAttachments()
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: c.pv.Name}}
	attachment.Spec = storagev1.VolumeAttachmentSpec{Attacher: "csi.vsphere.vmware.com", NodeName: c.node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &c.pv.Name}}
	_, err = attachments.Create(s.Context(), attachment, metav1.CreateOptions{})
	s.must(err)
	s.Cleanup(func() { s.tidy(attachments.Delete(s.late(), attachment.Name, metav1.DeleteOptions{})) })
}

// attachElsewhere attaches the disk to another VM, as a user of vCenter does.
func (s *faultScene) attachElsewhere(c *faultyClaim) {
	s.Helper()
	other := storageFault{name: "other", vm: func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.PowerState = vmv1alpha1.PoweredOff }}
	_, err := s.vms.Create(s.Context(), s.machine(other), metav1.CreateOptions{})
	s.must(err)
	s.Wants("vm/other", ".status.powerState", "PoweredOff")
	vm := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: s.Get("vm/other", ".status.uniqueID")}
	service, err := cns.NewClient(s.Context(), s.vcenter.Client)
	s.must(err)
	task, err := service.AttachVolume(s.Context(), []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: c.id}, Vm: vm}})
	s.must(err)
	s.must(task.Wait(s.Context()))
}

// attached waits until the virtual machine of a row has its disk and runs.
func (s *faultScene) attached(name string) {
	s.Helper()
	s.Wants("vm/"+name, testenv.VolumeStatus("data", "attached"), "true")
	s.Wants("vm/"+name, ".status.powerState", "PoweredOn")
}

// drop removes the volume from the spec.
func (s *faultScene) drop(c *faultyClaim) {
	_, err := s.vms.Patch(s.Context(), c.pvc.Name, types.MergePatchType, []byte(`{"spec":{"volumes":null}}`), metav1.PatchOptions{})
	s.must(err)
}

// grow increases the size of the claim.
func (s *faultScene) grow(c *faultyClaim) {
	_, err := s.host.CoreV1().PersistentVolumeClaims(s.Namespace).Patch(s.Context(), c.pvc.Name, types.MergePatchType,
		[]byte(`{"spec":{"resources":{"requests":{"storage":"30Mi"}}}}`), metav1.PatchOptions{})
	s.must(err)
}

// snapshot creates a snapshot of the vSphere VM that has the disk.
func (s *faultScene) snapshot(c *faultyClaim) {
	s.Helper()
	task, err := s.made(c.pvc.Name).CreateSnapshot(s.Context(), "before", "", false, false)
	s.must(err)
	s.must(task.Wait(s.Context()))
}

// made returns the vSphere VM of a row.
func (s *faultScene) made(name string) *object.VirtualMachine {
	id := s.Get("vm/"+name, ".status.uniqueID")
	return object.NewVirtualMachine(s.vcenter.Client, vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: id})
}

// awaitResults waits until every row has the expected result. Operations that are retried have reason InProgress until then.
func (s *faultScene) awaitResults(rows ...storageFault) {
	s.Helper()
	left := map[string]error{}
	for _, row := range rows {
		left[row.name] = nil
	}
	err := wait.PollUntilContextTimeout(s.Context(), 500*time.Millisecond, faultDeadline, true, func(ctx context.Context) (bool, error) {
		list, err := s.vms.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, row := range rows {
			if _, waits := left[row.name]; !waits {
				continue
			}
			if left[row.name] = s.judge(row, list.Items); left[row.name] == nil {
				delete(left, row.name)
			}
		}
		return len(left) == 0, nil
	})
	for name, wrong := range left {
		s.Errorf("%s: %v: %v", name, err, wrong)
	}
}

// judge returns the difference from the expected result of a row.
func (s *faultScene) judge(row storageFault, vms []vmv1alpha1.VirtualMachine) error {
	for i := range vms {
		if vms[i].Name != row.name {
			continue
		}
		c := conditions.Find(vms[i].Status.Conditions, row.condition)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != row.reason {
			return fmt.Errorf("want %s=False %s; it has %s", row.condition, row.reason, brief(vms[i].Status.Conditions))
		}
		for _, text := range row.says {
			if text = strings.ReplaceAll(text, "{id}", s.claims[row.name].id); !strings.Contains(c.Message, text) {
				return fmt.Errorf("message of %s is %q, without %q", row.condition, c.Message, text)
			}
		}
		return nil
	}
	return errors.New("there is no such virtual machine")
}

// brief returns the conditions that are not True.
func brief(all []metav1.Condition) string {
	var out []string
	for _, c := range all {
		if c.Status != metav1.ConditionTrue {
			out = append(out, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	return strings.Join(out, "; ")
}

// end ends the faults, deletes all objects and checks that the disks exist.
func (s *faultScene) end() {
	s.Helper()
	for _, row := range serviceFaults {
		if strings.HasPrefix(row.order, "/volumes/fault") {
			testenv.Order(s.T, http.MethodDelete, strings.ReplaceAll(row.order, "{id}", s.claims[row.name].id))
		}
	}
	// A VM is not destroyed while a snapshot contains the disk.
	task, err := s.made("has-snapshots").RemoveAllSnapshot(s.Context(), nil)
	s.must(err)
	s.must(task.Wait(s.Context()))
	s.Kubectl("delete", "vm", "--all", "--timeout=110s")
	testenv.Gone(s.T, s.Namespace)
	for row, id := range s.disks {
		if _, err := s.datastore.Stat(s.Context(), "fcd/"+id+"-flat.vmdk"); err != nil {
			s.Errorf("%s: the disk of its claim: %v", row, err)
		}
	}
	_, err = s.host.CoreV1().PersistentVolumeClaims(s.Namespace).Patch(s.Context(), "deleted", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	s.tidy(err)
}

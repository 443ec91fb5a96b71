// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func boots(b vmv1alpha1.VirtualMachineBootstrap) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Bootstrap = &b }
}

func cloudInit(secret, key string) func(*vmv1alpha1.VirtualMachine) {
	return boots(vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{
		RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: secret, Key: key}}})
}

func TestGather_ReportsAllMissingPrerequisites(t *testing.T) {
	h := newHarness(t, fresh(cloudInit("data", "")))
	result := h.mustReconcile()
	if want := (controller.Result{RequeueAfter: controller.Recheck}); result != want {
		t.Errorf("result %+v, want %+v because Secrets are not watched", result, want)
	}
	for conditionType, want := range map[string]string{
		vmv1alpha1.ConditionImageReady:     "False/NotFound",
		vmv1alpha1.ConditionBootstrapReady: "False/NotFound",
		vmv1alpha1.ConditionCreated:        "False/WaitingForPrerequisites",
		vmv1alpha1.ConditionReady:          "False/WaitingForPrerequisites",
	} {
		if got := h.condition(conditionType); got != want {
			t.Errorf("%s is %s, want %s", conditionType, got, want)
		}
	}
	if req := h.provider.requests[0]; req.PrerequisitesReady || req.Image != nil || req.Bootstrap != nil {
		t.Errorf("request %+v, want one that creates nothing", req)
	}
	if s := h.vm().Status; s.Phase != vmv1alpha1.PhasePending || s.PrintableStatus != "ImageNotFound" {
		t.Errorf("phase %s, printableStatus %s; want Pending, ImageNotFound", s.Phase, s.PrintableStatus)
	}

	h.secret("data", map[string][]byte{"user-data": []byte("#cloud-config")})
	if err := h.api.Tracker().Add(photon()); err != nil {
		t.Fatal(err)
	}
	h.mustReconcile()
	req := h.provider.requests[1]
	if !req.PrerequisitesReady || req.Image == nil || string(req.Bootstrap.CloudConfig) != "#cloud-config" {
		t.Errorf("request %+v, want a complete one after both were created", req)
	}
}

func TestGather_PollsOnlyUnwatchedObjects(t *testing.T) {
	tests := map[string]struct {
		matcher vmv1alpha1.InstancetypeMatcher
		want    controller.Result
	}{
		"instance type":    {vmv1alpha1.InstancetypeMatcher{Name: "gone"}, controller.Result{}},
		"claim":            {vmv1alpha1.InstancetypeMatcher{InferFromVolume: "data"}, controller.Result{RequeueAfter: controller.Recheck}},
		"pinned revision":  {vmv1alpha1.InstancetypeMatcher{Name: "gone", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "gone"}}, controller.Result{RequeueAfter: controller.Recheck}},
		"by the old field": {vmv1alpha1.InstancetypeMatcher{Name: "gone", RevisionName: "gone"}, controller.Result{RequeueAfter: controller.Recheck}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) {
				vm.Spec.CPU, vm.Spec.Memory, vm.Spec.Instancetype = nil, nil, &test.matcher
				claim := &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "gone"}
				vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "data", PersistentVolumeClaim: claim}}
			}), photon())
			if result := h.mustReconcile(); result != test.want {
				t.Errorf("result %+v, want %+v", result, test.want)
			}
		})
	}
}

func TestBootstrap_ReadsTheReferencedSecrets(t *testing.T) {
	tests := map[string]struct {
		spec vmv1alpha1.VirtualMachineBootstrap
		want provider.BootstrapData
	}{
		"no Secret": {
			vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}},
			provider.BootstrapData{},
		},
		"user data under its own key": {
			vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "s", Key: "mine"}}},
			provider.BootstrapData{CloudConfig: []byte("#!m")},
		},
		"answer file under the default key": {
			vmv1alpha1.VirtualMachineBootstrap{Sysprep: &vmv1alpha1.SysprepBootstrap{RawSysprep: &vmv1alpha1.SecretKeySelector{Name: "s"}}},
			provider.BootstrapData{Sysprep: provider.SysprepData{Unattend: "u"}},
		},
		"properties of the spec override those of the Secret": {
			vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{RawProperties: "s", Properties: map[string]string{"mine": "spec"}}},
			provider.BootstrapData{VAppProperties: map[string]string{"mine": "spec", "unattend": "u", "user-data": "d"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(boots(test.spec)), photon())
			h.secret("s", map[string][]byte{"mine": []byte("#!m"), "unattend": []byte("u"), "user-data": []byte("d")})
			h.mustReconcile()
			if diff := cmp.Diff(&test.want, h.provider.requests[0].Bootstrap); diff != "" {
				t.Errorf("bootstrap data (-want +got):\n%s", diff)
			}
			if got := h.condition(vmv1alpha1.ConditionBootstrapReady); got != "True/Succeeded" {
				t.Errorf("BootstrapReady is %s, want True/Succeeded", got)
			}
		})
	}
}

func TestBootstrap_ReportsAMissingKey(t *testing.T) {
	h := newHarness(t, fresh(cloudInit("s", "other")), photon())
	h.secret("s", map[string][]byte{"user-data": nil})
	h.mustReconcile()
	if got := findCondition(h.vm(), vmv1alpha1.ConditionBootstrapReady).Message; got != `spec.bootstrap.cloudInit.rawCloudConfig: Secret "s" in namespace "ns" has no key "other"` {
		t.Errorf("message %q, want the Secret and the key", got)
	}
}

// Threat S2 of docs/hardening.md.
func TestBootstrap_ReportsPropertiesThatVSphereWouldChange(t *testing.T) {
	for name, value := range map[string]string{
		"escape": "hunter2\u001b", "carriage return": "hunter2\r\n", "no UTF-8": "hunter2\xff",
		"too long": "hunter2" + strings.Repeat("x", bounds.MaxProperty),
	} {
		t.Run(name, func(t *testing.T) {
			properties := func(override map[string]string) func(*vmv1alpha1.VirtualMachine) {
				return boots(vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{RawProperties: "s", Properties: override}})
			}
			h := newHarness(t, fresh(properties(nil)), photon())
			h.secret("s", map[string][]byte{"good": []byte("-----BEGIN\n\tx\n"), "password": []byte(value)})
			result := h.mustReconcile()
			if got := h.condition(vmv1alpha1.ConditionBootstrapReady); got != "False/Invalid" {
				t.Errorf("BootstrapReady is %s, want False/Invalid", got)
			}
			got := findCondition(h.vm(), vmv1alpha1.ConditionBootstrapReady).Message
			if !strings.Contains(got, `key "password" of Secret "s"`) || strings.Contains(got, "hunter2") {
				t.Errorf("message %q, want the key and not the value", got)
			}
			if result.RequeueAfter != controller.Recheck {
				t.Errorf("result %+v, want a requeue because Secrets are not watched", result)
			}

			h = newHarness(t, fresh(properties(map[string]string{"password": "spec"})), photon())
			h.secret("s", map[string][]byte{"password": []byte(value)})
			h.mustReconcile()
			if got := h.condition(vmv1alpha1.ConditionBootstrapReady); got != "True/Succeeded" {
				t.Errorf("BootstrapReady is %s although the spec overrides the value", got)
			}
		})
	}
}

// Threat S12 of docs/hardening.md: a user who can create a VM can use any Secret of its namespace and none of another
// namespace, as docs/operations.md describes.
func TestBootstrap_ReadsSecretsOfTheVMsNamespaceOnly(t *testing.T) {
	h := newHarness(t, fresh(cloudInit("any", "")), photon())
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "any"}, Data: map[string][]byte{"user-data": []byte("foreign")}}
	if err := h.host.Tracker().Add(foreign); err != nil {
		t.Fatal(err)
	}
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionBootstrapReady); got != "False/NotFound" {
		t.Errorf("BootstrapReady is %s with a Secret of another namespace, want False/NotFound", got)
	}
	h.secret("any", map[string][]byte{"user-data": []byte("#!own")})
	h.mustReconcile()
	if got := h.provider.requests[1].Bootstrap; got == nil || string(got.CloudConfig) != "#!own" {
		t.Errorf("the guest gets %+v, want the Secret of its namespace", got)
	}
	for _, action := range h.host.Actions() {
		if action.GetResource().Resource == "secrets" && (action.GetVerb() == "list" || action.GetVerb() == "watch" || action.GetNamespace() != "ns") {
			t.Errorf("the server requested to %s secrets in namespace %q, want get in ns", action.GetVerb(), action.GetNamespace())
		}
	}
}

func TestBootstrap_RetriesAnUnreadableSecret(t *testing.T) {
	h := newHarness(t, fresh(cloudInit("s", "")), photon())
	h.host.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errTest })
	if _, err := h.tryReconcile(); !errors.Is(err, errTest) {
		t.Errorf("error %v, want the read error, which is retried", err)
	}
	if got := h.condition(vmv1alpha1.ConditionBootstrapReady); got != "False/Error" {
		t.Errorf("BootstrapReady is %s, want False/Error", got)
	}
}

func TestImage_IsRequiredUnlessAVMIsAdopted(t *testing.T) {
	noImage := func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Image = nil }
	h := newHarness(t, fresh(noImage))
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionImageReady); got != "False/Invalid" {
		t.Errorf("ImageReady is %s, want False/Invalid", got)
	}
	h = newHarness(t, fresh(noImage, func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.ProviderID = "vm-7" }))
	h.mustReconcile()
	if !h.provider.requests[0].PrerequisitesReady {
		t.Error("a virtual machine that adopts a VM waits for an image")
	}
}

func TestImage_WaitsForTheAcceptanceOfItsLicenseAgreement(t *testing.T) {
	licensed := photon()
	licensed.Status = vmv1alpha1.VirtualMachineImageStatus{Type: vmv1alpha1.ImageTypeOVF, EULA: true, Conditions: []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}}}
	h := newHarness(t, fresh(), licensed)
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionImageReady); got != "False/EULANotAccepted" || h.provider.requests[0].PrerequisitesReady {
		t.Errorf("ImageReady is %s, prerequisites ready: %t; want False/EULANotAccepted and not", got, h.provider.requests[0].PrerequisitesReady)
	}
	h = newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.AcceptEULA = true }), licensed)
	h.mustReconcile()
	if got, req := h.condition(vmv1alpha1.ConditionImageReady), h.provider.requests[0]; got != "True/Succeeded" || !req.AcceptEULA || !req.PrerequisitesReady {
		t.Errorf("ImageReady is %s, the provider may accept: %t, prerequisites ready: %t; want all", got, req.AcceptEULA, req.PrerequisitesReady)
	}
}

func TestImage_IsFoundByItsKind(t *testing.T) {
	ofCluster := func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Image.Kind = vmv1alpha1.ClusterImageKind }
	everywhere := &vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "photon", UID: "cluster"}}
	h := newHarness(t, fresh(ofCluster), photon())
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionImageReady); got != "False/NotFound" {
		t.Errorf("ImageReady is %s, want False/NotFound: the namespaced image is another one", got)
	}
	const reverse = "there is a VirtualMachineImage of this name: set kind to VirtualMachineImage"
	if c := findCondition(h.vm(), vmv1alpha1.ConditionImageReady); !strings.Contains(c.Message, reverse) {
		t.Errorf("ImageReady has message %q, want %q in it", c.Message, reverse)
	}
	h = newHarness(t, fresh(ofCluster), photon(), everywhere)
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionImageReady); got != "True/Succeeded" {
		t.Errorf("ImageReady is %s, want True/Succeeded", got)
	}
	if image := h.provider.requests[0].Image; image == nil || image.UID != "cluster" {
		t.Errorf("the provider got image %+v, want the cluster's image", image)
	}
	h = newHarness(t, fresh(), everywhere)
	h.mustReconcile()
	if got := h.condition(vmv1alpha1.ConditionImageReady); got != "False/NotFound" {
		t.Errorf("ImageReady is %s, want False/NotFound: the cluster's image is another one", got)
	}
	const hint = "there is a ClusterVirtualMachineImage of this name: set kind to ClusterVirtualMachineImage"
	if c := findCondition(h.vm(), vmv1alpha1.ConditionImageReady); !strings.Contains(c.Message, hint) {
		t.Errorf("ImageReady has message %q, want %q in it", c.Message, hint)
	}
	h = newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Image.Name = "photn" }), photon())
	h.mustReconcile()
	const meant = `VirtualMachineImage "photn" does not exist in namespace "ns", did you mean "photon"?`
	if c := findCondition(h.vm(), vmv1alpha1.ConditionImageReady); c.Message != meant {
		t.Errorf("ImageReady has message %q, want %q", c.Message, meant)
	}
}

func TestGather_RequiresASize(t *testing.T) {
	h := newHarness(t, fresh(func(vm *vmv1alpha1.VirtualMachine) {
		vm.Spec.CPU, vm.Spec.Memory, vm.Spec.ClassName = nil, nil, "gone"
	}), photon())
	h.mustReconcile()
	if req := h.provider.requests[0]; req.PrerequisitesReady || req.Effective != nil {
		t.Errorf("request %+v, want one that creates nothing", req)
	}
}

func TestCreatedVM_ReadsNoPrerequisites(t *testing.T) {
	h := newHarness(t, running(cloudInit("gone", "")))
	h.mustReconcile()
	if got := h.host.Actions(); len(got) != 0 {
		t.Errorf("calls of the management cluster %v, want none", got)
	}
	if h.condition(vmv1alpha1.ConditionImageReady) != "" || h.condition(vmv1alpha1.ConditionBootstrapReady) != "" {
		t.Error("prerequisites of the create were evaluated after the create")
	}
}

// Unmet prerequisites of a create do not matter for a VM that exists, for example for a recovered one.
func TestCreatedVM_RemovesUnmetCreatePrerequisites(t *testing.T) {
	h := newHarness(t, running(failing(vmv1alpha1.ConditionImageReady, vmv1alpha1.ReasonNotFound),
		failing(vmv1alpha1.ConditionPlacementReady, vmv1alpha1.ReasonNoZone), failing(vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ReasonNotFound)))
	h.mustReconcile()
	for kind, want := range map[string]string{
		vmv1alpha1.ConditionImageReady: "", vmv1alpha1.ConditionPlacementReady: "", vmv1alpha1.ConditionNetworkReady: "False/NotFound",
	} {
		if got := h.condition(kind); got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
}

func TestGather_ReportsConflictsWithTheImage(t *testing.T) {
	yes := true
	appliance := photon()
	appliance.Status = vmv1alpha1.VirtualMachineImageStatus{
		Type: vmv1alpha1.ImageTypeTemplate, Firmware: vmv1alpha1.BootloaderBIOS,
		Properties: []vmv1alpha1.VirtualMachineImageProperty{{Key: "password", UserConfigurable: true, Required: true}},
		Conditions: []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
	}
	vApp := boots(vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{RawProperties: "data"}})
	for name, tc := range map[string]struct {
		vm          *vmv1alpha1.VirtualMachine
		secret      map[string][]byte
		condition   string
		wantMessage string
	}{
		"secure boot on BIOS": {fresh(vApp, func(vm *vmv1alpha1.VirtualMachine) {
			vm.Spec.Firmware = &vmv1alpha1.VirtualMachineFirmware{SecureBoot: &yes}
		}), map[string][]byte{"password": []byte("hunter2")}, vmv1alpha1.ConditionImageReady, "spec.firmware.secureBoot"},
		"a property that the Secret lacks": {fresh(vApp), map[string][]byte{}, vmv1alpha1.ConditionBootstrapReady, "properties[password]: Required value"},
		"a property of the Secret that the image lacks": {fresh(vApp), map[string][]byte{"password": []byte("hunter2"), "x": []byte("hunter2")},
			vmv1alpha1.ConditionBootstrapReady, `Invalid value: "x"`},
		"no bootstrap":   {fresh(), nil, vmv1alpha1.ConditionBootstrapReady, "properties[password]: Required value"},
		"all properties": {fresh(vApp), map[string][]byte{"password": []byte("hunter2")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, tc.vm, appliance.DeepCopy())
			h.secret("data", tc.secret)
			h.mustReconcile()
			if ready := h.provider.requests[0].PrerequisitesReady; ready != (tc.condition == "") {
				t.Errorf("it may be created: %v", ready)
			}
			if tc.condition == "" {
				return
			}
			c := findCondition(h.vm(), tc.condition)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != vmv1alpha1.ReasonInvalid || !strings.Contains(c.Message, tc.wantMessage) || strings.Contains(c.Message, "hunter2") {
				t.Errorf("%s is %+v, want False Invalid with %q and no value", tc.condition, c, tc.wantMessage)
			}
		})
	}
}

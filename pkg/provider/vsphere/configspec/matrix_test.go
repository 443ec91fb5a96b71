// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/validation"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// outcome is the result of a change of one field.
type outcome string

const (
	// isApplied: a reconfiguration starts immediately, and afterwards the conditions are True.
	isApplied outcome = "applied"
	// restarts: status.restartRequired lists it.
	restarts outcome = "restartRequired"
	// guest: GuestNetworkSynced is False and names it.
	guest outcome = "GuestNetworkSynced"
	// deviates: ConfigurationSynced is False with the reason NotApplied and names it.
	deviates outcome = "ConfigurationSynced NotApplied"
	// invalid: ConfigurationSynced is False with the reason Invalid and names it.
	invalid outcome = "ConfigurationSynced Invalid"
	// refused: the API refuses the change.
	refused outcome = "refused"
	// warned: the field has no effect on vSphere. ConfigurationSynced or an API warning names it.
	warned outcome = "without effect on vSphere"
	// elsewhere: the field is not part of the VM's configuration. Another step of the reconcile, or the next
	// operation, uses it.
	elsewhere outcome = "used elsewhere"
)

// matrixStates are the states in which the field is changed: running after the first boot, off before the first
// boot, and off after it.
var matrixStates = []string{"running", "off", "off after the first boot"}

// matrixRow is a change of one field, with its outcomes by state. A single outcome applies to all states.
type matrixRow struct {
	// path is the field's path; [] is the first entry of a list.
	path string
	// to is the new value in YAML; empty removes the field.
	to string
	// base is the name of an entry in matrixBases. Empty means the spec with all hardware.
	base     string
	outcomes []outcome
}

// leafPaths returns the paths of a type's fields that have no subfields.
func leafPaths(t reflect.Type, path string) []string {
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
	case t.Kind() == reflect.Pointer:
		return leafPaths(t.Elem(), path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return leafPaths(t.Elem(), path+"[]")
	case t.Kind() == reflect.Struct:
		var out []string
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			out = append(out, leafPaths(t.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
		}
		return out
	}
	return []string{path}
}

// setPath sets a value by its path, or removes it if value is nil.
func setPath(in any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	name, isList := strings.CutSuffix(path[0], "[]")
	fields, _ := in.(map[string]any)
	if fields == nil {
		fields = map[string]any{}
	}
	next := fields[name]
	if isList {
		list, _ := next.([]any)
		switch {
		case len(path) == 1 && value == nil:
			next = slices.Delete(slices.Clone(list), 0, 1)
		case len(list) == 0:
			next = []any{setPath(nil, path[1:], value)}
		default:
			next = slices.Clone(list)
			next.([]any)[0] = setPath(list[0], path[1:], value)
		}
	} else {
		next = setPath(next, path[1:], value)
	}
	if next == nil {
		delete(fields, name)
	} else {
		fields[name] = next
	}
	return fields
}

// specs returns the object of a row before and after its change.
func (r *matrixRow) specs(t *testing.T) (before, after *vmv1alpha1.VirtualMachine) {
	t.Helper()
	object := func(fields any) *vmv1alpha1.VirtualMachine {
		text, err := json.Marshal(map[string]any{"spec": fields})
		vm := &vmv1alpha1.VirtualMachine{}
		if err == nil {
			err = yaml.UnmarshalStrict(text, vm)
		}
		if err != nil {
			t.Fatal(err)
		}
		vm.ObjectMeta = metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid", Generation: 1, ResourceVersion: "1"}
		return vm
	}
	var fields, value any
	for text, into := range map[string]*any{"{" + matrixBases[r.base] + "}": &fields, r.to: &value} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	before = object(fields)
	return before, object(setPath(fields, strings.Split(r.path, "."), value))
}

// matrixMachine compares in the same way as the driver.
type matrixMachine struct {
	driver.Machine
	vm *mo.VirtualMachine
}

func (m matrixMachine) Compare(w *driver.Desired) driver.Comparison {
	want := matrixWant(*w)
	c := driver.Comparison{Refused: Refused(want, m.vm), NotApplied: NotApplied(want, m.vm), Deviations: Deviations(want, m.vm)}
	for _, d := range Differences(want, m.vm) {
		c.Differences = append(c.Differences, driver.Difference{Path: d.Path, Running: d.Running, Desired: d.Desired, Live: d.Live, FirstBoot: d.FirstBoot, IsMetadata: d.IsMetadata(), Change: d})
	}
	return c
}

func (matrixMachine) Configure(changes []driver.Difference) driver.Operation {
	return driver.Operation{Kind: driver.KindReconfigure}
}

func (matrixMachine) Record() string { return "" }

func (matrixMachine) MissingMetadata(*driver.Desired, int) []driver.Difference { return nil }

func (matrixMachine) StoreRecord(driver.Record) driver.Difference {
	return driver.Difference{Path: "metadata.record", Live: true, IsMetadata: true, Desired: "record"}
}

// matrixWant adds vCenter's values for a spec.
func matrixWant(w driver.Desired) Desired {
	out := Desired{Desired: w, PlacesClaims: true, Backings: map[string]types.BaseVirtualDeviceBackingInfo{"": backing("VM Network"), "other": backing("other")}, HostMHz: 2000}
	out.Storage.Policies = map[string]storage.Policy{"gold": {ID: "1", Name: "Gold"}, "silver": {ID: "2", Name: "Silver"}, "": {}}
	out.ISOs = map[string]string{"iso": "[ds] iso.iso"}
	return out
}

// want returns the desired configuration of a row's object.
func (r *matrixRow) want(t *testing.T, vm *vmv1alpha1.VirtualMachine) driver.Desired {
	t.Helper()
	in := apply.Inputs{}
	if vm.Spec.Instancetype != nil {
		in.Instancetype = &itv1alpha1.VirtualMachineInstancetypeSpec{
			CPU: itv1alpha1.CPUInstancetype{Guest: 2}, Memory: itv1alpha1.MemoryInstancetype{Guest: resource.MustParse("4Gi")},
		}
	}
	effective, err := apply.Effective(vm, in)
	if err != nil {
		t.Fatalf("%s: the effective spec: %v", r.path, err)
	}
	return driver.Desired{Desired: provider.Desired{Effective: effective, Claims: map[string]provider.Claim{"claim": {VolumeID: "fcd-1"}}},
		Identity: driver.Identity{Key: want().Identity.Key, UID: "uid", InstanceUUID: "ab"}, Name: "web", ProviderID: vm.Spec.ProviderID}
}

// created returns the VM of an object before its first boot.
func (r *matrixRow) created(t *testing.T, vm *vmv1alpha1.VirtualMachine) *mo.VirtualMachine {
	t.Helper()
	w := matrixWant(r.want(t, vm))
	w.Bootstrap = &provider.BootstrapData{CloudConfig: []byte("#cloud-config\n"), Ignition: []byte("{}"), VAppProperties: map[string]string{"user": "admin"}}
	out := createdVM(w.Effective)
	out.Name, out.Config.InstanceUuid, out.Config.Files.VmPathName = "web", "ab", "[ds] web/web.vmx"
	withDisks(out)
	boot := diskOfVM(out, 2000)
	boot.Backing = &types.VirtualDiskFlatVer2BackingInfo{Uuid: "boot-uuid", DiskMode: string(types.VirtualDiskModePersistent), ThinProvisioned: ptr(true)}
	diskOfVM(out, 2001).Backing.(*types.VirtualDiskFlatVer2BackingInfo).ThinProvisioned = ptr(true)
	claim := diskAt(2002, 1000, 2, 1<<30)
	claim.VDiskId = &types.ID{Id: "fcd-1"}
	claim.Backing.(*types.VirtualDiskFlatVer2BackingInfo).DiskMode = string(types.VirtualDiskModePersistent)
	out.Config.Hardware.Device = append(out.Config.Hardware.Device, claim)
	out.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	w.New = true
	settle(w, out)
	w.New, w.Bootstrap = false, nil
	settle(w, out)
	if left := Differences(w, out); len(left) > 0 {
		t.Fatalf("%s: the VM differs from its spec: %+v", r.path, left)
	}
	return out
}

// settle applies differences until there are none, because one may depend on another.
func settle(w Desired, vm *mo.VirtualMachine) {
	for range 4 {
		for _, d := range Differences(w, vm) {
			var spec types.VirtualMachineConfigSpec
			d.set(&spec)
			setByReconfiguration(vm, &spec)
			if version := Upgrade([]Difference{d}); version != "" {
				vm.Config.Version = version
			}
		}
	}
}

// report returns the plan for an object and a VM.
func (r *matrixRow) report(t *testing.T, obj *vmv1alpha1.VirtualMachine, vm *mo.VirtualMachine) plan.Plan {
	t.Helper()
	w := r.want(t, obj)
	in := plan.Input{VM: obj.DeepCopy(), Want: &w, Machine: matrixMachine{vm: vm}, Now: time.Unix(1_700_000_000, 0)}
	in.Observation.Readable, in.Observation.PowerState = true, vmv1alpha1.PoweredOff
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		in.Observation.PowerState = vmv1alpha1.PoweredOn
	}
	in.VM.Spec.PowerState, in.VM.Spec.NextRestartTime, in.VM.Spec.CurrentSnapshotName = in.Observation.PowerState, "", ""
	in.Observation.RecordHead = vmrecord.HeadOf(in.VM)
	in.Observation.Set(GuestNetwork(Desired{Desired: w}, vm, nil, true))
	out, _ := plan.Make(in)
	for _, c := range in.Observation.Conditions {
		meta.SetStatusCondition(&out.Conditions, c)
	}
	return out
}

// entryName matches the name of a list entry in a path.
var entryName = regexp.MustCompile(`\[[^]]*\]`)

// names reports whether a text contains a field's path or a part of it.
func names(text, path string) bool {
	text = entryName.ReplaceAllString(text, "[]")
	if path == "network.disabled" {
		path = "network.interfaces"
	}
	for path != "" {
		if strings.Contains(text, path) {
			return true
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		if !strings.ContainsAny(path, ".[") && path != "volumes" && path != "bootstrap" && path != "bootOrder" {
			break
		}
	}
	return false
}

// texts formats conditions without times.
func texts(all []metav1.Condition) string {
	out := ""
	for _, c := range all {
		out += fmt.Sprintf("%s %s %s %s; ", c.Type, c.Status, c.Reason, c.Message)
	}
	return out
}

func condition(p *plan.Plan, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(p.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// outcomeIn returns the outcome of a row's change in a state.
func (r *matrixRow) outcomeIn(t *testing.T, state string) (outcome, string) {
	t.Helper()
	before, after := r.specs(t)
	if errs := validation.ValidateVirtualMachine(before); len(errs) > 0 {
		t.Fatalf("%s: the spec before the change is refused: %v", r.path, errs)
	}
	if errs := validation.ValidateVirtualMachineUpdate(after, before); len(errs) > 0 {
		return refused, errs.ToAggregate().Error()
	}
	vm := r.created(t, before)
	if state != "off" {
		setManually(observe.CloudInitRead[0], "192.0.2.5")(vm)
	}
	if state == "running" {
		vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	}
	was, p := r.report(t, before, vm), r.report(t, after, vm)
	config, guestNetwork := condition(&p, vmv1alpha1.ConditionConfigurationSynced), condition(&p, vmv1alpha1.ConditionGuestNetworkSynced)
	all := fmt.Sprintf("%s %s %q, GuestNetworkSynced %s %q", config.Status, config.Reason, config.Message, guestNetwork.Status, guestNetwork.Message)
	path, required := r.path, ""
	if alias, ok := matrixAliases[path]; ok {
		path = alias
	}
	for _, one := range p.RestartRequired {
		required += one.Path + " "
	}
	switch {
	case p.Operation != nil && p.Operation.Kind == driver.KindReconfigure && (names(config.Message, path) || strings.Contains(config.Message, "metadata.guest")):
		w := matrixWant(r.want(t, after))
		settle(w, vm)
		done := r.report(t, after, vm)
		if c := condition(&done, vmv1alpha1.ConditionConfigurationSynced); c.Status != metav1.ConditionTrue {
			return "applied, and then " + outcome(c.Reason), c.Message
		}
		if c := condition(&done, vmv1alpha1.ConditionGuestNetworkSynced); c.Status == metav1.ConditionFalse {
			return guest, c.Message
		}
		return isApplied, all
	case config.Reason == vmv1alpha1.ReasonInvalid && names(config.Message, r.path):
		return invalid, all
	case config.Status == metav1.ConditionFalse && config.Reason == vmv1alpha1.ReasonNotApplied && names(config.Message, r.path):
		return deviates, all
	case guestNetwork.Status == metav1.ConditionFalse && names(guestNetwork.Message, r.path):
		return guest, all
	case names(required, path):
		return restarts, all
	case p.Operation != nil && p.Operation.Kind == driver.KindReconfigure:
		return "a reconfiguration that does not name the field", all
	case strings.Contains(config.Message, "not applied: ") && names(config.Message, r.path),
		slices.ContainsFunc(validation.VirtualMachineWarnings(&after.Spec, nil), func(w string) bool { return names(w, r.path) }):
		return warned, all
	case texts(was.Conditions) != texts(p.Conditions):
		return "conditions that do not name the field", all
	}
	return elsewhere, all
}

func TestFieldMatrix_EveryFieldHasAnOutcomeInEveryState(t *testing.T) {
	missing := map[string]bool{}
	for _, path := range leafPaths(reflect.TypeFor[vmv1alpha1.VirtualMachineSpec](), "") {
		missing[path] = true
	}
	for i := range matrix {
		r := &matrix[i]
		delete(missing, r.path)
		if r.outcomes == nil {
			t.Errorf("%s has no outcome", r.path)
			continue
		}
		t.Run(r.path+" "+r.to, func(t *testing.T) {
			for n, state := range matrixStates {
				want := r.outcomes[min(n, len(r.outcomes)-1)]
				if got, why := r.outcomeIn(t, state); got != want {
					t.Errorf("%s: %s, want %s: %s", state, got, want, why)
				}
			}
		})
	}
	for _, path := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s is a field of VirtualMachineSpec and has no row in the matrix", path)
	}
}

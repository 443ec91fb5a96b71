// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/cluster"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machine"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinedeployment"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinedrainrule"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machinehealthcheck"
	"github.com/slipway-dev/slipway/pkg/registry/cluster/machineset"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/instancetype"
	"github.com/slipway-dev/slipway/pkg/registry/instancetype/preference"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/contentlibrary"
	"github.com/slipway-dev/slipway/pkg/registry/vm/slipwaycluster"
	"github.com/slipway-dev/slipway/pkg/registry/vm/vcenter"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineclass"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinegroup"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimage"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachineimagecache"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinepublishrequest"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinesnapshot"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachinetemplate"
	"github.com/slipway-dev/slipway/pkg/registry/vm/zone"
)

// most contains the maximum number of entries of every list and map that users write.
var most = map[string]int{
	"virtualmachines spec.volumes":                                  256,
	"virtualmachines spec.devices.gpus":                             16,
	"virtualmachines spec.devices.hostDevices":                      32,
	"virtualmachines spec.network.interfaces":                       10,
	"virtualmachines spec.network.interfaces[0].addresses":          64,
	"virtualmachines spec.bootOrder":                                16,
	"virtualmachines spec.network.interfaces[0].addressesFromPools": 8,
	"virtualmachines spec.network.nameservers":                      16,
	"virtualmachines spec.network.searchDomains":                    32,
	"virtualmachines spec.readinessProbe.guestInfo":                 16,
	"virtualmachines spec.bootstrap.vAppConfig.properties":          256,
	"virtualmachines spec.bootstrap.cloudInit.sshAuthorizedKeys":    16,
	"virtualmachines spec.bootstrap.sysprep.answers.runOnce":        64,
	"contentlibraries spec.defaults":                                64, "contentlibraries spec.exclude": 64, "contentlibraries spec.include": 64,
	"contentlibraries spec.publishFrom.matchExpressions": 64, "contentlibraries spec.publishFrom.matchExpressions[0].values": 64,
	"contentlibraries spec.publishFrom.matchLabels": 64, "virtualmachineimagecaches spec.locations": 64,
	"virtualmachinegroups spec.bootOrder":                                                 64,
	"virtualmachinegroups spec.bootOrder[0].members":                                      256,
	"virtualmachineclasses spec.devices.gpus":                                             16,
	"virtualmachineclasses spec.devices.hostDevices":                                      32,
	"virtualmachineinstancetypes spec.gpus":                                               16,
	"virtualmachineinstancetypes spec.hostDevices":                                        32,
	"virtualmachineinstancetypes spec.nodeSelector":                                       64,
	"virtualmachineinstancetypes spec.annotations":                                        512,
	"virtualmachineclusterinstancetypes spec.gpus":                                        16,
	"virtualmachineclusterinstancetypes spec.hostDevices":                                 32,
	"virtualmachineclusterinstancetypes spec.nodeSelector":                                64,
	"virtualmachineclusterinstancetypes spec.annotations":                                 512,
	"virtualmachinepreferences spec.annotations":                                          512,
	"virtualmachinepreferences spec.cpu.preferredCPUFeatures":                             512,
	"virtualmachineclusterpreferences spec.annotations":                                   512,
	"virtualmachineclusterpreferences spec.cpu.preferredCPUFeatures":                      512,
	"zones spec.devices":                                                                  256,
	"zones spec.devices[0].namespaceSelector.matchExpressions":                            64,
	"zones spec.devices[0].namespaceSelector.matchExpressions[0].values":                  64,
	"zones spec.devices[0].namespaceSelector.matchLabels":                                 64,
	"zones spec.namespaceSelector.matchExpressions":                                       64,
	"zones spec.namespaceSelector.matchExpressions[0].values":                             64,
	"zones spec.namespaceSelector.matchLabels":                                            64,
	"zones spec.networks":                                                                 256,
	"zones spec.networks[0].namespaceSelector.matchExpressions":                           64,
	"zones spec.networks[0].namespaceSelector.matchExpressions[0].values":                 64,
	"zones spec.networks[0].namespaceSelector.matchLabels":                                64,
	"zones spec.resourcePools":                                                            32,
	"zones spec.storage.classes":                                                          64,
	"zones spec.storage.classes[0].datastores":                                            64,
	"zones spec.storage.datastores":                                                       64,
	"clusters spec.clusterNetwork.pods.cidrBlocks":                                        100,
	"clusters spec.clusterNetwork.services.cidrBlocks":                                    100,
	"machinedeployments spec.selector.matchExpressions":                                   64,
	"machinedeployments spec.selector.matchExpressions[0].values":                         64,
	"machinedeployments spec.selector.matchLabels":                                        64,
	"machinedeployments spec.template.metadata.annotations":                               512,
	"machinedeployments spec.template.metadata.labels":                                    512,
	"machinedeployments spec.template.spec.readinessGates":                                32,
	"machinedeployments spec.template.spec.taints":                                        64,
	"machinedrainrules spec.machines":                                                     32,
	"machinedrainrules spec.machines[0].clusterSelector.matchExpressions":                 64,
	"machinedrainrules spec.machines[0].clusterSelector.matchExpressions[0].values":       64,
	"machinedrainrules spec.machines[0].clusterSelector.matchLabels":                      64,
	"machinedrainrules spec.machines[0].selector.matchExpressions":                        64,
	"machinedrainrules spec.machines[0].selector.matchExpressions[0].values":              64,
	"machinedrainrules spec.machines[0].selector.matchLabels":                             64,
	"machinedrainrules spec.pods":                                                         32,
	"machinedrainrules spec.pods[0].namespaceSelector.matchExpressions":                   64,
	"machinedrainrules spec.pods[0].namespaceSelector.matchExpressions[0].values":         64,
	"machinedrainrules spec.pods[0].namespaceSelector.matchLabels":                        64,
	"machinedrainrules spec.pods[0].selector.matchExpressions":                            64,
	"machinedrainrules spec.pods[0].selector.matchExpressions[0].values":                  64,
	"machinedrainrules spec.pods[0].selector.matchLabels":                                 64,
	"machinehealthchecks spec.checks.unhealthyMachineConditions":                          100,
	"machinehealthchecks spec.checks.unhealthyNodeConditions":                             100,
	"machinehealthchecks spec.selector.matchExpressions":                                  64,
	"machinehealthchecks spec.selector.matchExpressions[0].values":                        64,
	"machinehealthchecks spec.selector.matchLabels":                                       64,
	"machines spec.readinessGates":                                                        32,
	"machines spec.taints":                                                                64,
	"machinesets spec.selector.matchExpressions":                                          64,
	"machinesets spec.selector.matchExpressions[0].values":                                64,
	"machinesets spec.selector.matchLabels":                                               64,
	"machinesets spec.template.metadata.annotations":                                      512,
	"machinesets spec.template.metadata.labels":                                           512,
	"machinesets spec.template.spec.readinessGates":                                       32,
	"machinesets spec.template.spec.taints":                                               64,
	"slipwayclusters spec.zones":                                                          100,
	"virtualmachinetemplates spec.template.metadata.annotations":                          512,
	"virtualmachinetemplates spec.template.metadata.labels":                               512,
	"virtualmachinetemplates spec.template.spec.bootOrder":                                16,
	"virtualmachinetemplates spec.template.spec.bootstrap.cloudInit.sshAuthorizedKeys":    16,
	"virtualmachinetemplates spec.template.spec.bootstrap.sysprep.answers.runOnce":        64,
	"virtualmachinetemplates spec.template.spec.bootstrap.vAppConfig.properties":          256,
	"virtualmachinetemplates spec.template.spec.devices.gpus":                             16,
	"virtualmachinetemplates spec.template.spec.devices.hostDevices":                      32,
	"virtualmachinetemplates spec.template.spec.network.interfaces":                       10,
	"virtualmachinetemplates spec.template.spec.network.interfaces[0].addresses":          64,
	"virtualmachinetemplates spec.template.spec.network.interfaces[0].addressesFromPools": 8,
	"virtualmachinetemplates spec.template.spec.network.nameservers":                      16,
	"virtualmachinetemplates spec.template.spec.network.searchDomains":                    32,
	"virtualmachinetemplates spec.template.spec.readinessProbe.guestInfo":                 16,
	"virtualmachinetemplates spec.template.spec.volumes":                                  256,
}

func TestKinds_ListsAreLimited(t *testing.T) {
	found := map[string]int{}
	everyKind(t, boundedLists{found})
	if diff := cmp.Diff(most, found); diff != "" {
		t.Errorf("lists and their bounds (-want +got):\n%s", diff)
	}
}

func TestKinds_StringsHaveNoControlCharacters(t *testing.T) {
	everyKind(t, strangeText{})
}

func TestKinds_StringsAreLimited(t *testing.T) {
	everyKind(t, longText{})
}

// judge checks one string or list of a kind: set creates an object with it, and validate validates the object.
type judge interface {
	list(t *testing.T, name string, set func(items int), validate func() field.ErrorList)
	text(t *testing.T, name string, set func(string), validate func() field.ErrorList)
}

func everyKind(t *testing.T, j judge) {
	walkKind(t, j, virtualmachine.Kind(time.Now))
	walkKind(t, j, virtualmachineclass.Kind())
	walkKind(t, j, vcenter.Kind())
	walkKind(t, j, zone.Kind())
	walkKind(t, j, contentlibrary.Kind())
	walkKind(t, j, virtualmachineimagecache.Kind())
	walkKind(t, j, virtualmachinepublishrequest.Kind())
	walkKind(t, j, virtualmachinegroup.Kind())
	walkKind(t, j, virtualmachinesnapshot.Kind())
	walkKind(t, j, virtualmachineimage.Namespaced())
	walkKind(t, j, virtualmachineimage.Cluster())
	walkKind(t, j, instancetype.Namespaced())
	walkKind(t, j, instancetype.Cluster())
	walkKind(t, j, preference.Namespaced())
	walkKind(t, j, preference.Cluster())
	walkKind(t, j, virtualmachinetemplate.Kind())
	walkKind(t, j, slipwaycluster.Kind())
	walkKind(t, j, cluster.Kind())
	walkKind(t, j, machine.Kind())
	walkKind(t, j, machineset.Kind())
	walkKind(t, j, machinedeployment.Kind())
	walkKind(t, j, machinehealthcheck.Kind())
	walkKind(t, j, machinedrainrule.Kind())
}

func walkKind[T runtime.Object](t *testing.T, j judge, kind standard.Kind[T]) {
	s := standard.NewStrategy(scheme.Scheme, kind)
	var obj T
	w := walk{t: t, judge: j, fresh: func() reflect.Value {
		obj = kind.New()
		return reflect.ValueOf(obj).Elem().FieldByName("Spec")
	}, validate: func() field.ErrorList { return s.Validate(t.Context(), obj) }}
	w.value(w.fresh().Type(), kind.Plural.Resource+" spec", func(v reflect.Value) reflect.Value { return v })
}

// walk finds every list and every string of a type. at returns the address of a value in a new spec and creates the
// values on its path.
type walk struct {
	t        *testing.T
	judge    judge
	fresh    func() reflect.Value
	validate func() field.ErrorList
}

func (w *walk) value(typ reflect.Type, name string, at func(reflect.Value) reflect.Value) {
	set := func(value reflect.Value) { at(w.fresh()).Set(value) }
	switch typ.Kind() {
	case reflect.Pointer:
		w.value(typ.Elem(), name, func(v reflect.Value) reflect.Value {
			p := at(v)
			p.Set(reflect.New(typ.Elem()))
			return p.Elem()
		})
	case reflect.String:
		w.judge.text(w.t, name, func(text string) { set(reflect.ValueOf(text).Convert(typ)) }, w.validate)
	case reflect.Slice:
		if typ == reflect.TypeFor[[]byte]() { // data has only a limit of its length
			if j, ok := w.judge.(longText); ok {
				j.text(w.t, name, func(text string) { set(reflect.ValueOf([]byte(text))) }, w.validate)
			}
			return
		}
		w.judge.list(w.t, name, func(items int) { set(reflect.MakeSlice(typ, items, items)) }, w.validate)
		w.value(typ.Elem(), name+"[0]", func(v reflect.Value) reflect.Value {
			l := at(v)
			l.Set(reflect.MakeSlice(typ, 1, 1))
			return l.Index(0)
		})
	case reflect.Map:
		w.judge.list(w.t, name, func(items int) {
			m := map[string]string{}
			for n := range items {
				m[fmt.Sprint(n)] = ""
			}
			set(reflect.ValueOf(m))
		}, w.validate)
		w.judge.text(w.t, name, func(text string) { set(reflect.ValueOf(map[string]string{text: ""})) }, w.validate)
		w.judge.text(w.t, name+"[k]", func(text string) { set(reflect.ValueOf(map[string]string{"k": text})) }, w.validate)
	case reflect.Struct:
		if typ == reflect.TypeFor[resource.Quantity]() || typ == reflect.TypeFor[metav1.Time]() {
			return
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			part := name
			if json, _, _ := strings.Cut(f.Tag.Get("json"), ","); json != "" { // fields of embedded values have no JSON name
				part += "." + json
			}
			w.value(f.Type, part, func(v reflect.Value) reflect.Value { return at(v).Field(i) })
		}
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Array, reflect.Uint8:
		w.t.Errorf("%s is a %s, which has no known limits", name, typ)
	default: // numbers and booleans
	}
}

// path returns the path that errors use for name.
func path(name string) string {
	_, path, _ := strings.Cut(name, " ")
	return path
}

// boundedLists records the maximum number of entries of each list.
type boundedLists struct{ found map[string]int }

func (b boundedLists) list(t *testing.T, name string, set func(int), validate func() field.ErrorList) {
	set(100_000)
	errs := validate()
	if len(errs) != 1 || errs[0].Type != field.ErrorTypeTooMany || errs[0].Field != path(name) {
		t.Errorf("%s with 100,000 entries: %d errors, want one about the list alone", name, len(errs))
		return
	}
	var allowed int
	if _, err := fmt.Sscanf(errs[0].Detail, "must have at most %d items", &allowed); err != nil {
		t.Fatalf("%s: %q: %v", name, errs[0].Detail, err)
	}
	b.found[name] = allowed
	set(allowed)
	for _, err := range validate() {
		if err.Type == field.ErrorTypeTooMany {
			t.Errorf("%s with %d entries: %v", name, allowed, err)
		}
	}
}

func (boundedLists) text(*testing.T, string, func(string), func() field.ErrorList) {}

// strangeText checks that every string rejects control characters.
type strangeText struct{}

func (strangeText) list(*testing.T, string, func(int), func() field.ErrorList) {}

func (strangeText) text(t *testing.T, name string, set func(string), validate func() field.ErrorList) {
	for _, text := range []string{"a\x00", "a\u001b]0;x\u0007", "a\r", "a\u009b", "a\ufffd", "a\u202e", "a\xed\xa0\x80"} {
		set(text)
		errs := validate()
		if len(errs) != 1 || errs[0].Type != field.ErrorTypeInvalid || errs[0].Field != path(name) {
			t.Errorf("%s as %q: errors %v, want one about it", name, text, errs)
		}
	}
}

// longText checks that every string has a limit.
type longText struct{}

func (longText) list(*testing.T, string, func(int), func() field.ErrorList) {}

func (longText) text(t *testing.T, name string, set func(string), validate func() field.ErrorList) {
	set(strings.Repeat("a", 300<<10))
	errs := validate()
	if len(errs) != 1 || errs[0].Type != field.ErrorTypeTooLong || errs[0].Field != path(name) {
		t.Errorf("%s of 300 KiB: %d errors, want one about it", name, len(errs))
	}
}

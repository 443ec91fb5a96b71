// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import (
	"fmt"
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/schema"
)

// oddity is an odd value at a path in a kind.
type oddity struct {
	kind         schema.Kind
	place, value string
}

func (o oddity) String() string { return fmt.Sprintf("%s%s %.60s", o.kind.Name, o.place, o.value) }

const machineKind = "VirtualMachine"

// base is a VM that becomes ready, without its metadata.
const base = `"spec":{"image":{"name":"item"},"cpu":{"sockets":1},"memory":{"guest":"1Gi"},"powerOffMode":"Hard","restartMode":"Hard",
	"volumes":[{"name":"a","disk":{"size":"1Gi"}}],"network":{"interfaces":[{"name":"a"}]}}`

// valid has objects that a VM can use, by kind, if those of package schema refer to objects that do not exist.
var valid = map[string]string{
	machineKind:                  base,
	"VirtualMachineImage":        `"spec":{"contentLibrary":{"library":"slipway","item":"photon-5"}}`,
	"ClusterVirtualMachineImage": `"spec":{"contentLibrary":{"library":"slipway","item":"photon-5"}}`,
}

// references are the paths at which a VM refers to an object of a kind.
var references = map[string]string{
	"VirtualMachineClass":               ".spec.className",
	"VirtualMachineInstancetype":        ".spec.instancetype",
	"VirtualMachineClusterInstancetype": ".spec.instancetype",
	"VirtualMachinePreference":          ".spec.preference",
	"VirtualMachineClusterPreference":   ".spec.preference",
	"VirtualMachineImage":               ".spec.image",
	"ClusterVirtualMachineImage":        ".spec.image",
}

// put is a value and its path.
type put struct{ place, value string }

// companionChanges has the additional change of a VM for values below a path, so that only the value is odd.
var companionChanges = []struct {
	at   string
	puts []put
}{
	{".spec.className", []put{{".spec.cpu", "null"}, {".spec.memory", "null"}}},
	{".spec.instancetype", []put{{".spec.cpu", "null"}, {".spec.memory", "null"}, {".spec.instancetype", `{"name":"small","kind":"VirtualMachineInstancetype"}`}}},
	{".spec.preference", []put{{".spec.preference", `{"name":"plain","kind":"VirtualMachinePreference"}`}}},
	{".spec.bootstrap.cloudInit", []put{{".spec.bootstrap.cloudInit", `{"rawCloudConfig":{"name":"data","key":"good"}}`}}},
	{".spec.bootstrap.cloudInit.cloudConfig", []put{{".spec.bootstrap.cloudInit", `{}`}}},
	{".spec.bootstrap.removeAfterFirstBoot", []put{{".spec.bootstrap.cloudInit", `{"rawCloudConfig":{"name":"data","key":"good"}}`}}},
	{".spec.bootstrap.ignition", []put{{".spec.bootstrap.ignition", `{"rawConfig":{"name":"data","key":"ignition"}}`}}},
	{".spec.bootstrap.sysprep", []put{{".spec.bootstrap.sysprep", `{"rawSysprep":{"name":"data","key":"good"}}`}}},
	{".spec.bootstrap.sysprep.answers", []put{{".spec.bootstrap.sysprep", `{"answers":{"fullName":"a","organization":"a","administratorPassword":{"name":"data","key":"word"}}}`}}},
	{".spec.bootstrap.sysprep.answers.domain", []put{{".spec.bootstrap.sysprep.answers.domain", `{"name":"a","user":"a","password":{"name":"data","key":"word"}}`}}},
	{".spec.bootstrap.vAppConfig", []put{{".spec.image.name", `"appliance"`}, {".spec.bootstrap.vAppConfig", `{"properties":{"hostname":"x"}}`}}},
	{".spec.bootstrap.vAppConfig.rawProperties", []put{{".spec.bootstrap.vAppConfig", `{"rawProperties":"data"}`}}},
	{".spec.devices.gpus", []put{{".spec.devices.gpus", `[{"name":"a","deviceName":"grid_t4-8q"}]`}}},
	{".spec.devices.hostDevices", []put{{".spec.devices.hostDevices", `[{"name":"a","deviceName":"10de:1eb8"}]`}}},
	{".spec.readinessProbe.tcpSocket", []put{{".spec.readinessProbe.tcpSocket", `{"port":22}`}}},
	{".spec.readinessProbe.guestHeartbeat", []put{{".spec.readinessProbe.guestHeartbeat", `{"thresholdStatus":"green"}`}}},
	{".spec.readinessProbe.guestInfo", []put{{".spec.readinessProbe.guestInfo", `[{"key":"a","value":"a"}]`}}},
	{".spec.cpu.shares", []put{{".spec.cpu.shares", `{"level":"custom","shares":1000}`}}},
	{".spec.memory.shares", []put{{".spec.memory.shares", `{"level":"custom","shares":1000}`}}},
	{".spec.volumes[].persistentVolumeClaim", []put{{".spec.volumes", `[{"name":"a","persistentVolumeClaim":{"claimName":"a"}}]`}}},
}

// below reports whether a path is the given path or is inside it.
func below(place, at string) bool {
	rest, ok := strings.CutPrefix(place, at)
	return ok && (rest == "" || strings.ContainsRune(".[{", rune(rest[0])))
}

// change sets the value in a VM, with the additional changes that it needs.
func change(document, place, value string) string {
	for _, b := range companionChanges {
		if below(place, b.at) {
			for _, p := range b.puts {
				document = schema.With(document, p.place, p.value)
			}
		}
	}
	return schema.With(document, place, value)
}

// object returns the odd object as JSON.
func (o oddity) object(name string) string {
	k := o.kind
	if text, ok := valid[k.Name]; ok {
		k.Valid = text
	}
	return change(k.Object(name, ""), o.place, o.value)
}

// user returns a VM that uses the object with that name, as JSON.
func (o oddity) user(name string) string {
	place := references[o.kind.Name]
	reference := fmt.Sprintf(`{"name":%q,"kind":%q}`, name, o.kind.Name)
	if o.kind.Name == "VirtualMachineClass" {
		reference = fmt.Sprintf("%q", name)
	}
	machine := schema.Kinds[0]
	machine.Valid = base
	return change(machine.Object(name, ""), place, reference)
}

// elsewhere are paths that do not affect a VM: fields that the server writes, names that tests need, and owners. The
// management cluster's garbage collector deletes objects whose owner does not exist.
var elsewhere = []string{
	".status", ".metadata.ownerReferences", ".metadata.name", ".metadata.generateName", ".metadata.namespace", ".metadata.managedFields",
	".metadata.finalizers", ".metadata.resourceVersion", ".metadata.uid", ".metadata.generation", ".metadata.selfLink",
	".metadata.creationTimestamp", ".metadata.deletionTimestamp", ".metadata.deletionGracePeriodSeconds", ".metadata",
}

// oddities returns all values at all paths of a kind that a user may write.
func oddities(k schema.Kind, all schema.Schemas) []oddity {
	var found []oddity
	for _, place := range all.Places(k.Name) {
		if slices.ContainsFunc(elsewhere, func(at string) bool { return place.Path == at || at != ".metadata" && below(place.Path, at) }) {
			continue
		}
		for _, value := range slices.Concat(schema.Values, schema.Plausible, place.Allowed) {
			found = append(found, oddity{k, place.Path, value})
		}
	}
	if k.Name != machineKind {
		return found
	}
	for _, key := range annotations {
		for _, value := range slices.Concat(schema.Values, schema.Plausible) {
			found = append(found, oddity{k, ".metadata.annotations", fmt.Sprintf(`{%q:%s}`, key, value)})
		}
	}
	for key := range secret {
		for _, place := range []string{
			".spec.bootstrap.cloudInit.rawCloudConfig.key", ".spec.bootstrap.ignition.rawConfig.key",
			".spec.bootstrap.sysprep.rawSysprep.key", ".spec.bootstrap.sysprep.answers.administratorPassword.key",
		} {
			found = append(found, oddity{k, place, fmt.Sprintf("%q", key)})
		}
		found = append(found, oddity{k, ".spec.bootstrap.cloudInit.rawNetworkConfig", fmt.Sprintf(`{"name":"data","key":%q}`, key)})
		found = append(found, oddity{k, ".spec.bootstrap.vAppConfig.rawProperties", fmt.Sprintf("%q", "data-"+key)})
	}
	return found
}

// annotations are the annotations that control a VM.
var annotations = []string{vmv1alpha1.AnnotationPaused, vmv1alpha1.AnnotationDelayedPowerOn}

// secret is a Secret with odd data.
var secret = map[string]string{
	"good": "#cloud-config\nhostname: x\n", "ignition": `{"ignition":{"version":"3.4.0"}}`, "word": "x", "empty": "", "nul": "a\x00b", "escape": "\x1b]0;x\x07", "no-utf8": "\xff\xfe\x00", "bidi": "\u202ex",
	"lines": "a\r\nb\u0085c\u2028d", "blanks": "  \t\n ", "markup": "]]></x>&<!--${x}{{.x}}%s", "nested": strings.Repeat("[", 5_000),
	"long": strings.Repeat("x", 900_000), "yaml": "a: &a [*a]", "mime": "Content-Type: multipart/mixed; boundary=\"\"\n\n--\n",
}

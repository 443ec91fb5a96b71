// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"
)

// The example names a class that does not exist at first.
func TestDisksAreKeptByTheirStorageClasses(t *testing.T) {
	clusterObjects(t, "storageclass/silver", "storageclass/foreign")
	u := admin(t)
	u.apply(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: foreign}
provisioner: ebs.csi.aws.com
`)
	content, err := os.ReadFile("../../artifacts/examples/storage.yaml")
	if err != nil {
		t.Fatal(err)
	}
	class, rest, ok := strings.Cut(strings.ReplaceAll(string(content), "  namespace: default\n", ""), "\n---\n")
	if !ok {
		t.Fatal("the example has no class")
	}
	u.apply(rest)
	const ready = `.status.conditions[?(@.type=="StorageReady")]`
	u.wants("vm/database", ready+".message", `StorageClass "silver" does not exist`)
	u.wants("vm/database", ready+".reason", "NotFound")
	u.apply(class)
	u.wants("vm/database", ".status.powerState", "PoweredOn")
	u.wants("vm/database", ready+".status", "True")
	u.wants("vm/database", ".status.storage.bootDisk.capacity", "20Gi")
	u.wants("vm/database", `.status.conditions[?(@.type=="StorageCompliant")].status`, "True")
	u.wants("vm/database", `.status.conditions[?(@.type=="ConfigurationSynced")].reason`, "Succeeded")
	u.wants("vm/database", `.status.volumes[?(@.name=="data")].storageClass`, "silver")

	for patch, want := range map[string]string{
		`{"spec":{"bootDisk":{"size":"10Gi"}}}`:                      "is less than the 20Gi of the disk",
		`{"spec":{"volumes":[{"name":"data","unitNumber":3}]}}`:      "is immutable once set; must stay 0",
		`{"spec":{"volumes":[{"name":"media","cdrom":null}]}}`:       "exactly one must be set of persistentVolumeClaim, disk, cdrom",
		`{"spec":{"bootOrder":[{"type":"Disk","name":"nowhere"}]}}`:  "must be the name of a disk of spec.volumes",
		`{"spec":{"bootDisk":{"size":"20Gi","provisioning":"Fat"}}}`: `supported values: "Thin", "Thick", "ThickEagerZero"`,
	} {
		_, errOut, err := u.try("", "kubectl", "patch", "vm/database", "--type=strategic", "-p", patch)
		if err == nil || !strings.Contains(errOut, want) {
			t.Errorf("%s: %v %s, want it refused with %q", patch, err, errOut, want)
		}
	}
	u.kubectl("patch", "vm/database", "--type=merge", "-p", `{"spec":{"bootDisk":{"size":"30Gi"}}}`)
	u.wants("vm/database", ".status.storage.bootDisk.capacity", "30Gi")
	u.kubectl("patch", "vm/database", "--type=merge", "-p", `{"spec":{"storageClass":"foreign"}}`)
	u.wants("vm/database", ready+".reason", "Invalid")
	u.wants("vm/database", ".status.powerState", "PoweredOn")
}

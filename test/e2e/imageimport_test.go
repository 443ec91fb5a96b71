// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/testenv"
	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// linkedTo creates a virtual machine whose disk depends on a copy of the image, and returns the path of the copy.
func (u user) linkedTo(image, name string) string {
	u.T.Helper()
	u.Put(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: %s, annotations: {%s: linked}}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  promoteDisksMode: Disabled
  image: {name: %s}
`, name, vmv1alpha1.AnnotationFastDeploy, image))
	u.Ready("vm/" + name)
	u.Wants("vm/"+name, `.status.conditions[?(@.type=="ImageCacheReady")].reason`, vmv1alpha1.ReasonSucceeded)
	_, parents := disksOf(testenv.Inventory(u.T, u.Namespace)[name])
	if len(parents) != 1 || !strings.Contains(parents[0], "slipway-images/") {
		u.T.Fatalf("the disks of %s depend on %q, want one copy of the image", name, parents)
	}
	return parents[0]
}

func TestImageImport_ResumesAfterAnInterruptionAndKeepsPreviousDisks(t *testing.T) {
	// Not in parallel: the ContentLibraries of other tests would create images of the imported item as well.
	u := admin(t)
	item := "imported-" + u.Namespace[len(u.Namespace)-5:]
	example, err := os.ReadFile("../../artifacts/examples/contentlibrary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	u.Put(strings.NewReplacer("name: golden", "name: "+item, "# namespace: team-a", "namespace: "+u.Namespace).Replace(string(example)))
	defer u.Delete("contentlibrary/" + item)
	u.Ready("contentlibrary/" + item)

	ova, err := contentlibrary.OVA(item)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), item+".ova")
	if err := os.WriteFile(archive, ova, 0o600); err != nil {
		t.Fatal(err)
	}
	importImage := func(args ...string) string {
		t.Helper()
		return u.Virtctl(slices.Concat([]string{"image", "import", archive, "--library", "slipway", "--wait"}, asMe(t), args)...)
	}
	// The connection breaks during the first file.
	testenv.Order(t, http.MethodPut, "/library/cut?bytes=100")
	out := importImage()
	for _, want := range []string{"retrying in", "uploading: 100%", "imported " + archive, "VirtualMachineImage/" + item + " in namespace " + u.Namespace + " is ready"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output of virtctl image import lacks %q:\n%s", want, out)
		}
	}
	parent := u.linkedTo(item, "linked")
	version := u.Get("vmimage/"+item, ".status.contentVersion")
	out = importImage("--update")
	if next := u.Get("vmimage/"+item, ".status.contentVersion"); next == version || !strings.Contains(out, "is ready") {
		t.Errorf("after the next import the image is of version %s, and was of %s:\n%s", next, version, out)
	}
	// Existing disks keep the previous content.
	if now := u.linkedTo(item, "linked-again"); now == parent {
		t.Errorf("with the next version disks depend on %s, as before", now)
	}
	if _, parents := disksOf(testenv.Inventory(t, u.Namespace)["linked"]); len(parents) != 1 || parents[0] != parent {
		t.Errorf("the previous disks depend on %q, want %s", parents, parent)
	}
	u.Put(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: web}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {name: %s}
`, item))
	u.Ready("vm/web")
	if got := u.Get("vmimage/"+item, ".status.disks[*].capacity"); got != "16Gi" {
		t.Errorf("the image has a disk of %q, want the 16Gi of the descriptor", got)
	}
	u.Denied(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: small-disk}
spec:
  cpu: {sockets: 1}
  memory: {guest: 1Gi}
  image: {name: %s}
  bootDisk: {size: 1Gi}
`, item), "spec.bootDisk.size") // smaller than the image's
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func TestAContentLibraryPublishesItsItems(t *testing.T) {
	t.Parallel()
	u := admin(t)
	name := "of-" + u.namespace // as such objects are of no namespace
	u.apply(fmt.Sprintf(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: slipway-photon-5}
spec:
  contentLibrary: {library: slipway, item: photon-5}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: ContentLibrary
metadata: {name: %[1]s}
spec:
  library: slipway
  namespace: %[2]s
  nameTemplate: "{library}-{item}"
  defaults: [{guestID: "vmwarePhoton*", instancetype: small, instancetypeKind: VirtualMachineInstancetype}]
---
apiVersion: vm.slipway.dev/v1alpha1
kind: ContentLibrary
metadata: {name: none-%[1]s}
spec: {library: none}
`, name, u.namespace))
	defer u.kubectl("delete", "contentlibrary", name, "none-"+name, "--ignore-not-found")
	u.kubectl("wait", "--for=condition=Ready", "contentlibrary/"+name, "--timeout=90s")
	u.wants("contentlibrary/none-"+name, `.status.conditions[?(@.type=="Ready")].reason`, "NotFound")
	// The name that the template says belongs to somebody.
	image := u.get("contentlibrary/"+name, `.status.renamed[?(@.item=="photon-5")].image`)
	if !strings.HasPrefix(image, "slipway-photon-5-") {
		t.Fatalf("the image of photon-5 is called %q in status, want slipway-photon-5-…", image)
	}
	u.wants("vmimage/"+image, `.metadata.labels.instancetype\.kubevirt\.io/default-instancetype`, "small")
	table := u.kubectl("get", "contentlibraries")
	for _, want := range []string{"LIBRARY", "ITEMS", "IMAGES", "NotFound", u.namespace} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get contentlibraries lacks %q:\n%s", want, table)
		}
	}
	u.apply(catalogue + fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: web}
spec:
  instancetype: {inferFromVolume: image}
  image: {name: %s}
`, image))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")

	u.kubectl("patch", "contentlibrary/"+name, "--type=merge", `--patch={"spec":{"exclude":["*"]}}`)
	u.wants("contentlibrary/"+name, ".status.kept[*]", image)
	u.wants("contentlibrary/"+name, ".status.images", "1")
	if got := u.kubectl("get", "vmimage", "-l", "vm.slipway.dev/content-library="+name, "-o", "name"); strings.TrimSpace(got) != "virtualmachineimage.vm.slipway.dev/"+image {
		t.Errorf("images of the library are %s, want the one that a VM refers to", got)
	}
	u.kubectl("delete", "contentlibrary/"+name)
	u.wants("vmimage/"+image, `.metadata.labels.vm\.slipway\.dev/content-library`, "")
	u.kubectl("get", "vmimage/slipway-photon-5") // nobody's but its author's
}

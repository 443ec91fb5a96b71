// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

func TestContentLibrary_PublishesItsItems(t *testing.T) {
	t.Parallel()
	u := admin(t)
	name := "of-" + u.Namespace // the objects are cluster-scoped
	u.Put(fmt.Sprintf(`
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
`, name, u.Namespace))
	defer u.Delete("contentlibrary/"+name, "contentlibrary/none-"+name)
	u.Ready("contentlibrary/" + name)
	u.Wants("contentlibrary/none-"+name, `.status.conditions[?(@.type=="Ready")].reason`, "NotFound")
	// The object that already has the template's name is reported.
	image := u.Get("contentlibrary/"+name, `.status.renamed[?(@.item=="photon-5")].image`)
	if !strings.HasPrefix(image, "slipway-photon-5-") {
		t.Fatalf("the image of photon-5 is called %q in status, want slipway-photon-5-…", image)
	}
	u.Wants("vmimage/"+image, `.metadata.labels.instancetype\.kubevirt\.io/default-instancetype`, "small")
	table := u.Kubectl("get", "contentlibraries")
	for _, want := range []string{"LIBRARY", "ITEMS", "IMAGES", "NotFound", u.Namespace} {
		if !strings.Contains(table, want) {
			t.Errorf("kubectl get contentlibraries lacks %q:\n%s", want, table)
		}
	}
	u.Put(testenv.Catalogue + fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachine
metadata: {name: web}
spec:
  instancetype: {inferFromVolume: image}
  image: {name: %s}
`, image))
	u.Ready("vm/web")

	u.Patch("contentlibrary/"+name, `{"spec":{"exclude":["*"]}}`)
	u.Wants("contentlibrary/"+name, ".status.kept[*]", image)
	u.Wants("contentlibrary/"+name, ".status.images", "1")
	if got := u.Kubectl("get", "vmimage", "-l", "vm.slipway.dev/content-library="+name, "-o", "name"); strings.TrimSpace(got) != "virtualmachineimage.vm.slipway.dev/"+image {
		t.Errorf("images of the library are %s, want the one that a VM refers to", got)
	}
	u.Delete("contentlibrary/" + name)
	u.Wants("vmimage/"+image, `.metadata.labels.vm\.slipway\.dev/content-library`, "")
	u.Kubectl("get", "vmimage/slipway-photon-5") // a user created it; it belongs to no library
}

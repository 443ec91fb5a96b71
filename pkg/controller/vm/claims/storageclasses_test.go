// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/provider"
)

func TestStorageClasses_AreReadLikeTheCSIDriver(t *testing.T) {
	unusable := func(message string) provider.StorageClass {
		return provider.StorageClass{Problem: &provider.NotUsableError{Message: message}}
	}
	for name, tc := range map[string]struct {
		provisioner string
		parameters  map[string]string
		want        provider.StorageClass
	}{
		"a policy":                {vSphereProvisioner, map[string]string{"storagepolicyname": "Gold", "csi.storage.k8s.io/fstype": "ext4"}, provider.StorageClass{Policy: "Gold"}},
		"in capital letters":      {vSphereProvisioner, map[string]string{"storagePolicyName": "Gold", "DatastoreURL": "ds:///x/"}, provider.StorageClass{Policy: "Gold", DatastoreURL: "ds:///x/"}},
		"no parameters":           {vSphereProvisioner, nil, provider.StorageClass{}},
		"another provisioner":     {"ebs.csi.aws.com", map[string]string{"storagepolicyname": "Gold"}, unusable(`StorageClass "fast" has provisioner "ebs.csi.aws.com"; disks of virtual machines require a StorageClass of csi.vsphere.vmware.com`)},
		"a name that is too long": {vSphereProvisioner, map[string]string{"storagepolicyname": strings.Repeat("x", 256)}, unusable(`StorageClass "fast": parameter storagepolicyname is longer than 255 bytes, or datastoreurl than 1024`)},
	} {
		t.Run(name, func(t *testing.T) {
			class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: tc.provisioner, Parameters: tc.parameters}
			if diff := cmp.Diff(tc.want, storageClassOf(class)); diff != "" {
				t.Errorf("class (-want +got):\n%s", diff)
			}
		})
	}
}

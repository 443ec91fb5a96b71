// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

func TestChoose_SelectsTheDatastoreWithTheMostFreeSpace(t *testing.T) {
	const gib = 1 << 30
	all := []storage.Datastore{{Name: "small", Free: 10 * gib}, {Name: "large", Free: 100 * gib}, {Name: "away", Free: 1000 * gib, Unusable: "it is not accessible"}}
	gold := storage.Policy{Name: "Gold", Incompatible: map[string]string{"large": "not compatible"}}
	onlyLarge := storage.Policy{Name: "Bulk", Datastores: []string{"large"}}
	home := func(class string) storage.Need { return storage.Need{Path: "storageClass", Class: class, Home: true} }
	for _, tc := range []struct {
		name     string
		needs    []storage.Need
		want     string
		problems []string
	}{
		{"no policy", []storage.Need{home("")}, "large", nil},
		{"a policy", []storage.Need{home("gold")}, "small", nil},
		{"a disk on another datastore", []storage.Need{home("gold"), {Path: "volumes[a].disk.storageClass", Class: "bulk"}}, "small", nil},
		{"a boot disk with another class", []storage.Need{home("gold"), {Path: "bootDisk.storageClass", Class: "bulk", Home: true}}, "",
			[]string{"storageClass, bootDisk.storageClass: no datastore can be used for both, on which the files and the boot disk of a new virtual machine are together"}},
		{"thick disks", []storage.Need{home(""), {Path: "bootDisk.storageClass", Bytes: 20 * gib, Home: true}}, "large", nil},
		{"disks that fit one by one", []storage.Need{home("gold"), {Path: "volumes[a].disk.storageClass", Class: "gold", Bytes: 6 * gib}, {Path: "volumes[b].disk.storageClass", Class: "gold", Bytes: 6 * gib}}, "",
			[]string{"the disks together need 12288 MiB at once on one datastore, and at most 10240 MiB are free"}},
		{"one disk on the same datastore, one on another", []storage.Need{home("gold"), {Path: "volumes[a].disk.storageClass", Class: "gold", Bytes: 6 * gib}, {Path: "volumes[b].disk.storageClass", Class: "bulk", Bytes: 60 * gib}}, "small", nil},
		{"more than the free space", []storage.Need{home("gold"), {Path: "volumes[a].disk.storageClass", Class: "gold", Bytes: 20 * gib}}, "",
			[]string{`volumes[a].disk.storageClass "gold": no datastore can be used by storage policy "Gold": small: 20480 MiB are needed at once, and 10240 MiB are free; large: not compatible; away: it is not accessible`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, problems := storage.Choose(tc.needs, map[string]storage.Policy{"gold": gold, "bulk": onlyLarge}, all)
			if got.Name != tc.want {
				t.Errorf("datastore %q, want %q", got.Name, tc.want)
			}
			if diff := cmp.Diff(tc.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	if _, problems := storage.Choose([]storage.Need{home("")}, nil, nil); len(problems) != 1 || problems[0] != "storageClass: no datastore can be used: there is none" {
		t.Errorf("problems %q without a datastore", problems)
	}
}

func TestUsable_SortsDatastoresByFreeSpace(t *testing.T) {
	all := []storage.Datastore{{Name: "a", Free: 1}, {Name: "b", Free: 3}, {Name: "c", Free: 2}, {Name: "d", Free: 9, Unusable: "away"}, {Name: "e", Free: 8}}
	got := storage.Usable(storage.Policy{Incompatible: map[string]string{"e": "not compatible"}}, all)
	if diff := cmp.Diff([]string{"b", "c", "a"}, got); diff != "" {
		t.Errorf("usable (-want +got):\n%s", diff)
	}
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// TestParse_ReadsTheDescriptorsOfGovmomi parses the OVF descriptors of govmomi's test data: VMware's own
// collection, and descriptors of published appliances (Apache-2.0, in the module).
func TestParse_ReadsTheDescriptorsOfGovmomi(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(out)), "ovf", "fixtures"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.EqualFold(filepath.Ext(path), ".ovf") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		image, err := parse(f)
		got[outcome(image, err)]++
		if err == nil {
			checkImage(t, path, image)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"read": 655,
		"the OVF descriptor does not describe exactly one virtual machine": 296,
		"the OVF descriptor has more than 4194304 bytes":                   2,
		// The following descriptors are malformed on purpose.
		"the OVF descriptor cannot be parsed EOF":                        1,
		"the OVF descriptor cannot be parsed XML syntax error on line 2": 1,
		"the OVF descriptor cannot be parsed strconv.ParseInt":           1,
		"the OVF descriptor cannot be parsed strconv.ParseUint":          3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptors by outcome (-want +got):\n%s", diff)
	}
}

// outcome returns "read" or why a descriptor is refused, without variable text.
func outcome(image *Image, err error) string {
	var unusable *UnusableError
	switch {
	case err == nil && image != nil:
		return "read"
	case !errors.As(err, &unusable):
		return "error: " + err.Error()
	}
	words, detail, _ := strings.Cut(unusable.Message, ": ")
	detail, _, _ = strings.Cut(detail, ":")
	return strings.TrimSpace(words + " " + detail)
}

// checkImage checks the guarantees of parse and the limits of the API for an image.
func checkImage(t *testing.T, path string, image *Image) {
	t.Helper()
	c, status := &image.Config, &image.Description.Status
	if c.Name != "" || c.Files != nil || c.DeviceChange != nil || c.VAppConfig != nil {
		t.Errorf("%s: the configuration has a name, files, devices or properties", path)
	}
	if slices.ContainsFunc(c.ExtraConfig, func(o types.BaseOptionValue) bool { return observe.IsSlipwayKey(o.GetOptionValue().Key) }) {
		t.Errorf("%s: the configuration has settings of Slipway", path)
	}
	if len(status.Disks) > maxDisks || len(status.Networks) > maxNetworks || len(status.Properties) > maxProperties {
		t.Errorf("%s: %d disks, %d networks and %d properties are described", path, len(status.Disks), len(status.Networks), len(status.Properties))
	}
	for _, d := range status.Disks {
		if d.Capacity != nil && d.Capacity.Sign() <= 0 {
			t.Errorf("%s: disk %s has a capacity of %s", path, d.Name, d.Capacity)
		}
	}
}

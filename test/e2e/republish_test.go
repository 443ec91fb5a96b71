// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// wasPublished is what virtctl says at the end.
var wasPublished = regexp.MustCompile(`item "([^"]+)", version ([0-9]+): ClusterVirtualMachineImage/(\S+)`)

func TestAVMIsPublishedAgainAndByNobodyElse(t *testing.T) {
	t.Parallel()
	u := admin(t)
	item := u.shares()
	defer u.kubectl("delete", "contentlibrary", item)
	u.apply(catalogue + vmManifest("source", "powerState: PoweredOff"))
	u.kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	publish := func(args ...string) string {
		t.Helper()
		out := u.virtctl(append([]string{"publish", "source", "--library", item, "--item", item, "--wait", "--timeout", "3m"}, args...)...)
		m := wasPublished.FindStringSubmatch(out)
		if m == nil || m[1] != item {
			t.Fatalf("virtctl publish --wait does not say what was made:\n%s", out)
		}
		if got := u.get("cvmimage/"+m[3], ".status.contentVersion"); got != m[2] {
			t.Errorf("the image is of version %q, and virtctl says %s", got, m[2])
		}
		return m[2]
	}
	first := publish()
	second := publish("--description", "better")
	if second == first {
		t.Errorf("both are version %s", first)
	}
	// A request with a TTL goes, and its item stays.
	u.virtctl("publish", "source", "--library", item, "--item", item, "--ttl", "1s")
	eventually(t, long, "a third version is there, and its request is not", func() error {
		left, version := strings.Fields(u.kubectl("get", "vmpub", "-o", "name")), u.get("cvmimage/"+item, ".status.contentVersion")
		if len(left) != 2 || version == second {
			return errorf("there are %q, and version %s", left, version)
		}
		return nil
	})

	other := admin(t)
	other.apply(catalogue + vmManifest("source", "powerState: PoweredOff"))
	other.kubectl("wait", "--for=condition=Created", "vm/source", "--timeout=90s")
	other.virtctl("publish", "source", "--library", item, "--item", item)
	other.wants("vmpub", `.items[0].status.conditions[?(@.type=="TargetValid")].reason`, "NameTaken")
	if got := other.get("vmpub", `.items[0].status.conditions[?(@.type=="TargetValid")].message`); !strings.Contains(got, item) || !strings.Contains(got, other.namespace) {
		t.Errorf("the message names neither item nor namespace: %s", got)
	}
}

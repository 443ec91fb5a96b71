// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// contenders are virtual machines that all want one claim.
const contenders = 6

// The claim becomes usable when all of them wait for it, so that the workers of the server
// take it at the same moment. Whenever its holder goes the others do so again.
func TestOfManyThatTakeAClaimAtOnceOneHasIt(t *testing.T) {
	t.Parallel()
	u := admin(t)
	c := makeClaim(u, "data")
	var left []string
	manifest := catalogue
	for i := range contenders {
		left = append(left, fmt.Sprintf("vm-%d", i))
		manifest += vmManifest(left[i], withClaim("data", "data"))
	}
	u.apply(manifest)
	for _, vm := range left {
		u.wants("vm/"+vm, volumesReady+"reason", "NotReady")
	}
	c.bind()
	for len(left) > contenders-3 {
		holder := c.won(left)
		left = slices.DeleteFunc(left, func(vm string) bool { return vm == holder })
		u.kubectl("delete", "vm/"+holder, "--timeout=110s")
	}
	u.kubectl("delete", "vm", "--all", "--timeout=110s")
	c.lives()
	c.free()
}

// won waits until one of the virtual machines has the claim and all others say so, by
// condition and event, and returns its name.
func (c *claim) won(of []string) (holder string) {
	c.t.Helper()
	eventually(c.t, long, fmt.Sprintf("one of %q has the claim", of), func() error {
		annotations := map[string]string{}
		if err := json.Unmarshal([]byte(c.u.get("pvc/"+c.name, ".metadata.annotations")), &annotations); err != nil {
			return err
		}
		var holders []string
		for key, value := range annotations {
			if strings.HasPrefix(key, vmv1alpha1.AnnotationClaimHolderPrefix) {
				holders = append(holders, value)
			}
		}
		if len(holders) != 1 {
			return errorf("the claim is held by %q", holders)
		}
		holder, _, _ = strings.Cut(holders[0], "/")
		if !slices.Contains(of, holder) {
			return errorf("the claim is held by %q", holder)
		}
		return nil
	})
	c.u.kubectl("wait", "--for=condition=Ready", "vm/"+holder, "--timeout=110s")
	says := fmt.Sprintf("is held by VirtualMachine %q", holder)
	for _, vm := range of {
		if vm == holder {
			continue
		}
		eventually(c.t, long, vm+" says who has the claim", func() error {
			reason, message := c.u.get("vm/"+vm, volumesReady+"reason"), c.u.get("vm/"+vm, volumesReady+"message")
			events := c.u.kubectl("get", "events.events.k8s.io", "-o", fmt.Sprintf(`jsonpath={.items[?(@.regarding.name==%q)].note}`, vm))
			if reason != "InUse" || !strings.Contains(message, says) || !strings.Contains(events, says) {
				return errorf("condition %s %q, events %s", reason, message, events)
			}
			return nil
		})
	}
	c.lives(holder)
	return holder
}

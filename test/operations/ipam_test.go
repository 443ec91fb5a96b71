// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

//go:embed testdata/ipam.yaml
var ipamKinds string

// withAddress is a VM whose address is allocated from a pool.
func withAddress(name, pool string) string {
	return testenv.InlineVM(name, "photon-5", "bootstrap: {cloudInit: {}}",
		"network: {interfaces: [{name: eth0, addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: "+pool+"}]}]}")
}

const addressesReason = `.status.conditions[?(@.type=="AddressesReady")].reason`

// awaitAddressesReason waits until AddressesReady of a VM is False with the given reason.
func (u user) awaitAddressesReason(vm, reason string, texts ...string) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, "AddressesReady of "+vm+" has reason "+reason, func() error {
		got, message := u.Get("vm/"+vm, addressesReason), u.Get("vm/"+vm, `.status.conditions[?(@.type=="AddressesReady")].message`)
		for _, text := range texts {
			if !strings.Contains(message, text) {
				return fmt.Errorf("%s: %s", got, message)
			}
		}
		if got != reason {
			return fmt.Errorf("%s: %s", got, message)
		}
		return nil
	})
}

// runsWith waits until a VM is Ready and its guest has an address.
func (u user) runsWith(vm, address string) {
	u.T.Helper()
	u.Kubectl("wait", "--for=condition=Ready", "vm/"+vm, "--timeout=90s")
	u.Wants("vm/"+vm, ".status.network.primaryIP4", address)
	u.Wants("vm/"+vm, ".status.claimedAddresses[*].address", address+"/24")
}

// count waits until there are this many objects of a kind.
func (u user) count(kind string, want int) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, fmt.Sprintf("there are %d %s", want, kind), func() error {
		if got := strings.Fields(u.Kubectl("get", kind, "-o", "name")); len(got) != want {
			return fmt.Errorf("there are %v", got)
		}
		return nil
	})
}

// All checks are in one test, because the kinds of the contract are installed in the whole cluster. The test has its
// own environment.
func TestAddresses_AreAllocatedFromPoolsAndReturned(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue + withAddress("first", "front"))
	u.awaitAddressesReason("first", "NotFound", "does not serve IPAddressClaims", "ipam.cluster.x-k8s.io")
	u.Wants("vm/first", ".status.printableStatus", "AddressesNotFound")

	u.Apply(ipamKinds)
	u.Kubectl("wait", "--for=condition=Established", "crd/ipaddressclaims.ipam.cluster.x-k8s.io", "crd/ipaddresses.ipam.cluster.x-k8s.io",
		"crd/inclusterippools.ipam.cluster.x-k8s.io", "--timeout=90s")
	pool := startIPAM(t, u.Namespace, "front", "192.0.2.10", "192.0.2.11")
	u.runsWith("first", "192.0.2.10")
	u.Apply(withAddress("second", "front"))
	u.runsWith("second", "192.0.2.11")

	t.Log("the pool is exhausted, and the waiting VM is deleted")
	u.Apply(withAddress("third", "front") + withAddress("nowhere", "none"))
	u.awaitAddressesReason("third", "NotReady", "IPAddressClaim", "third-eth0-", `"front"`, "PoolExhausted")
	u.awaitAddressesReason("nowhere", "NotReady", "IPAddressClaim", "nowhere-eth0-", `"none"`)
	if _, made := testenv.Inventory(t, u.Namespace)["third"]; made {
		t.Error("a VM was made without its address")
	}
	u.Kubectl("delete", "vm/nowhere", "vm/third", "--timeout=90s")
	u.count("ipaddressclaims", 2)

	t.Log("a user deletes a claim")
	claim := u.Get("vm/first", ".status.claimedAddresses[0].claimName")
	u.Kubectl("delete", "ipaddressclaim/"+claim, "--wait=false")
	u.awaitAddressesReason("first", "NotReady", claim, "is being deleted", "192.0.2.10/24")
	u.Apply(withAddress("third", "front"))
	u.awaitAddressesReason("third", "NotReady", "PoolExhausted")

	t.Log("an address is free after its VM is deleted")
	u.Kubectl("delete", "vm/first", "--timeout=90s")
	u.runsWith("third", "192.0.2.10")
	u.count("ipaddresses.ipam.cluster.x-k8s.io", 2)

	t.Log("the server is killed while a claim waits")
	u.Apply(withAddress("fourth", "front"))
	u.awaitAddressesReason("fourth", "NotReady", "PoolExhausted")
	pool.set(func(p *ipamProvider) { p.away = true })
	if err := testenv.Of(t).KillSlipway(); err != nil {
		t.Fatal(err)
	}
	pool.set(func(p *ipamProvider) { p.away, p.free = false, append(p.free, "192.0.2.12") })
	u.RestartSlipway()
	u.runsWith("fourth", "192.0.2.12")
	u.count("ipaddressclaims", 3)

	t.Log("the example, whose pool the test's provider has")
	example, err := os.ReadFile("../../artifacts/examples/addresses.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pool.set(func(p *ipamProvider) { p.free = append(p.free, "192.0.2.20") })
	u.Apply(strings.Replace(string(example), "kind: ClusterVirtualMachineImage, ", "", 1)) // an image of the namespace
	u.runsWith("web", "192.0.2.20")

	t.Log("an address of another owner")
	pool.set(func(p *ipamProvider) { p.wrong, p.free = true, append(p.free, "192.0.2.13") })
	u.Apply(withAddress("fifth", "front"))
	u.awaitAddressesReason("fifth", "Invalid", "of-another-owner", "fifth-eth0-")
	if _, made := testenv.Inventory(t, u.Namespace)["fifth"]; made {
		t.Error("a VM was created with an address of another owner")
	}

	t.Log("deleting the namespace deletes all objects and returns the addresses")
	u.Kubectl("delete", "namespace", u.Namespace, "--timeout=120s")
	testenv.Gone(t, u.Namespace)
}

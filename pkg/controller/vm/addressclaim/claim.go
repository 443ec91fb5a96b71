// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package addressclaim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// Group is the API group of the contract.
	Group = "ipam.cluster.x-k8s.io"
	// UIDLabel is the label of a claim with the UID of its virtual machine.
	UIDLabel = "vm.slipway.dev/virtual-machine-uid"
	// NameAnnotation is the annotation of a claim with the name of its virtual machine.
	NameAnnotation = "vm.slipway.dev/virtual-machine"
	// Finalizer prevents the deletion of a claim and its address while the virtual machine may use the address.
	Finalizer = "vm.slipway.dev/address"
)

// maxName is the maximum length of an object's name.
const maxName = 253

// DesiredClaims returns the claims that the interfaces of vm request, in their order and without assigned addresses.
func DesiredClaims(vm *vmv1alpha1.VirtualMachine, network *vmv1alpha1.VirtualMachineNetworkSpec) []vmv1alpha1.ClaimedAddress {
	if network == nil || network.Disabled {
		return nil
	}
	var out []vmv1alpha1.ClaimedAddress
	for i := range network.Interfaces {
		nic := &network.Interfaces[i]
		for _, pool := range nic.AddressesFromPools {
			out = append(out, vmv1alpha1.ClaimedAddress{ClaimName: name(vm, nic.Name, pool), Interface: nic.Name, Pool: pool})
		}
	}
	return out
}

// name returns the name of the claim of one interface and pool. It depends on the UID, so a later virtual machine of
// the same name does not get the address of the first.
func name(vm *vmv1alpha1.VirtualMachine, nic string, pool vmv1alpha1.IPPoolReference) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(vm.UID), nic, pool.APIGroup, pool.Kind, pool.Name}, "\x00")))
	suffix := "-" + hex.EncodeToString(sum[:])[:10]
	base := vm.Name + "-" + nic
	base = strings.TrimRight(base[:min(len(base), maxName-len(suffix))], "-.")
	return base + suffix
}

// MergeClaims returns the claims for the status. They are the desired claims with their assigned addresses, followed by other
// claims with an assigned address, which are kept. dropped has the claims that are no longer desired and have no
// address.
func MergeClaims(wanted, before []vmv1alpha1.ClaimedAddress) (all, dropped []vmv1alpha1.ClaimedAddress) {
	for _, w := range wanted {
		if at := slices.IndexFunc(before, func(c vmv1alpha1.ClaimedAddress) bool { return c.ClaimName == w.ClaimName }); at >= 0 {
			w.Address, w.Gateway = before[at].Address, before[at].Gateway
		}
		all = append(all, w)
	}
	for _, b := range before {
		switch {
		case slices.ContainsFunc(wanted, func(w vmv1alpha1.ClaimedAddress) bool { return w.ClaimName == b.ClaimName }):
		case b.Address != "":
			all = append(all, b)
		default:
			dropped = append(dropped, b)
		}
	}
	return all, dropped
}

// AddAddresses returns network with the addresses that were assigned to its interfaces. A gateway in the spec takes precedence
// over that of a pool, and the first pool's gateway over others.
func AddAddresses(network *vmv1alpha1.VirtualMachineNetworkSpec, given []vmv1alpha1.ClaimedAddress) *vmv1alpha1.VirtualMachineNetworkSpec {
	out := network.DeepCopy()
	for i := range out.Interfaces {
		nic := &out.Interfaces[i]
		for _, c := range given {
			prefix, err := netip.ParsePrefix(c.Address)
			if err != nil || c.Interface != nic.Name || !slices.Contains(nic.AddressesFromPools, c.Pool) {
				continue
			}
			nic.Addresses = append(nic.Addresses, c.Address)
			gateway := &nic.Gateway4
			if prefix.Addr().Is6() {
				gateway = &nic.Gateway6
			}
			if *gateway == "" {
				*gateway = c.Gateway
			}
		}
	}
	return out
}

// newClaim returns the claim object of c for vm.
func newClaim(version string, vm *vmv1alpha1.VirtualMachine, c vmv1alpha1.ClaimedAddress) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Group + "/" + version, "kind": "IPAddressClaim",
		"spec": map[string]any{"poolRef": map[string]any{"apiGroup": c.Pool.APIGroup, "kind": c.Pool.Kind, "name": c.Pool.Name}},
	}}
	out.SetNamespace(vm.Namespace)
	out.SetName(c.ClaimName)
	out.SetLabels(map[string]string{UIDLabel: string(vm.UID)})
	out.SetAnnotations(map[string]string{NameAnnotation: vm.Name})
	out.SetFinalizers([]string{Finalizer})
	return out
}

// text reads a string field of an object. Its type is not validated, because other clients write it.
func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// poolOf returns the pool of a claim or an address.
func poolOf(o *unstructured.Unstructured) vmv1alpha1.IPPoolReference {
	return vmv1alpha1.IPPoolReference{
		APIGroup: text(o, "spec", "poolRef", "apiGroup"), Kind: text(o, "spec", "poolRef", "kind"), Name: text(o, "spec", "poolRef", "name"),
	}
}

// assignedAddress returns the claim with the assigned address. It returns an error if the address does not belong to
// the claim or cannot be used.
func assignedAddress(address *unstructured.Unstructured, c vmv1alpha1.ClaimedAddress) (vmv1alpha1.ClaimedAddress, error) {
	what := fmt.Sprintf("IPAddress %q", address.GetName())
	if ref := text(address, "spec", "claimRef", "name"); ref != c.ClaimName {
		return c, fmt.Errorf("%s belongs to IPAddressClaim %q, not to %q", what, ref, c.ClaimName)
	}
	if pool := poolOf(address); pool != c.Pool {
		return c, fmt.Errorf("%s belongs to %s, not to %s", what, formatPool(pool), formatPool(c.Pool))
	}
	ip, err := netip.ParseAddr(text(address, "spec", "address"))
	if err != nil || ip.Zone() != "" {
		return c, fmt.Errorf("%s: spec.address %q is not an IP address", what, truncate(text(address, "spec", "address")))
	}
	bits, _, _ := unstructured.NestedInt64(address.Object, "spec", "prefix")
	prefix := netip.PrefixFrom(ip, int(bits))
	if bits <= 0 || !prefix.IsValid() {
		return c, fmt.Errorf("%s: spec.prefix is %d, must be between 1 and %d", what, bits, ip.BitLen())
	}
	c.Address = prefix.String()
	if gateway := text(address, "spec", "gateway"); gateway != "" {
		g, err := netip.ParseAddr(gateway)
		if err != nil || g.Is4() != ip.Is4() || g.Zone() != "" {
			return c, fmt.Errorf("%s: spec.gateway %q is not an address of the same family as %s", what, truncate(gateway), ip)
		}
		c.Gateway = g.String()
	}
	return c, nil
}

// waitMessage returns a message that describes why a claim has no address yet.
func waitMessage(claim *unstructured.Unstructured, c vmv1alpha1.ClaimedAddress) string {
	out := fmt.Sprintf("IPAddressClaim %q waits for an address of %s", c.ClaimName, formatPool(c.Pool))
	conditions, _, _ := unstructured.NestedSlice(claim.Object, "status", "conditions")
	for _, condition := range conditions {
		m, _ := condition.(map[string]any)
		if m["type"] != "Ready" || m["status"] == "True" {
			continue
		}
		reason, _ := m["reason"].(string)
		message, _ := m["message"].(string)
		if out += ": " + truncate(reason); message != "" {
			out += ", " + truncate(message)
		}
	}
	return out
}

// formatPool formats a pool for messages.
func formatPool(p vmv1alpha1.IPPoolReference) string {
	return fmt.Sprintf("%s.%s %q", truncate(p.Kind), truncate(p.APIGroup), truncate(p.Name))
}

// truncate truncates text of other clients for use in a condition.
func truncate(s string) string {
	const most = 256
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// nics returns a change that sets the network interfaces.
func nics(list ...vmv1alpha1.VirtualMachineNetworkInterface) func(*vmv1alpha1.VirtualMachineSpec) {
	return func(s *vmv1alpha1.VirtualMachineSpec) {
		s.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: list}
	}
}

func TestValidateVirtualMachineSpec_ChecksNetwork(t *testing.T) {
	type nic = vmv1alpha1.VirtualMachineNetworkInterface
	const at = "spec.network.interfaces[0]."
	runSpecCases(t, []specCase{
		{"a static interface", nics(nic{Name: "eth0", Model: "vmxnet3", MACAddress: "00:50:56:00:00:01", Addresses: []string{"192.0.2.5/24", "2001:db8::5/64"}, Gateway4: "192.0.2.1", Gateway6: "2001:db8::1", MTU: ptr.To[int32](9000)}), nil},
		{"an interface without name", nics(nic{}), []string{"Required " + at + "name"}},
		{"two interfaces with the same name", nics(nic{Name: "eth0"}, nic{Name: "eth0"}), []string{"Duplicate spec.network.interfaces[1].name"}},
		{"a malformed interface name", nics(nic{Name: "eth 0"}), []string{"Invalid " + at + "name"}},
		{"an unknown adapter", nics(nic{Name: "eth0", Model: "rtl8139"}), []string{"NotSupported " + at + "model"}},
		{"a malformed MAC address", nics(nic{Name: "eth0", MACAddress: "00:50:56"}), []string{"Invalid " + at + "macAddress"}},
		{"an InfiniBand address", nics(nic{Name: "eth0", MACAddress: "02:00:5e:10:00:00:00:01"}), []string{"Invalid " + at + "macAddress"}},
		{"a multicast MAC address", nics(nic{Name: "eth0", MACAddress: "01:50:56:00:00:01"}), []string{"Invalid " + at + "macAddress"}},
		{"a duplicate MAC address in another format", nics(nic{Name: "a", MACAddress: "00:50:56:00:00:0a"}, nic{Name: "b", MACAddress: "00-50-56-00-00-0A"}), []string{"Duplicate spec.network.interfaces[1].macAddress"}},
		{"an address without prefix length", nics(nic{Name: "eth0", Addresses: []string{"192.0.2.5"}}), []string{"Invalid " + at + "addresses[0]"}},
		{"a duplicate address", nics(nic{Name: "eth0", Addresses: []string{"192.0.2.5/24", "192.0.2.5/24"}}), []string{"Duplicate " + at + "addresses[1]"}},
		{"a static IPv4 address with DHCP", nics(nic{Name: "eth0", DHCP4: ptr.To(true), Addresses: []string{"192.0.2.5/24"}}), []string{"Invalid " + at + "addresses[0]"}},
		{"a static IPv6 address with DHCP for IPv4", nics(nic{Name: "eth0", DHCP4: ptr.To(true), Addresses: []string{"2001:db8::5/64"}}), nil},
		{"a static IPv6 address with DHCP", nics(nic{Name: "eth0", DHCP6: ptr.To(true), Addresses: []string{"2001:db8::5/64"}}), []string{"Invalid " + at + "addresses[0]"}},
		{"gateways of the other family", nics(nic{Name: "eth0", Gateway4: "2001:db8::1", Gateway6: "192.0.2.1"}), []string{"Invalid " + at + "gateway4", "Invalid " + at + "gateway6"}},
		{"an MTU below 576", nics(nic{Name: "eth0", MTU: ptr.To[int32](575)}), []string{"Invalid " + at + "mtu"}},
		{"an MTU above 9000", nics(nic{Name: "eth0", MTU: ptr.To[int32](9001)}), []string{"Invalid " + at + "mtu"}},
		{"pools of addresses", nics(nic{Name: "eth0", AddressesFromPools: []vmv1alpha1.IPPoolReference{
			{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "front"}, {APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "front6"}}}), nil},
		{"invalid pools", nics(nic{Name: "eth0", AddressesFromPools: []vmv1alpha1.IPPoolReference{
			{}, {APIGroup: "a b", Kind: "In Cluster", Name: "Front"}, {APIGroup: "x.io", Kind: "Pool", Name: "p"}, {APIGroup: "x.io", Kind: "Pool", Name: "p"}}}),
			[]string{"Required " + at + "addressesFromPools[0].apiGroup", "Required " + at + "addressesFromPools[0].name", "Invalid " + at + "addressesFromPools[0].kind",
				"Invalid " + at + "addressesFromPools[1].apiGroup", "Invalid " + at + "addressesFromPools[1].name", "Invalid " + at + "addressesFromPools[1].kind", "Duplicate " + at + "addressesFromPools[3]"}},
		{"eleven interfaces", nics(nic{Name: "a"}, nic{Name: "b"}, nic{Name: "c"}, nic{Name: "d"}, nic{Name: "e"}, nic{Name: "f"}, nic{Name: "g"}, nic{Name: "h"}, nic{Name: "i"}, nic{Name: "j"}, nic{Name: "k"}), []string{"TooMany spec.network.interfaces"}},
		{"malformed names of the guest", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Network = &vmv1alpha1.VirtualMachineNetworkSpec{HostName: "a.b", DomainName: "-", Nameservers: []string{"dns"}, SearchDomains: []string{"a b"}}
		}, []string{"Invalid spec.network.hostName", "Invalid spec.network.domainName", "Invalid spec.network.nameservers[0]", "Invalid spec.network.searchDomains[0]"}},
	})
}

// volumes returns a change that sets the volumes.
func volumes(list ...vmv1alpha1.VirtualMachineVolume) func(*vmv1alpha1.VirtualMachineSpec) {
	return func(s *vmv1alpha1.VirtualMachineSpec) { s.Volumes = list }
}

func TestValidateVirtualMachineSpec_ChecksVolumes(t *testing.T) {
	type volume = vmv1alpha1.VirtualMachineVolume
	claim := &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}
	disk := &vmv1alpha1.DiskVolumeSource{Capacity: quantity("10Gi")}
	const at = "spec.volumes[0]"
	runSpecCases(t, []specCase{
		{"a claim and a disk", volumes(volume{Name: "a", PersistentVolumeClaim: claim, Bus: "nvme"}, volume{Name: "b", Disk: disk}), nil},
		{"no source", volumes(volume{Name: "a"}), []string{"Required " + at}},
		{"two sources", volumes(volume{Name: "a", PersistentVolumeClaim: claim, Disk: disk}), []string{"Invalid " + at}},
		{"two volumes with the same name", volumes(volume{Name: "a", Disk: disk}, volume{Name: "a", Disk: disk}), []string{"Duplicate spec.volumes[1].name"}},
		{"a duplicate claim", volumes(volume{Name: "a", PersistentVolumeClaim: claim}, volume{Name: "b", PersistentVolumeClaim: claim}), []string{"Duplicate spec.volumes[1].persistentVolumeClaim.claimName"}},
		{"a claim without name", volumes(volume{Name: "a", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{}}), []string{"Required " + at + ".persistentVolumeClaim.claimName"}},
		{"a disk without size", volumes(volume{Name: "a", Disk: &vmv1alpha1.DiskVolumeSource{}}), []string{"Required " + at + ".disk.size"}},
		{"a disk of a fraction of a mebibyte", volumes(volume{Name: "a", Disk: &vmv1alpha1.DiskVolumeSource{Capacity: quantity("1500Ki")}}), []string{"Invalid " + at + ".disk.size"}},
		{"an unknown bus", volumes(volume{Name: "a", Disk: disk, Bus: "floppy"}), []string{"NotSupported " + at + ".bus"}},
	})
}

// bootstrap returns a change that sets the bootstrap.
func bootstrap(b vmv1alpha1.VirtualMachineBootstrap) func(*vmv1alpha1.VirtualMachineSpec) {
	return func(s *vmv1alpha1.VirtualMachineSpec) { s.Bootstrap = &b }
}

// probe returns a change that sets the readiness probe.
func probe(p vmv1alpha1.VirtualMachineReadinessProbe) func(*vmv1alpha1.VirtualMachineSpec) {
	return func(s *vmv1alpha1.VirtualMachineSpec) { s.ReadinessProbe = &p }
}

// publicKey was generated with ssh-keygen. The private key was deleted.
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgDdaHoFfcKfWT7AMc8m9BTs4kT7pm8Vo2d0fKMRUTo me@example.org"

func TestValidateVirtualMachineSpec_ChecksGuest(t *testing.T) {
	type b = vmv1alpha1.VirtualMachineBootstrap
	type p = vmv1alpha1.VirtualMachineReadinessProbe
	heartbeat := &vmv1alpha1.GuestHeartbeatAction{ThresholdStatus: vmv1alpha1.GuestHeartbeatYellow}
	runSpecCases(t, []specCase{
		{"no provider", bootstrap(b{WaitForTools: true}), nil},
		{"cloud-init", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "s", Key: "user-data"}}}), nil},
		{"two providers", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{}, LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{}}), []string{"Invalid spec.bootstrap"}},
		{"a Secret without name", bootstrap(b{Sysprep: &vmv1alpha1.SysprepBootstrap{RawSysprep: &vmv1alpha1.SecretKeySelector{}}}), []string{"Required spec.bootstrap.sysprep.rawSysprep.name"}},
		{"a malformed key", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "s", Key: "a b"}}}), []string{"Invalid spec.bootstrap.cloudInit.rawCloudConfig.key"}},
		{"user data in the spec", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{CloudConfig: "#cloud-config\npackages: [nginx]\nusers: [default, {name: me}]\n"}, RemoveAfterFirstBoot: true}), nil},
		{"user data that is not a cloud-config", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{CloudConfig: "#!/bin/sh\n"}}), []string{"Invalid spec.bootstrap.cloudInit.cloudConfig"}},
		{"a cloud-config that is not a mapping", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{CloudConfig: "#cloud-config\n- a\n"}}), []string{"Invalid spec.bootstrap.cloudInit.cloudConfig"}},
		{"user data from two sources", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{CloudConfig: "#cloud-config", RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "s"}}}), []string{"Invalid spec.bootstrap.cloudInit.rawCloudConfig"}},
		{"secrets in the spec", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{CloudConfig: "#cloud-config\npassword: x\nchpasswd: {}\nusers: [{name: me, passwd: x}]\n"}}),
			[]string{"Forbidden spec.bootstrap.cloudInit.cloudConfig", "Forbidden spec.bootstrap.cloudInit.cloudConfig", "Forbidden spec.bootstrap.cloudInit.cloudConfig"}},
		{"public keys", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{SSHAuthorizedKeys: []string{publicKey, `from="192.0.2.1" ` + publicKey}}}), nil},
		{"invalid public keys", bootstrap(b{CloudInit: &vmv1alpha1.CloudInitBootstrap{SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA", "", "ssh-rsa " + strings.Fields(publicKey)[1], "-----BEGIN OPENSSH PRIVATE KEY-----"}}}), []string{
			"Invalid spec.bootstrap.cloudInit.sshAuthorizedKeys[0]", "Invalid spec.bootstrap.cloudInit.sshAuthorizedKeys[1]", "Invalid spec.bootstrap.cloudInit.sshAuthorizedKeys[2]", "Invalid spec.bootstrap.cloudInit.sshAuthorizedKeys[3]",
		}},
		{"Ignition without a Secret", bootstrap(b{Ignition: &vmv1alpha1.IgnitionBootstrap{}}), []string{"Required spec.bootstrap.ignition.rawConfig"}},
		{"Ignition and cloud-init", bootstrap(b{Ignition: &vmv1alpha1.IgnitionBootstrap{RawConfig: &vmv1alpha1.SecretKeySelector{Name: "s"}}, CloudInit: &vmv1alpha1.CloudInitBootstrap{}}), []string{"Invalid spec.bootstrap"}},
		{"removeAfterFirstBoot without data", bootstrap(b{LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{}, RemoveAfterFirstBoot: true}), []string{"Invalid spec.bootstrap.removeAfterFirstBoot"}},
		{"Sysprep without answers", bootstrap(b{Sysprep: &vmv1alpha1.SysprepBootstrap{}}), []string{"Required spec.bootstrap.sysprep"}},
		{"Sysprep with two sources", bootstrap(b{Sysprep: &vmv1alpha1.SysprepBootstrap{RawSysprep: &vmv1alpha1.SecretKeySelector{Name: "s"}, Answers: &vmv1alpha1.SysprepAnswers{FullName: "a", Organization: "b"}}}), []string{"Invalid spec.bootstrap.sysprep"}},
		{"empty answers", bootstrap(b{Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{
			AutoLogonCount: 101, TimeZone: ptr.To[int32](-1), Workgroup: "W", Domain: &vmv1alpha1.SysprepDomain{}, RunOnce: []string{""},
		}}}), []string{
			"Required spec.bootstrap.sysprep.answers.fullName", "Required spec.bootstrap.sysprep.answers.organization", "Invalid spec.bootstrap.sysprep.answers.autoLogonCount",
			"Required spec.bootstrap.sysprep.answers.administratorPassword", "Invalid spec.bootstrap.sysprep.answers.timeZone", "Required spec.bootstrap.sysprep.answers.runOnce[0]",
			"Required spec.bootstrap.sysprep.answers.domain.name", "Required spec.bootstrap.sysprep.answers.domain.user", "Required spec.bootstrap.sysprep.answers.domain.password",
			"Invalid spec.bootstrap.sysprep.answers.workgroup",
		}},
		{"answers", bootstrap(b{Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{
			FullName: "a", Organization: "b", AutoLogonCount: 1, AdministratorPassword: &vmv1alpha1.SecretKeySelector{Name: "s"},
			Domain: &vmv1alpha1.SysprepDomain{Name: "example.org", User: "join", Password: &vmv1alpha1.SecretKeySelector{Name: "s"}},
		}}}), nil},
		{"properties from two sources", bootstrap(b{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{Properties: map[string]string{"a": "b"}, RawProperties: "s"}}), []string{"Invalid spec.bootstrap.vAppConfig.rawProperties"}},
		{"a property without key", bootstrap(b{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{Properties: map[string]string{"": "b"}}}), []string{"Invalid spec.bootstrap.vAppConfig.properties"}},

		{"a heartbeat probe", probe(p{GuestHeartbeat: heartbeat, PeriodSeconds: 10, TimeoutSeconds: 10}), nil},
		{"a probe without action", probe(p{}), []string{"Required spec.readinessProbe"}},
		{"a probe with two actions", probe(p{GuestHeartbeat: heartbeat, TCPSocket: &vmv1alpha1.TCPSocketAction{Port: 22}}), []string{"Invalid spec.readinessProbe"}},
		{"a threshold of Gray", probe(p{GuestHeartbeat: &vmv1alpha1.GuestHeartbeatAction{ThresholdStatus: vmv1alpha1.GuestHeartbeatGray}}), []string{"NotSupported spec.readinessProbe.guestHeartbeat.thresholdStatus"}},
		{"port 0", probe(p{TCPSocket: &vmv1alpha1.TCPSocketAction{}}), []string{"Invalid spec.readinessProbe.tcpSocket.port"}},
		{"a malformed host", probe(p{TCPSocket: &vmv1alpha1.TCPSocketAction{Port: 22, Host: "a b"}}), []string{"Invalid spec.readinessProbe.tcpSocket.host"}},
		{"a host by name", probe(p{TCPSocket: &vmv1alpha1.TCPSocketAction{Port: 22, Host: "kubernetes.default.svc"}}), []string{"Invalid spec.readinessProbe.tcpSocket.host"}},
		{"a host with a zone", probe(p{TCPSocket: &vmv1alpha1.TCPSocketAction{Port: 22, Host: "fe80::1%eth0"}}), []string{"Invalid spec.readinessProbe.tcpSocket.host"}},
		{"a host by address", probe(p{TCPSocket: &vmv1alpha1.TCPSocketAction{Port: 22, Host: "fd00::1"}}), nil},
		{"variables without key, twice and with a malformed pattern", probe(p{GuestInfo: []vmv1alpha1.GuestInfoAction{{}, {Key: "a"}, {Key: "a"}, {Key: "b", Value: "("}}}), []string{
			"Required spec.readinessProbe.guestInfo[0].key", "Duplicate spec.readinessProbe.guestInfo[2].key", "Invalid spec.readinessProbe.guestInfo[3].value",
		}},
		{"times that are too short", probe(p{GuestHeartbeat: heartbeat, PeriodSeconds: -1, TimeoutSeconds: -1}), []string{"Invalid spec.readinessProbe.periodSeconds", "Invalid spec.readinessProbe.timeoutSeconds"}},
		{"times that are too long", probe(p{GuestHeartbeat: heartbeat, PeriodSeconds: 3601, TimeoutSeconds: 61}), []string{"Invalid spec.readinessProbe.periodSeconds", "Invalid spec.readinessProbe.timeoutSeconds"}},
	})
}

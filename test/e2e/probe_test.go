// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// guest changes what the guest of a VM reports.
func (u user) guest(vm string, values ...string) {
	u.t.Helper()
	q := url.Values{"vm": {u.get("vm/"+vm, ".status.uniqueID")}}
	for i := 0; i < len(values); i += 2 {
		q.Set(values[i], values[i+1])
	}
	orderVCenter(u.t, http.MethodPut, "/vm/guest?"+q.Encode())
}

// probed waits until a condition says so, as status and reason.
func (u user) probed(vm, condition, want string, texts ...string) {
	u.t.Helper()
	eventually(u.t, long, condition+" of "+vm+" is "+want, func() error {
		path := fmt.Sprintf(`.status.conditions[?(@.type==%q)]`, condition)
		got := u.get("vm/"+vm, path+".status") + "/" + u.get("vm/"+vm, path+".reason")
		message := u.get("vm/"+vm, path+".message")
		if got != want {
			return errorf("%s (%s), want %s", got, message, want)
		}
		for _, text := range texts {
			if !strings.Contains(message, text) {
				return errorf("%q, want it to say %q", message, text)
			}
		}
		return nil
	})
}

func TestASocketOfTheGuestDecidesReadiness(t *testing.T) {
	t.Parallel()
	u := admin(t)
	// The guest is at an address of this host.
	const address = "127.0.7.1"
	listener, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	port := listener.Addr().(*net.TCPAddr).Port
	u.apply(catalogue)
	u.apply(vmManifest("web", fmt.Sprintf("readinessProbe: {tcpSocket: {port: %d, host: %s}, periodSeconds: 1, timeoutSeconds: 5}", port, address)))
	u.probed("web", "ProbeSucceeded", "False/NotReady", "spec.readinessProbe.tcpSocket", "not an address that the guest")
	eventually(t, long, "the guest reports addresses", func() error {
		if u.get("vm/web", ".status.network.primaryIP4") == "" {
			return errorf("it reports none")
		}
		return nil
	})
	q := url.Values{"vm": {u.get("vm/web", ".status.uniqueID")}, "address": {u.get("vm/web", ".status.network.primaryIP4"), address}}
	orderVCenter(t, http.MethodPut, "/vm/guest?"+q.Encode())
	u.probed("web", "ProbeSucceeded", "True/Succeeded")
	u.probed("web", "Ready", "True/Succeeded")
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	u.probed("web", "Ready", "False/NotReady", at+" refuses the connection")
	eventually(t, long, "an event tells that the probe failed", func() error {
		if out := u.kubectl("get", "events", "--field-selector=reason=ProbeFailed,involvedObject.name=web", "-o", "name"); out == "" {
			return errorf("there is none")
		}
		return nil
	})

	u.kubectl("patch", "vm/web", "--type=merge", "-p", `{"spec":{"powerState":"PoweredOff","powerOffMode":"Hard"}}`)
	u.probed("web", "ProbeSucceeded", "False/PoweredOff", "not probed")
	u.probed("web", "Ready", "True/PoweredOff")
	u.kubectl("patch", "vm/web", "--type=merge", "-p", `{"spec":{"powerState":"PoweredOn","readinessProbe":null}}`)
	u.probed("web", "Ready", "True/Succeeded")
	u.wants("vm/web", `.status.conditions[?(@.type=="ProbeSucceeded")].status`, "")
}

func TestVariablesAndHeartbeatOfTheGuestDecideReadiness(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	u.apply(vmManifest("vars", "readinessProbe: {guestInfo: [{key: state, value: 'up|ready'}, {key: role}]}"))
	u.apply(vmManifest("heart", "readinessProbe: {guestHeartbeat: {thresholdStatus: Yellow}}"))
	u.probed("vars", "ProbeSucceeded", "False/NotReady", "guestInfo[0]", "no variable guestinfo.state")
	u.guest("vars", "key", "state", "value", "starting up")
	u.probed("vars", "ProbeSucceeded", "False/NotReady", "guestinfo.state does not match up|ready")
	u.guest("vars", "key", "state", "value", "up")
	u.probed("vars", "ProbeSucceeded", "False/NotReady", "guestInfo[1]", "no variable guestinfo.role")
	u.guest("vars", "key", "role", "value", "db")
	u.probed("vars", "Ready", "True/Succeeded")
	u.guest("vars", "key", "state", "value", "down")
	u.probed("vars", "Ready", "False/NotReady", "guestInfo[0]")

	u.probed("heart", "Ready", "True/Succeeded")
	u.guest("heart", "heartbeat", "red")
	u.probed("heart", "Ready", "False/NotReady", "the heartbeat of the guest is Red")
	u.guest("heart", "heartbeat", "yellow")
	u.probed("heart", "Ready", "True/Succeeded")
}

func TestProbesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	for probe, field := range map[string]string{
		"{tcpSocket: {port: 22, host: kubernetes.default.svc}}":           "spec.readinessProbe.tcpSocket.host",
		"{tcpSocket: {port: 22, host: 'fe80::1%eth0'}}":                   "spec.readinessProbe.tcpSocket.host",
		"{tcpSocket: {port: 0}}":                                          "spec.readinessProbe.tcpSocket.port",
		"{tcpSocket: {port: 22}, periodSeconds: 3601}":                    "spec.readinessProbe.periodSeconds",
		"{guestInfo: [{key: a, value: '('}]}":                             "spec.readinessProbe.guestInfo[0].value",
		"{guestInfo: [{key: a}, {key: b, value: '(?:(?:ab){30}){30}'}]}":  "spec.readinessProbe.guestInfo[1].value",
		"{guestInfo: [{key: ''}]}":                                        "spec.readinessProbe.guestInfo[0].key",
		"{tcpSocket: {port: 22}, guestHeartbeat: {thresholdStatus: Red}}": "spec.readinessProbe",
	} {
		u.refused(vmManifest("refused", "readinessProbe: "+probe), []string{"create", "-f", "-"}, field)
	}
	// Another one's address cannot be told from none at admission.
	u.apply(vmManifest("scanner", "readinessProbe: {tcpSocket: {port: 22, host: 127.0.0.1}}"))
	u.probed("scanner", "ProbeSucceeded", "False/NotReady", "127.0.0.1 is not an address that the guest of this virtual machine reports")
}

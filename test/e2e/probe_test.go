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

	"github.com/slipway-dev/slipway/test/testenv"
)

// guest changes the data that the guest of a VM reports.
func (u user) guest(vm string, values ...string) {
	u.T.Helper()
	q := url.Values{"vm": {u.Get("vm/"+vm, ".status.uniqueID")}}
	for i := 0; i < len(values); i += 2 {
		q.Set(values[i], values[i+1])
	}
	testenv.Order(u.T, http.MethodPut, "/vm/guest?"+q.Encode())
}

// probed waits until a condition has the given status and reason.
func (u user) probed(vm, condition, want string, texts ...string) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, condition+" of "+vm+" is "+want, func() error {
		path := fmt.Sprintf(`.status.conditions[?(@.type==%q)]`, condition)
		got := u.Get("vm/"+vm, path+".status") + "/" + u.Get("vm/"+vm, path+".reason")
		message := u.Get("vm/"+vm, path+".message")
		if got != want {
			return fmt.Errorf("%s (%s), want %s", got, message, want)
		}
		for _, text := range texts {
			if !strings.Contains(message, text) {
				return fmt.Errorf("%q, want %q", message, text)
			}
		}
		return nil
	})
}

// Readiness depends on a socket, variables and the heartbeat of the guest.
func TestReadinessProbe_DecidesReadiness(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue)
	u.part("by a socket of the guest", func(t *testing.T, u user) { u.probesSocket(t) })
	u.part("by variables and the heartbeat of the guest", func(_ *testing.T, u user) { u.probesVariables() })
}

func (u user) probesSocket(t *testing.T) {
	// The guest has an address of this host.
	const address = "127.0.7.1"
	listener, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	port := listener.Addr().(*net.TCPAddr).Port
	u.Put(testenv.VM("web", fmt.Sprintf("readinessProbe: {tcpSocket: {port: %d, host: %s}, periodSeconds: 1, timeoutSeconds: 5}", port, address)))
	u.probed("web", "ProbeSucceeded", "False/NotReady", "spec.readinessProbe.tcpSocket", "not an address that the guest")
	testenv.Eventually(t, testenv.Long, "the guest reports addresses", func() error {
		if u.Get("vm/web", ".status.network.primaryIP4") == "" {
			return fmt.Errorf("it reports none")
		}
		return nil
	})
	q := url.Values{"vm": {u.Get("vm/web", ".status.uniqueID")}, "address": {u.Get("vm/web", ".status.network.primaryIP4"), address}}
	testenv.Order(t, http.MethodPut, "/vm/guest?"+q.Encode())
	u.probed("web", "ProbeSucceeded", "True/Succeeded")
	u.probed("web", "Ready", "True/Succeeded")
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	u.probed("web", "Ready", "False/NotReady", at+" refuses the connection")
	testenv.Eventually(t, testenv.Long, "an event reports that the probe failed", func() error {
		if out := u.Get("events", `.items[?(@.reason=="ProbeFailed")].metadata.name`); out == "" {
			return fmt.Errorf("it does not exist")
		}
		return nil
	})

	u.Patch("vm/web", `{"spec":{"powerState":"PoweredOff","powerOffMode":"Hard"}}`)
	u.probed("web", "ProbeSucceeded", "False/PoweredOff", "not probed")
	u.probed("web", "Ready", "True/PoweredOff")
	u.Patch("vm/web", `{"spec":{"powerState":"PoweredOn","readinessProbe":null}}`)
	u.probed("web", "Ready", "True/Succeeded")
	u.Wants("vm/web", `.status.conditions[?(@.type=="ProbeSucceeded")].status`, "")
}

func (u user) probesVariables() {
	u.Put(testenv.VM("vars", "readinessProbe: {guestInfo: [{key: state, value: 'up|ready'}, {key: role}]}"))
	u.Put(testenv.VM("heart", "readinessProbe: {guestHeartbeat: {thresholdStatus: Yellow}}"))
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

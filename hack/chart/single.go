// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

const (
	// alone is one replica, for which no other one stands, as in artifacts/deploy/components/single.
	alone = "eq (int .Values.replicas) 1"
	// shutdownDelay is the argument for how long the server serves on when it stops.
	shutdownDelay = "--shutdown-delay-duration"
	// publishNotReady is the field by which a Service leads to pods that are not ready, too.
	publishNotReady = "publishNotReadyAddresses"
	// frontend is the Service by which users reach the server.
	frontend = "slipway-apiserver"
)

// delayed is that argument, without a delay for one replica: nobody could be sent
// to another one meanwhile.
func delayed(arg string) expression {
	return expression(fmt.Sprintf(`ternary "%s=0s" %q (%s) | quote`, shutdownDelay, arg, alone))
}

// published lets the answer of one replica tell users why it is not ready.
func published(o map[string]any) error {
	spec, err := field[map[string]any](o, "spec")
	if err != nil {
		return err
	}
	if spec[publishNotReady] != nil {
		return fmt.Errorf("it has %s, which the number of replicas decides", publishNotReady)
	}
	spec[publishNotReady] = guarded{alone, true}
	return nil
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command prometheus-rule writes Prometheus alerting rules as a PrometheusRule object of the Prometheus operator, so
// that promtool and the operator use the same rules.
//
//	usage: prometheus-rule artifacts/monitoring/alerts.yaml artifacts/monitoring/prometheusrule.yaml
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// head is the object without its rules.
const head = `# Generated from alerts.yaml by hack/prometheus-rule (make generate). Do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: slipway
  namespace: slipway-system
spec:
`

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: prometheus-rule RULES OBJECT")
		os.Exit(2)
	}
	rules, err := os.ReadFile(os.Args[1])
	var text string
	if err == nil {
		text, err = object(string(rules))
	}
	if err == nil {
		err = os.WriteFile(os.Args[2], []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "creating the PrometheusRule of %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// object returns the PrometheusRule of a rules file.
func object(rules string) (string, error) {
	start := strings.Index("\n"+rules, "\ngroups:\n")
	if start < 0 {
		return "", errors.New("the file has no groups")
	}
	var out strings.Builder
	out.WriteString(head)
	for line := range strings.Lines(rules[start:]) {
		out.WriteString("  " + line)
	}
	return out.String(), nil
}

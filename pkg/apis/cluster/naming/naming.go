// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Default is the default template of a MachineSet.
const Default = "{{ .machineSet.name }}-{{ .random }}"

// maxName is the maximum length of a generated name, in bytes: the limit for label values and host names.
const maxName = 63

// variable matches a variable in a template.
var variable = regexp.MustCompile(`\{\{\s*\.([A-Za-z.]+)\s*\}\}`)

// MachineName generates the name of a machine from template, or from Default if template is empty. A name with more than 63
// characters is truncated to 58, followed by random, which has five.
func MachineName(template, cluster, set, random string) (string, error) {
	if template == "" {
		template = Default
	}
	values := map[string]string{"cluster.name": cluster, "machineSet.name": set, "random": random}
	used := false
	var unknown []string
	rest := variable.ReplaceAllString(template, "")
	name := variable.ReplaceAllStringFunc(template, func(place string) string {
		name := variable.FindStringSubmatch(place)[1]
		value, ok := values[name]
		if !ok {
			unknown = append(unknown, place)
		}
		used = used || name == "random"
		return value
	})
	switch {
	case len(unknown) > 0:
		return "", fmt.Errorf("unknown variable %s: allowed are {{ .cluster.name }}, {{ .machineSet.name }} and {{ .random }}", unknown[0])
	case strings.Contains(rest, "{{") || strings.Contains(rest, "}}"):
		return "", errors.New("must not contain {{ or }}, except in {{ .cluster.name }}, {{ .machineSet.name }} and {{ .random }}")
	case !used:
		return "", errors.New("must contain {{ .random }}, so that the names of machines are unique")
	}
	if len(name) > maxName {
		name = name[:maxName-len(random)] + random
	}
	return name, nil
}

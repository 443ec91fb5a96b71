// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Default is the template of a MachineSet that names none.
const Default = "{{ .machineSet.name }}-{{ .random }}"

// maxName is the longest name that is made, in bytes: that of a label's value and of a host.
const maxName = 63

// variable is a place of a template that something is put in.
var variable = regexp.MustCompile(`\{\{\s*\.([A-Za-z.]+)\s*\}\}`)

// Machine makes the name of a machine of a set, by template, or by Default if that is empty.
// A name of more than 63 characters is cut to 58, followed by random, which has five.
func Machine(template, cluster, set, random string) (string, error) {
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
		return "", fmt.Errorf("%s is not known: there are {{ .cluster.name }}, {{ .machineSet.name }} and {{ .random }}", unknown[0])
	case strings.Contains(rest, "{{") || strings.Contains(rest, "}}"):
		return "", errors.New("may have {{ .cluster.name }}, {{ .machineSet.name }} and {{ .random }}, and no other {{ or }}")
	case !used:
		return "", errors.New("must have {{ .random }}, by which machines of a set differ")
	}
	if len(name) > maxName {
		name = name[:maxName-len(random)] + random
	}
	return name, nil
}

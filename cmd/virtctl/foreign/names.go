// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"strings"
)

// maxName is the longest name that is made: a label of DNS.
const maxName = 63

// Names gives each VM a name for its object: that which it has in vSphere, as far as
// Kubernetes takes it. One that several would have, or that is taken, is told apart by the
// beginning of the instance UUID; notes say so.
func Names(machines []*Machine, taken map[string]bool) (names []string, notes map[*Machine]string) {
	count := map[string]int{}
	for _, m := range machines {
		count[label(m.VM.Name)]++
	}
	notes = map[*Machine]string{}
	for _, m := range machines {
		name := label(m.VM.Name)
		id := strings.ReplaceAll(strings.ToLower(m.VM.Config.InstanceUuid), "-", "")
		id = id[:min(8, len(id))]
		switch {
		case name == "":
			name = "vm-" + id
			notes[m] = fmt.Sprintf("the name %q has nothing that an object can be named by", m.VM.Name)
		case count[name] > 1 || taken[name]:
			notes[m] = fmt.Sprintf("others would be named %s too", name)
			name = strings.TrimRight(name[:min(len(name), maxName-len(id)-1)], "-.") + "-" + id
		case name != m.VM.Name:
			notes[m] = fmt.Sprintf("the name in vSphere is %q, and stays", m.VM.Name)
		}
		names = append(names, name)
	}
	return names, notes
}

// label is what a name has of letters, digits and hyphens, in lower case.
func label(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := b.String()
	return strings.Trim(out[:min(len(out), maxName)], "-")
}

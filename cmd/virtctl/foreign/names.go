// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"strings"
)

// maxName is the maximum length of a generated name, that of a DNS label.
const maxName = 63

// Names chooses a name for each VM's object: the name in vSphere, with unsupported characters replaced. Duplicate
// names and names in use get the start of the instance UUID as a suffix. notes explains changes.
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
			notes[m] = fmt.Sprintf("the name %q has no characters that object names support", m.VM.Name)
		case count[name] > 1 || taken[name]:
			notes[m] = fmt.Sprintf("other VMs would also be named %s", name)
			name = strings.TrimRight(name[:min(len(name), maxName-len(id)-1)], "-.") + "-" + id
		case name != m.VM.Name:
			notes[m] = fmt.Sprintf("the name in vSphere is %q and is kept", m.VM.Name)
		}
		names = append(names, name)
	}
	return names, notes
}

// label returns the letters, digits and hyphens of a name in lower case.
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

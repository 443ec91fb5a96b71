// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// OutputName prints one line for each object, as kubectl does.
const OutputName = "name"

// Listing is the flag --output of a command that lists objects.
type Listing struct{ format string }

// Entry is an object in a list. An entry without a name has no object in the API, and is not printed as a name.
type Entry struct {
	Kind   schema.GroupKind
	Name   string
	Object any
}

// MachineKind is the kind of virtual machines.
var MachineKind = vmv1alpha1.SchemeGroupVersion.WithKind("VirtualMachine").GroupKind()

// EntryOf returns the entry of an API object, and sets its kind, which responses of servers do not have.
func EntryOf(obj runtime.Object, name string, kind schema.GroupVersionKind) Entry {
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return Entry{Kind: kind.GroupKind(), Name: name, Object: obj}
}

// AddFlag adds the flag. An invalid value is rejected before the command runs.
func (l *Listing) AddFlag(cmd *cobra.Command) {
	allowed := []string{OutputTable, OutputJSON, OutputYAML, OutputName}
	cmd.Flags().StringVarP(&l.format, "output", "o", OutputTable, "Output format: table, json, yaml or name")
	CompleteFixed(cmd, "output", allowed...)
	cmd.PreRunE = func(*cobra.Command, []string) error { return ValidateOutput(l.format, allowed...) }
}

// Table reports whether the command prints its own table.
func (l *Listing) Table() bool { return l.format == OutputTable }

// PrintName writes a name with its kind, as kubectl -o name does.
func PrintName(out io.Writer, kind schema.GroupKind, name string) error {
	_, err := fmt.Fprintf(out, "%s/%s\n", strings.ToLower(kind.String()), Printable(name))
	return err
}

// Print writes the entries in a format for programs.
func (l *Listing) Print(out io.Writer, entries []Entry) error {
	items := []any{}
	for _, e := range entries {
		if l.format == OutputName && e.Name != "" {
			if err := PrintName(out, e.Kind, e.Name); err != nil {
				return err
			}
		}
		items = append(items, e.Object)
	}
	if l.format == OutputName {
		return nil
	}
	return PrintObject(out, l.format, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// kindsOf maps placeholders in usage texts to the kinds that may precede the name. The first one is shown in errors.
var kindsOf = map[string][]string{
	"VM":       {"vm", "vms", "virtualmachine", "virtualmachines"},
	"SNAPSHOT": {"vmsnap", "vmsnaps", "vmsnapshot", "vmsnapshots", "virtualmachinesnapshot", "virtualmachinesnapshots"},
	"MACHINE":  {"machine", "machines", "ma"},
}

// groupKinds are the kinds that may precede the name of a group.
var groupKinds = []string{"group", "vmgroup", "virtualmachinegroup"}

// kindWord finds such a placeholder in the first argument of a usage text.
var kindWord = regexp.MustCompile(`\b(VM|SNAPSHOT|MACHINE)\b`)

// Argument describes the first argument of a command.
type Argument struct {
	// Word is the placeholder, a key of kindsOf.
	Word string
	// many is true if all arguments are such names. groups is true if they may be names of groups.
	many, groups bool
	// command is true if another command follows after --.
	command bool
}

// ArgumentOf returns the argument in a usage text, or nil if it is not one of kindsOf.
func ArgumentOf(use string) *Argument {
	_, rest, _ := strings.Cut(use, " ")
	first, _, _ := strings.Cut(rest, " ")
	word := kindWord.FindString(first)
	if word == "" {
		return nil
	}
	return &Argument{Word: word, many: strings.Contains(first, "..."), groups: strings.Contains(first, "group/"), command: strings.Contains(rest, "-- ")}
}

// takeKinds lets all subcommands of cmd accept "vm NAME" and "vm/NAME" for the name of a virtual machine, and
// likewise for the other kinds.
func takeKinds(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		takeKinds(below)
	}
	a := ArgumentOf(cmd.Use)
	if a == nil {
		return
	}
	check, do, complete := cmd.Args, cmd.RunE, cmd.ValidArgsFunction
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		_, err := a.of(cmd, check, args)
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		names, err := a.of(cmd, check, args)
		if err != nil {
			return err
		}
		return do(cmd, names)
	}
	if complete != nil {
		cmd.ValidArgsFunction = a.Completing(complete)
	}
}

// of returns the arguments of a command without kinds, after check has accepted the names.
func (a *Argument) of(cmd *cobra.Command, check cobra.PositionalArgs, args []string) ([]string, error) {
	names, command := args, []string(nil)
	if dash := cmd.ArgsLenAtDash(); a.command && dash >= 0 {
		names, command = args[:dash], args[dash:]
	}
	checked := func(names []string) error {
		if check == nil {
			return nil
		}
		return check(cmd, names)
	}
	plain, err := a.Plain(names, checked)
	if err == nil {
		if err = checked(plain); err != nil {
			err = fmt.Errorf("%w; usage: %s, where %s is NAME, %s", err, cmd.UseLine(), a.Word, a.forms())
		}
	}
	return append(plain, command...), err
}

// forms describes the forms of a name with a kind.
func (a *Argument) forms() string {
	kind := kindsOf[a.Word][0]
	return fmt.Sprintf("%s/NAME or %s NAME", kind, kind)
}

// Plain removes the kinds. A separate kind is removed only if check accepts the rest; otherwise it is the name of an
// object.
func (a *Argument) Plain(args []string, allowed func([]string) error) ([]string, error) {
	names, prefix := slices.Clone(args), ""
	if len(args) > 1 && allowed(args[1:]) == nil {
		switch {
		case a.is(args[0]):
			names = names[1:]
		case a.isGroup(args[0]):
			names, prefix = names[1:], GroupPrefix
		}
	}
	for i, arg := range names {
		if i > 0 && !a.many {
			break
		}
		kind, name, cut := strings.Cut(arg, "/")
		user := kind[:strings.LastIndexByte(kind, '@')+1]
		kind = kind[len(user):]
		switch {
		case !cut:
			names[i] = prefix + arg
		case name == "" || strings.Contains(name, "/"):
			return nil, a.unclear(arg)
		case a.is(kind):
			names[i] = user + name
		case a.isGroup(kind) && user == "":
			names[i] = GroupPrefix + name
		default:
			return nil, a.unclear(arg)
		}
	}
	return names, nil
}

func (a *Argument) unclear(arg string) error {
	if kind, name, _ := strings.Cut(arg, "/"); slices.Contains(groupKinds, bareKind(kind)) {
		return fmt.Errorf("%q is a group, which this command does not accept: specify its virtual machines; kubectl get vmgroup %s -o wide shows what the group is waiting for", arg, name)
	}
	return fmt.Errorf("%q is not a valid %s: use NAME, %s, and -n NAMESPACE for another namespace", arg, a.Word, a.forms())
}

// is reports whether text is the kind, also with its API group as in "kubectl get -o name".
func (a *Argument) is(text string) bool { return slices.Contains(kindsOf[a.Word], bareKind(text)) }

// isGroup reports whether text is the kind of a group and groups are allowed.
func (a *Argument) isGroup(text string) bool {
	return a.groups && slices.Contains(groupKinds, bareKind(text))
}

// bareKind returns a kind without its API group, if that is a group of Slipway.
func bareKind(text string) string {
	kind, group, cut := strings.Cut(strings.ToLower(text), ".")
	if cut && !strings.HasSuffix("."+group, ".slipway.dev") {
		return ""
	}
	return kind
}

// Completing makes the completion of names work after a kind.
func (a *Argument) Completing(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && a.is(args[0]) {
			args = args[1:]
		}
		kind, name, cut := strings.Cut(start, "/")
		if !cut || !a.is(kind) {
			return complete(cmd, args, start)
		}
		names, directive := complete(cmd, args, name)
		for i := range names {
			names[i] = kind + "/" + names[i]
		}
		return names, directive
	}
}

// GroupPrefix is the prefix of normalized group arguments.
const GroupPrefix = "group/"

// SplitKind splits [KIND/]NAME.
func SplitKind(value string) (kind, name string) {
	if kind, name, ok := strings.Cut(value, "/"); ok {
		return kind, name
	}
	return "", value
}

// ImageRef parses [KIND/]NAME.
func ImageRef(text string) (vmv1alpha1.VirtualMachineImageRef, error) {
	kind, name := SplitKind(text)
	if name == "" {
		return vmv1alpha1.VirtualMachineImageRef{}, fmt.Errorf("image %q has no name: use [KIND/]NAME", text)
	}
	for _, known := range []string{"", vmv1alpha1.ImageKind, vmv1alpha1.ClusterImageKind} {
		if strings.EqualFold(kind, known) {
			return vmv1alpha1.VirtualMachineImageRef{Kind: known, Name: name}, nil
		}
	}
	return vmv1alpha1.VirtualMachineImageRef{}, fmt.Errorf("kind of image %q is not supported: use %s or %s", kind, vmv1alpha1.ImageKind, vmv1alpha1.ClusterImageKind)
}

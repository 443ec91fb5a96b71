// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
)

// NewCommand returns the command.
func NewCommand(f *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Print the manifest of an instance type, a preference or a virtual machine",
		Long:  "Print a manifest on standard output, ready for kubectl apply -f -. Nothing is created on the server.",
		Args:  cobra.NoArgs,
		RunE:  cli.HelpFor,
	}
	cmd.AddCommand(newCreateInstancetypeCommand(f), newCreatePreferenceCommand(f), newCreateVMCommand(f))
	return cmd
}

// parseQuantity parses the value of a flag that must be a positive quantity.
func parseQuantity(flag, value string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() <= 0 {
		return q, fmt.Errorf("--%s %q is not a positive quantity such as 512Mi or 4Gi", flag, value)
	}
	return q, nil
}

// parseParams parses key:value pairs separated by commas. Exactly the keys of required must be present.
func parseParams(flag, value string, required ...string) (map[string]string, error) {
	params := map[string]string{}
	for _, pair := range strings.Split(value, ",") {
		k, v, ok := strings.Cut(pair, ":")
		if !ok || v == "" {
			return nil, fmt.Errorf("--%s %q: %q is not key:value", flag, value, pair)
		}
		params[k] = v
	}
	for _, k := range required {
		if params[k] == "" {
			return nil, fmt.Errorf("--%s %q lacks %s; required: %s", flag, value, k, strings.Join(required, ", "))
		}
	}
	if len(params) != len(required) {
		return nil, fmt.Errorf("--%s %q has keys that are not among %s", flag, value, strings.Join(required, ", "))
	}
	return params, nil
}

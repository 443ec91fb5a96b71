// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// Values of --output.
const (
	OutputTable = "table"
	OutputYAML  = "yaml"
	OutputJSON  = "json"
)

// ValidateOutput returns an error if the format is not allowed.
func ValidateOutput(format string, allowed ...string) error {
	if slices.Contains(allowed, format) {
		return nil
	}
	return fmt.Errorf("--output %q is not supported: use one of %s", format, strings.Join(allowed, ", "))
}

// PrintObject writes obj as YAML or JSON.
func PrintObject(out io.Writer, format string, obj any) error {
	data, err := json.MarshalIndent(obj, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	data = append(data, '\n')
	if format == OutputYAML {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return fmt.Errorf("encoding the output: %w", err)
		}
	}
	_, err = out.Write(data)
	return err
}

// StandardOutput is the file name that selects standard output.
const StandardOutput = "-"

// PlainOut returns standard output without escaping, for binary data.
func (f *Factory) PlainOut() io.Writer {
	if t, ok := f.Streams.Out.(Terminal); ok {
		return t.Out
	}
	return f.Streams.Out
}

// IsTerminal reports whether out is a terminal.
func IsTerminal(out io.Writer) bool {
	o, ok := out.(*os.File)
	return ok && term.IsTerminal(int(o.Fd()))
}

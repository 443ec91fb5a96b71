// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// A manifest is a tree of maps, lists and values. What depends on values of the chart is put
// into the tree as one of these, and written as a template where it stands.
type (
	// expression is a value that the template computes: {{ expression }}.
	expression string
	// block is a field whose value is any YAML of the chart's values, and which is left out
	// if that is empty.
	block string
	// guarded is a field, or items of a list, that are there if a condition holds.
	guarded struct {
		condition string
		value     any
	}
	// never is a list that is not empty where it stands.
	never []any
	// repeated are items of a list, one for each of a list of values.
	repeated string
)

// mark stands in the YAML for the one of these with a number.
var mark = regexp.MustCompile(`^(\s*)((?:- )*)(?:([\w.-]+): )?'?@@(\d+)@@'?$`)

// renderer collects what the marks of a manifest stand for.
type renderer struct{ marked []any }

// template is the text of a tree.
func template(tree any) (string, error) {
	r := &renderer{}
	text, err := yaml.Marshal(r.marks(tree))
	if err != nil {
		return "", fmt.Errorf("writing a template: %w", err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		m := mark.FindStringSubmatch(line)
		if m == nil {
			out.WriteString(escape(line) + "\n")
			continue
		}
		n, err := strconv.Atoi(m[4])
		if err != nil || n >= len(r.marked) {
			return "", fmt.Errorf("the manifest has a mark of its own: %q", line)
		}
		written, err := write(m[1], m[2], m[3], r.marked[n])
		if err != nil {
			return "", err
		}
		out.WriteString(written)
	}
	return out.String(), nil
}

// marks replaces what depends on values.
func (r *renderer) marks(node any) any {
	switch x := node.(type) {
	case map[string]any:
		all := make(map[string]any, len(x))
		for k, v := range x {
			all[k] = r.marks(filled(v))
		}
		return all
	case never:
		return r.marks([]any(x))
	case []any:
		all := make([]any, 0, len(x))
		for _, v := range x {
			all = append(all, r.marks(v))
		}
		return all
	case expression, block, guarded, repeated:
		r.marked = append(r.marked, x)
		return fmt.Sprintf("@@%d@@", len(r.marked)-1)
	}
	return node
}

// filled puts a list that may turn out to be empty under the conditions of its items, so that
// there is no field without a value.
func filled(node any) any {
	items, ok := node.([]any)
	if !ok || len(items) == 0 {
		return node
	}
	condition := "or"
	for _, item := range items {
		g, ok := item.(guarded)
		if !ok {
			return node
		}
		condition += " (" + g.condition + ")"
	}
	return guarded{condition, never(items)}
}

// write is the template of one mark, with the indentation, dashes and key before it.
func write(indent, dashes, key string, what any) (string, error) {
	before := indent + dashes
	if key != "" {
		before += key + ": "
	}
	switch x := what.(type) {
	case expression:
		return before + "{{ " + string(x) + " }}\n", nil
	case block:
		if key == "" || dashes != "" {
			return "", fmt.Errorf("%s is no field of its own", x)
		}
		return fmt.Sprintf("%[1]s{{- with %[2]s }}\n%[1]s%[3]s:\n{{ toYaml . | indent %[4]d }}\n%[1]s{{- end }}\n", indent, string(x), key, len(indent)+2), nil
	case repeated:
		return fmt.Sprintf("%[1]s{{- range %[2]s }}\n%[1]s- {{ . | quote }}\n%[1]s{{- end }}\n", indent, string(x)), nil
	case guarded:
		if key != "" && dashes != "" {
			return "", fmt.Errorf("%s is the first field of an item: its dash would be guarded too", key)
		}
		inner := x.value
		if key != "" {
			inner = map[string]any{key: inner}
		}
		text, err := template(inner)
		if err != nil {
			return "", err
		}
		var out strings.Builder
		out.WriteString(indent + "{{- if " + x.condition + " }}\n")
		for line := range strings.Lines(text) {
			out.WriteString(indent + line)
		}
		out.WriteString(indent + "{{- end }}\n")
		return out.String(), nil
	}
	return "", fmt.Errorf("a %T cannot be written", what)
}

// escape keeps what looks like a template in a manifest from being one.
func escape(line string) string {
	return strings.ReplaceAll(line, "{{", `{{ "{{" }}`)
}

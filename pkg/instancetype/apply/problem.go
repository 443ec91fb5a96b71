// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ProblemKind says what is wrong.
type ProblemKind string

const (
	// ConflictProblem is a field that the virtual machine and its instance type
	// or class both set.
	ConflictProblem ProblemKind = "Conflict"
	// InvalidProblem is a value that cannot be used.
	InvalidProblem ProblemKind = "Invalid"
	// RequirementProblem is a requirement of the preference that is not met.
	RequirementProblem ProblemKind = "Requirement"
)

// Problem is one reason why there is no effective spec.
type Problem struct {
	// Kind says what is wrong.
	Kind ProblemKind
	// Field is the path in the virtual machine, for example spec.cpu.cores.
	Field string
	// Message says what was found and what is allowed.
	Message string
}

// Error lists every problem of a virtual machine.
type Error struct {
	// Problems is never empty.
	Problems []Problem
}

// Error implements error.
func (e *Error) Error() string {
	parts := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		parts = append(parts, p.Field+": "+p.Message)
	}
	return strings.Join(parts, "; ")
}

// Has reports whether any problem is of this kind.
func (e *Error) Has(kind ProblemKind) bool {
	for _, p := range e.Problems {
		if p.Kind == kind {
			return true
		}
	}
	return false
}

// ErrorList returns the problems as the errors of an admission answer.
func (e *Error) ErrorList() field.ErrorList {
	list := make(field.ErrorList, 0, len(e.Problems))
	for _, p := range e.Problems {
		path := field.NewPath(p.Field)
		switch p.Kind {
		case ConflictProblem:
			list = append(list, field.Forbidden(path, p.Message))
		default:
			list = append(list, field.Invalid(path, field.OmitValueType{}, p.Message))
		}
	}
	return list
}

// problems collects problems while the groups of fields are applied.
type problems []Problem

func (p *problems) add(kind ProblemKind, path, message string) {
	*p = append(*p, Problem{Kind: kind, Field: path, Message: message})
}

// conflict records that the virtual machine sets a field of its source of size.
func (p *problems) conflict(path, source string) {
	p.add(ConflictProblem, path, "conflicts with selected "+source+", which sets it too")
}

// excluded records that the virtual machine sets a field that instance types leave
// out, because it would take back what they promise.
func (p *problems) excluded(path string) {
	p.add(ConflictProblem, path, "conflicts with selected "+sourceInstancetype+", which alone decides what is guaranteed")
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Error{Problems: p}
}

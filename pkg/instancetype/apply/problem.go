// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ProblemKind is the kind of a problem.
type ProblemKind string

const (
	// ConflictProblem is a field that both the virtual machine and its instance type or class set.
	ConflictProblem ProblemKind = "Conflict"
	// InvalidProblem is an invalid value.
	InvalidProblem ProblemKind = "Invalid"
	// RequirementProblem is a requirement of the preference that is not met.
	RequirementProblem ProblemKind = "Requirement"
)

// Problem is a reason why the effective spec cannot be computed.
type Problem struct {
	// Kind is the kind of the problem.
	Kind ProblemKind
	// Field is the path of the field in the virtual machine, for example spec.cpu.cores.
	Field string
	// Message has the value and the allowed values.
	Message string
}

// Error has all problems of a virtual machine.
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

// ErrorList returns the problems as admission errors.
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

// problems collects problems while the effective spec is computed.
type problems []Problem

func (p *problems) add(kind ProblemKind, path, message string) {
	*p = append(*p, Problem{Kind: kind, Field: path, Message: message})
}

// conflict adds a field that the virtual machine and the source of its size both set.
func (p *problems) conflict(path, source string) {
	p.add(ConflictProblem, path, "conflicts with selected "+source+", which also sets it")
}

// excluded adds a field of the virtual machine that is not allowed with an instance type, because it would change the
// guarantees of the instance type.
func (p *problems) excluded(path string) {
	p.add(ConflictProblem, path, "conflicts with selected "+sourceInstancetype+", which alone defines the guaranteed resources")
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Error{Problems: p}
}
